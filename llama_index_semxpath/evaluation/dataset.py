"""Datasets as files: questions with what a good answer rests on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llama_index_semxpath.errors import SemXPathError

#: Fields of a question that say what it is rather than what it is about.
_OWN = frozenset({"id", "query", "doc_ids", "gold_spans", "gold", "answer"})


@dataclass(frozen=True, slots=True)
class Gold:
    """A passage that answers a question.

    Args:
        document: Document id.
        text: The passage, as it stands in the document.
        section: Title of the section that it stands in, where known.
    """

    document: str
    text: str
    section: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what its answer rests on.

    Args:
        id: Its id, unique in the dataset.
        query: What is asked.
        gold: Passages; each inner tuple holds places that say the same, any one of which will do.
        documents: Documents that hold the answer.
        answer: The answer, where known.
        tags: Anything else that was said of it (language, type …), for grouping.
    """

    id: str
    query: str
    gold: tuple[tuple[Gold, ...], ...] = ()
    documents: tuple[str, ...] = ()
    answer: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Questions over some documents.

    Args:
        name: Its name.
        questions: The questions.
        texts: Texts of the documents by id; what is returned is looked up in them.
    """

    name: str
    questions: tuple[Question, ...]
    texts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | str, *, split: str | None = None) -> Dataset:
        """Reads a dataset.

        Args:
            path: A folder with ``queries.jsonl`` and the documents below ``docs/`` (the id of a
                document is its path there, without ``.md``), or a ``.jsonl`` file alone. A line is
                an object with ``id``, ``query`` and ``gold``: a list of ``{"document", "text"}``;
                ``gold_spans`` with ``{"text", "occ": [[document, start, end]…]}`` is read too.
            split: Only questions whose ``split`` is this.

        Raises:
            SemXPathError: No such file, or a line that is no question.
        """
        place = Path(path)
        file = place / "queries.jsonl" if place.is_dir() else place
        try:
            lines = file.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise SemXPathError("the dataset cannot be read", where=str(file)) from error
        folder = place / "docs" if place.is_dir() else None
        texts = {} if folder is None else _texts(folder)
        questions = [
            _question(line, f"{file}:{number}", texts)
            for number, line in enumerate(lines, 1)
            if line.strip()
        ]
        kept = tuple(one for one in questions if split in (None, one.tags.get("split")))
        seen: set[str] = set()
        for one in kept:
            if one.id in seen:
                raise SemXPathError("two questions have one id", where=f"{file}: {one.id}")
            seen.add(one.id)
        if not kept:
            raise SemXPathError("the dataset has no questions", where=str(file))
        return cls(place.stem, kept, texts)


def _texts(folder: Path) -> dict[str, str]:
    found = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            name = file.relative_to(folder).as_posix()
            found[name.removesuffix(".md")] = file.read_bytes().decode("utf-8", "replace")
    return found


def _question(line: str, where: str, texts: Mapping[str, str]) -> Question:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise SemXPathError("a line is no JSON object", where=where) from error
    if not isinstance(record, dict) or not all(
        isinstance(record.get(name), str) for name in ("id", "query")
    ):
        raise SemXPathError("a question needs the texts 'id' and 'query'", where=where)
    gold = _gold(record, where, texts)
    documents = record.get("doc_ids") or dict.fromkeys(
        one.document for some in gold for one in some
    )
    tags = {
        name: str(value)
        for name, value in record.items()
        if name not in _OWN and isinstance(value, str | int | float)
    }
    answer = record.get("answer")
    return Question(
        record["id"],
        record["query"],
        gold,
        tuple(str(one) for one in documents),
        answer if isinstance(answer, str) else None,
        tags,
    )


def _gold(
    record: Mapping[str, Any], where: str, texts: Mapping[str, str]
) -> tuple[tuple[Gold, ...], ...]:
    try:
        if "gold" in record:
            return tuple(
                (Gold(str(one["document"]), str(one["text"]), one.get("section")),)
                for one in record["gold"]
            )
        return tuple(
            tuple(_occurrence(span, place, texts) for place in span["occ"])
            for span in record.get("gold_spans", [])
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SemXPathError(
            "gold passages are not as they should be",
            where=where,
            hint='[{"document": "…", "text": "…"}]',
        ) from error


def _occurrence(span: Mapping[str, Any], place: Sequence[Any], texts: Mapping[str, str]) -> Gold:
    document, start, end = place
    text = texts.get(str(document), "")[int(start) : int(end)]
    return Gold(str(document), text or str(span["text"]))
