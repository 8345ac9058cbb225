"""Examples for a model: questions over the live schema with their queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llama_index_semxpath.retrievers.reading.vocabulary import spoken
from llama_index_semxpath.retrievers.words import search_words
from llama_index_semxpath.schema import KindInfo, Schema
from llama_index_semxpath.text import name_text, string_text

_MOST_KINDS = 12
_LONGEST_VALUE = 40


@dataclass(frozen=True, slots=True)
class Shot:
    """A question and the query that it means."""

    question: str
    query: str


def shots_of(schema: Schema) -> list[Shot]:
    """Examples made of the names and values of a schema.

    Args:
        schema: The schema as the reader may see it; values are quoted as literals.
    """
    kinds = sorted(schema.kinds.values(), key=lambda kind: -kind.count)[:_MOST_KINDS]
    return [shot for kind in kinds for shot in _of_kind(kind)]


def chosen_shots(question: str, shots: Sequence[Shot], most: int) -> list[Shot]:
    """The examples most like a question by their words, those written earlier first when alike.

    Args:
        question: What is asked.
        shots: All examples.
        most: Most that are taken.
    """
    asked = set(search_words(question))

    def likeness(shot: Shot) -> float:
        said = set(search_words(shot.question))
        return len(asked & said) / len(asked | said) if asked | said else 0.0

    return sorted(shots, key=lambda shot: -likeness(shot))[:most]


def _of_kind(kind: KindInfo) -> list[Shot]:
    name, said = name_text(kind.name), spoken(kind.name)
    shots = [Shot(f"Which {said} is about leave?", f'//{name}[. =~ "leave"]')]
    for info in kind.attributes.values():
        value = next(iter(info.examples), "")
        if not value or len(value) > _LONGEST_VALUE:
            continue
        field = name_text(info.name)
        if info.type == "number":
            shots.append(
                Shot(
                    f"{said} with {spoken(info.name)} over {value}", f"//{name}[@{field} > {value}]"
                )
            )
        elif info.type == "string":
            literal = string_text(value)
            shots.append(
                Shot(
                    f"{said} whose {spoken(info.name)} is {value}",
                    f"//{name}[@{field} = {literal}]",
                )
            )
        if len(shots) >= 3:
            break
    for child in kind.children:
        shots.append(
            Shot(f"the first {spoken(child)} of each {said}", f"//{name}/{name_text(child)}[1]")
        )
        break
    return shots
