"""A question that names places, as a path to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llama_index_semxpath.retrievers.reading import build
from llama_index_semxpath.retrievers.reading.narrowing import nested_rows, told_apart
from llama_index_semxpath.retrievers.reading.places import Place
from llama_index_semxpath.retrievers.reading.result import Reading, topic_words
from llama_index_semxpath.retrievers.reading.scan import Scanner
from llama_index_semxpath.tree.node import DOCUMENT_KINDS
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import ast, to_text


def read_places(question: str, places: Sequence[Place], scanner: Scanner) -> Reading:
    """The path to the places that a question names.

    Args:
        question: What is asked.
        places: Places in it that the tree has, at least one.
        scanner: Marks the rest of the question.
    """
    table = scanner.vocabulary.table
    places = _merged(places)
    chain = [places[0]]
    for place in places[1:]:
        if any(_holds(table, chain[-1].rows, place.rows)):
            chain.append(place)
        elif any(_holds(table, place.rows, chain[0].rows)):
            chain.insert(0, place)
    others = [place for place in places if place not in chain]
    rest = question
    for place in sorted(places, key=lambda one: -one.start):
        rest = f"{rest[: place.start]} {rest[place.end :]}"
    topic = topic_words(rest)
    reasons = [f"“{place.said}” is a place" for place in chain]
    notes: tuple[str, ...] = ()
    steps: list[ast.Step] = []
    rows = nested_rows(table, [place.rows for place in chain])
    if not others and len(rows) > 1:
        # Several places are called so: what else the question says tells which is meant.
        meant, said = told_apart(table, rows, topic)
        if meant is not None:
            own, kind, title = meant
            test = build.equals("title", [title])
            if own:
                condition = chain[-1].condition
                assert condition is not None
                both = ast.Binary("and", condition, test)
                chain[-1] = replace(chain[-1], condition=both)
            else:
                steps.extend(build.descend(kind, build.where(test)))
            topic = [word for word in topic if word not in said]
            reasons.append(f"of {len(rows)} the one in “{title}” is meant")
        else:
            notes = (_where(table, rows, chain[-1].said),)
    for place in chain:
        assert place.condition is not None
        steps.extend(build.descend(place.kind, build.where(place.condition)))
    wanted = _part_wanted(rest, scanner)
    if wanted is not None:
        steps.extend(build.descend(wanted))
        reasons.append(f"it asks for {wanted} there")
    query = to_text(build.path(steps))
    if others:
        # Two places that do not nest are both meant, as in a comparison.
        paths = [query] + [
            to_text(build.path(build.descend(place.kind, build.where(place.condition))))
            for place in others
            if place.condition is not None
        ]
        query = " | ".join(paths)
        reasons.extend(f"“{place.said}” is a place" for place in others)
    return Reading(query, tuple(reasons), tuple(topic), places=True, notes=notes)


def read_titles(question: str, places: Sequence[Place], scanner: Scanner) -> Reading:
    """The path to places whose titles the question says without any sign that they are places.

    Beside other words, a title that stands outside the document that is named is one of them: “how
    many receipts does the Lakewood report have” need not mean the “Receipts” of another report.

    Args:
        question: What is asked.
        places: Titles in it, at least one.
        scanner: Marks the rest of the question.
    """
    found = read_places(question, places, scanner)
    table = scanner.vocabulary.table
    documents = [
        one for one in places if any(table.kind_name(row) == "Document" for row in one.rows)
    ]
    if found.topic and documents:
        within = [
            one
            for one in places
            if one in documents or any(any(_holds(table, doc.rows, one.rows)) for doc in documents)
        ]
        found = read_places(question, within, scanner)
    return replace(found, titled=True)


def _part_wanted(rest: str, scanner: Scanner) -> str | None:
    """A kind of block that the question asks for inside the place."""
    for mark in scanner.marks(rest):
        if mark.type == "kind" and mark.payload in DOCUMENT_KINDS and mark.payload != "Section":
            return str(mark.payload)
    return None


def _merged(places: Sequence[Place]) -> list[Place]:
    """Places that may be one (“第五条年假”: a number and a title) as one place."""
    found: list[Place] = []
    for place in places:
        same = next((at for at, one in enumerate(found) if one.rows & place.rows), None)
        if same is None or place.condition is None or found[same].condition is None:
            found.append(place)
            continue
        one = found[same]
        assert one.condition is not None
        found[same] = replace(
            one,
            said=f"{one.said} {place.said}",
            start=min(one.start, place.start),
            end=max(one.end, place.end),
            condition=ast.Binary("and", one.condition, place.condition),
            rows=one.rows & place.rows,
        )
    return found


def _where(table: TreeTable, rows: Sequence[int], said: str) -> str:
    """In which documents the places stand that are called alike."""
    docs = dict.fromkeys(table.docs[int(table.doc[row])] for row in rows if table.doc[row] >= 0)
    shown = ", ".join(list(docs)[:5])
    return f"“{said}” stands in {len(rows)} places of {len(docs)} documents: {shown}"


def _holds(table: TreeTable, outer: frozenset[int], inner: frozenset[int]) -> list[bool]:
    return [any(row < other < int(table.end[row]) for other in inner) for row in outer]
