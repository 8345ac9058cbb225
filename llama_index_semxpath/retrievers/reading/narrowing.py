"""Which of several places that are called alike is meant."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index_semxpath.retrievers.reading.vocabulary import title_words
from llama_index_semxpath.tree.table import TreeTable


def nested_rows(table: TreeTable, levels: Sequence[frozenset[int]]) -> list[int]:
    """Rows of the innermost level that stand below one of each level around it.

    Args:
        table: The tree.
        levels: Rows of each place, the outermost first.
    """
    rows = sorted(levels[0])
    for inner in levels[1:]:
        rows = [row for row in sorted(inner) if any(o < row < int(table.end[o]) for o in rows)]
    return rows


def told_apart(
    table: TreeTable, rows: Sequence[int], topic: Sequence[str]
) -> tuple[tuple[bool, str, str] | None, frozenset[str]]:
    """The title, of one of some rows or above it, that the rest of the question says.

    Args:
        table: The tree.
        rows: Rows of the places that are called alike.
        topic: Words of the question that say nothing yet.

    Returns:
        Whether it is the title of the place itself, the kind and the title, ``None`` where no
        title is said more than those of the other places; and the words that it says.
    """
    asked = frozenset(topic)
    best: dict[int, tuple[frozenset[str], int]] = {}
    for row in rows:
        around = [row]
        while int(table.parent[around[-1]]) > 0:
            around.append(int(table.parent[around[-1]]))
        said = {at: asked & frozenset(title_words(_title(table, at))) for at in around}
        most = max(around, key=lambda at: len(said[at]))
        best[row] = said[most], most
    most_said = max((len(said) for said, _ in best.values()), default=0)
    winners = {at for said, at in best.values() if len(said) == most_said}
    if not most_said or len(winners) != 1:
        return None, frozenset()
    (winner,) = winners
    words = next(said for said, at in best.values() if at == winner)
    return (winner in rows, table.kind_name(winner), _title(table, winner)), words


def _title(table: TreeTable, row: int) -> str:
    column = table.attribute("title")
    if column is None:
        return ""
    place = int(column.slots(len(table))[row])
    return column.text(place) if place >= 0 else ""
