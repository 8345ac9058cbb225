"""Tables on a PDF page: grids of drawn rules, and short texts that stand in columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from llama_index_semxpath.node_parser.blocks import Block
from llama_index_semxpath.node_parser.pdf_layout import PdfLine, PdfPage
from llama_index_semxpath.node_parser.tables import Cell, table_block

_SNAP = 3.0
_MAX_EDGES = 400
#: A table and the lines of text that it takes.
Found = tuple[Block, list[PdfLine]]
_Stroke = tuple[float, float, float, float]


def ruled_tables(page: PdfPage) -> list[Found]:
    """Tables drawn with rules, each with the lines of text that it takes.

    Strokes that touch form a figure; a figure with at least two rows and two columns of squares
    that hold text is a table. Squares without a rule between them are one merged cell.
    """
    out = []
    free = list(page.lines)
    for figure in _figures(page.rules[: _MAX_EDGES * 4]):
        xs = _edges([x for s in figure if _upright(s) for x in (s[0],)])
        ys = _edges([y for s in figure if not _upright(s) for y in (s[1],)])[::-1]
        if not (3 <= len(xs) <= _MAX_EDGES and 3 <= len(ys) <= _MAX_EDGES):
            continue
        inside = [
            line
            for line in free
            if xs[0] - _SNAP <= line.x0 <= xs[-1] + _SNAP and ys[-1] <= line.middle <= ys[0]
        ]
        if len(inside) < 3:
            continue
        taken = {id(line) for line in inside}
        free = [line for line in free if id(line) not in taken]
        rows = _cells(figure, xs, ys, inside)
        out.append((table_block(rows, page=page.number), inside))
    return out


def _upright(stroke: _Stroke) -> bool:
    return stroke[2] - stroke[0] < stroke[3] - stroke[1]


def _figures(strokes: Sequence[_Stroke]) -> list[list[_Stroke]]:
    """Groups of strokes that touch, directly or through others."""
    groups: list[tuple[list[float], list[_Stroke]]] = []
    for stroke in strokes:
        box = [stroke[0] - _SNAP, stroke[1] - _SNAP, stroke[2] + _SNAP, stroke[3] + _SNAP]
        members = [stroke]
        rest = []
        for other in groups:
            if _overlap(box, other[0]):
                box = [*map(min, box[:2], other[0][:2]), *map(max, box[2:], other[0][2:])]
                members = other[1] + members
            else:
                rest.append(other)
        groups = [*rest, (box, members)]
    return [members for _, members in groups]


def _overlap(a: Sequence[float], b: Sequence[float]) -> bool:
    return a[0] <= b[2] and b[0] <= a[2] and a[1] <= b[3] and b[1] <= a[3]


def _edges(values: Sequence[float]) -> list[float]:
    out: list[float] = []
    for value in sorted(values):
        if not out or value - out[-1] > _SNAP:
            out.append(value)
    return out


def _cells(
    strokes: Sequence[_Stroke], xs: Sequence[float], ys: Sequence[float], lines: Sequence[PdfLine]
) -> list[list[Cell]]:
    upright = [s for s in strokes if _upright(s)]
    level = [s for s in strokes if not _upright(s)]
    texts: dict[tuple[int, int], list[tuple[float, float, str]]] = {}
    for line in lines:
        y = _interval([-value for value in ys], -line.middle)
        for text, x0, x1 in line.words:
            x = _interval(xs, (x0 + x1) / 2)
            texts.setdefault((y, x), []).append((-round(line.middle), x0, text))
    rows: list[list[Cell]] = []
    taken: set[tuple[int, int]] = set()
    for y in range(len(ys) - 1):
        row = []
        for x in range(len(xs) - 1):
            if (y, x) in taken:
                continue
            far, low = len(xs) - 1 - x, len(ys) - 1 - y
            rules = (_has_upright(upright, xs[x + n], ys[y], ys[y + 1]) for n in range(1, far))
            wide = next((n for n, rule in enumerate(rules, start=1) if rule), far)
            rules = (_has_level(level, ys[y + n], xs[x], xs[x + wide]) for n in range(1, low))
            tall = next((n for n, rule in enumerate(rules, start=1) if rule), low)
            squares = [(y + dy, x + dx) for dy in range(tall) for dx in range(wide)]
            taken.update(squares)
            held = sorted(word for square in squares for word in texts.get(square, []))
            row.append(Cell(" ".join(word for _, _, word in held), wide, tall))
        rows.append(row)
    return rows


def _interval(edges: Sequence[float], value: float) -> int:
    for i, (low, high) in enumerate(pairwise(edges)):
        if low <= value <= high:
            return i
    return len(edges) - 2 if value > edges[-1] else 0


def _has_upright(strokes: Sequence[_Stroke], x: float, top: float, bottom: float) -> bool:
    middle = (top + bottom) / 2
    return any(abs(s[0] - x) <= _SNAP and s[1] <= middle <= s[3] for s in strokes)


def _has_level(strokes: Sequence[_Stroke], y: float, left: float, right: float) -> bool:
    middle = (left + right) / 2
    return any(abs(s[1] - y) <= _SNAP and s[0] <= middle <= s[2] for s in strokes)


def column_tables(lines: Sequence[PdfLine], page: PdfPage) -> list[Found]:
    """Tables without rules: at least three rows of short texts with common left edges.

    Args:
        lines: Lines of the page that no ruled table took.
        page: The page.
    """
    out = []
    rows = _baselines(lines)
    start = 0
    while start < len(rows):
        end = start
        while end < len(rows) and _aligned(rows[start], rows[end], page.width):
            end += 1
        if end - start >= 3 and not _is_prose(rows[start:end]):
            members = [line for row in rows[start:end] for line in row]
            grid = [[line.text for line in row] for row in rows[start:end]]
            out.append((table_block(grid, page=page.number), members))
        start = max(end, start + 1)
    return out


def _is_prose(rows: Sequence[Sequence[PdfLine]]) -> bool:
    """Whether aligned lines are two columns of running text."""
    columns = list(zip(*rows, strict=True))
    lengths = [sum(len(line.text) for line in column) / len(column) for column in columns]
    return min(lengths) > 25


def _baselines(lines: Sequence[PdfLine]) -> list[list[PdfLine]]:
    rows: list[list[PdfLine]] = []
    for line in sorted(lines, key=lambda line: (-line.middle, line.x0)):
        if rows and abs(rows[-1][0].middle - line.middle) < line.size * 0.4:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.x0) for row in rows]


def _aligned(first: Sequence[PdfLine], row: Sequence[PdfLine], width: float) -> bool:
    if len(first) < 2 or len(first) != len(row):
        return False
    if any(line.x1 - line.x0 > width * 0.4 for line in row):
        return False
    # Columns share their left edge, their right edge or their middle.
    return all(
        min(abs(a.x0 - b.x0), abs(a.x1 - b.x1), abs(a.x0 + a.x1 - b.x0 - b.x1) / 2) <= 6
        for a, b in zip(first, row, strict=True)
    )
