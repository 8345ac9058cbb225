"""Tables bound to their meaning: each row knows the full header of each of its values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from llama_index_semxpath.node_parser.blocks import Block
from llama_index_semxpath.node_parser.values import parse_quantity, typed_value
from llama_index_semxpath.tree.node import Value

#: Joins the levels of a header into one column name.
LEVEL_SEPARATOR = " / "
#: Joins the cells of a row in its text.
CELL_SEPARATOR = " | "
#: Widest grid that is laid out; a declared span of a million columns is an attack or a slip.
MAX_COLUMNS = 2_000
_MAX_HEADER_ROWS = 6
# Cells of a column that are looked at for its unit.
_UNIT_SAMPLE = 50
# Squares that spans may cover in all, over one for each cell: bounds nested hostile spans.
_MAX_COVERED = 500_000


# Where versions stand "1.10" is no number.
_VERSION = re.compile(r"(?:^|[\s/])(?:version|ver\.?|release|版本号?)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a source table.

    Args:
        text: What it shows.
        colspan: Columns it covers, 1 and up.
        rowspan: Rows it covers, 1 and up; 0 means to the end of the table, as in HTML.
        header: Whether the source marks it as a header (``th``, a repeated header row).
    """

    text: str
    colspan: int = 1
    rowspan: int = 1
    header: bool = False


@dataclass(slots=True)
class _Slot:
    """One square of the laid-out grid; covered squares share the cell of their origin."""

    cell: Cell
    origin: bool


_EMPTY = Cell("")
_Row = list[_Slot]


def table_block(
    rows: Sequence[Sequence[Cell | str]],
    *,
    header_rows: int | None = None,
    caption: str = "",
    span: tuple[int, int] | None = None,
    page: int | None = None,
    row_spans: Sequence[tuple[int, int] | None] | None = None,
) -> Block:
    """Make a ``Table`` block with its ``Row`` blocks from a grid of cells.

    A row's attributes are its values under their full header path, levels joined by ``" / "``
    (``2030 / Wheat``), typed by ``values.typed_value``; empty cells give no attribute. A cell that
    covers several rows counts in each of them, but its text stands only in the first.

    Args:
        rows: Rows of cells; squares covered by a span of another cell are left out, as in HTML.
        header_rows: How many rows at the top are header; ``None`` infers it.
        caption: Caption of the table.
        span: Character span in the source.
        page: 1-based page.
        row_spans: Character span of each row, aligned with ``rows``.

    Returns:
        The block: text is the header, attributes are ``caption``, ``columns`` and, where a column
        has one unit, ``units``.

    Example:
        >>> block = table_block([["Item", "Price"], ["Bolt", "$1,200"]])
        >>> block.text, block.children[0].text, block.children[0].attributes
        ('Item | Price', 'Bolt | $1,200', {'Item': 'Bolt', 'Price': 1200})
    """
    plain = all(type(cell) is str for row in rows for cell in row)
    width = min(max(map(len, rows), default=0), MAX_COLUMNS) if plain else 0
    # Without spans only the head needs laying out: the rest is read as it stands.
    head = _MAX_HEADER_ROWS + 2 if header_rows is None else header_rows
    grid = _lay_out(rows[:head] if plain else rows, width)
    # A first row merged over the whole width names the table, unless it is marked as a header.
    title = _full_width(grid[0]) if len(grid) > 2 and grid[0] and not grid[0][0].cell.header else ""
    if title:
        caption = caption or title
    top = int(bool(title))
    count = _count_header_rows(grid[top:]) if header_rows is None else max(0, header_rows - top)
    if plain and count == 1 and _goes_on(rows[top:]):
        grid, count = _lay_out([_spread(rows[top]), *rows[top + 1 : top + 2]], width), 2
        grid = [*([[]] * top), *grid]
    header = grid[top : top + count]
    columns = _column_names(header, width if plain else len(grid[0]) if grid else 0)
    text = "\n".join(filter(None, (title, _header_text(header))))
    table = Block("Table", text, span=span, page=page)
    if caption:
        table.attributes["caption"] = " ".join(caption.split())
    table.attributes["columns"] = columns
    texts = [_row_text(row) for row in header]
    body = _plain_rows(rows[top + count :]) if plain else map(_slot_row, grid[top + count :])
    figures: list[list[str]] = [[] for _ in columns]
    versions = {x for x, name in enumerate(columns) if _VERSION.search(name)}
    for index, (text, cells) in enumerate(body, start=top + count):
        if texts and text == texts[0] != "":
            continue  # the header printed again on the next page
        where = row_spans[index] if row_spans and index < len(row_spans) else None
        row = Block("Row", text, span=where, page=page)
        for x, cell in enumerate(cells):
            if cell:
                row.attributes[columns[x]] = cell if x in versions else typed_value(cell)
                if len(figures[x]) < _UNIT_SAMPLE:
                    figures[x].append(cell)
        table.children.append(row)
    units = [_unit(name, cells) for name, cells in zip(columns, figures, strict=True)]
    if any(units):
        table.attributes["units"] = units
    return table


def _goes_on(rows: Sequence[Sequence[Cell | str]]) -> bool:
    """Whether the second row of a table without spans is header too.

    So it is when the first names groups (cells left empty after a name) and the second, under an
    empty corner, names each column of them, while the rows below hold figures there.
    """
    if len(rows) < 3:
        return False
    first, second = ([str(cell).strip() for cell in row] for row in rows[:2])
    gaps = [x for x in range(1, len(first)) if not first[x] and any(first[1:x])]
    if not gaps or second[0] or len(second) < len(first):
        return False
    names = [x for x in range(1, len(first)) if second[x]]
    if not set(gaps) <= set(names) or any(_is_figure(second[x]) for x in names):
        return False
    below = [str(row[x]) for row in rows[2:] for x in names if x < len(row) and str(row[x]).strip()]
    return sum(map(_is_figure, below)) * 2 > len(below)


def _spread(row: Sequence[Cell | str]) -> list[Cell | str]:
    """A row whose names cover the empty cells after them."""
    out: list[Cell | str] = [row[0]]
    for text in map(str, row[1:]):
        last = out[-1]
        if text.strip() or len(out) == 1:
            out.append(Cell(text))
        elif isinstance(last, Cell):
            out[-1] = Cell(last.text, last.colspan + 1)
    return out


def _untype(rows: Sequence[Block], name: str) -> None:
    """Gives the values of a column of codes back as they were written."""
    for row in rows:
        value = row.attributes.get(name)
        if type(value) is int:
            row.attributes[name] = str(value)


def _plain_rows(rows: Sequence[Sequence[Cell | str]]) -> Iterator[tuple[str, list[str]]]:
    for row in rows:
        cells = [" ".join(str(cell).split()) for cell in row[:MAX_COLUMNS]]
        yield (CELL_SEPARATOR.join(cells) if any(cells) else ""), cells


def _slot_row(row: _Row) -> tuple[str, list[str]]:
    """Text of a row and its values by column; a cell over the whole width is no value."""
    cells = [] if _full_width(row) else [slot.cell.text.strip() for slot in row]
    return _row_text(row), cells


def row_sentence(attributes: dict[str, Value]) -> str:
    """A row as a readable line, the form that is embedded.

    Example:
        >>> row_sentence({"Farm": "Hill", "2030 / Wheat": 4})
        'Farm: Hill; 2030 / Wheat: 4'
    """
    return "; ".join(f"{name}: {value}" for name, value in attributes.items())


def join_tables(blocks: Sequence[Block]) -> list[Block]:
    """Join tables that continue each other over page breaks: neighbours with the same columns.

    Example:
        >>> first, second = (table_block([["a"], [str(i)]], page=i) for i in (1, 2))
        >>> [row.text for row in join_tables([first, second])[0].children]
        ['1', '2']
    """
    out: list[Block] = []
    for block in blocks:
        last = out[-1] if out else None
        if last is not None and _continues(last, block):
            last.children.extend(block.children)
            if last.span and block.span:
                last.span = (last.span[0], block.span[1])
        else:
            out.append(block)
    return out


def _continues(last: Block, block: Block) -> bool:
    if last.kind != "Table" or block.kind != "Table" or "caption" in block.attributes:
        return False
    same = last.text == block.text and last.attributes["columns"] == block.attributes["columns"]
    return same and last.page is not None and block.page == _last_page(last) + 1


def _last_page(table: Block) -> int:
    pages = [row.page for row in table.children if row.page is not None]
    return pages[-1] if pages else (table.page or 0)


def _lay_out(rows: Sequence[Sequence[Cell | str]], width: int = 0) -> list[_Row]:
    """Give every square of the grid, at least so many columns wide, the cell that covers it."""
    grid: list[dict[int, _Slot]] = [{} for _ in rows]
    covered = 0
    for y, row in enumerate(rows):
        x = 0
        for item in row:
            cell = item if isinstance(item, Cell) else Cell(item)
            while x in grid[y]:
                x += 1
            if x >= MAX_COLUMNS:
                break
            right = min(x + max(1, cell.colspan), MAX_COLUMNS)
            down = min(cell.rowspan if cell.rowspan > 0 else len(rows), len(rows) - y)
            covered += down * (right - x) - 1
            if covered > _MAX_COVERED:
                right, down = x + 1, 1
            for line in grid[y : y + down]:
                for column in range(x, right):
                    line.setdefault(column, _Slot(cell, False))
            grid[y][x].origin = True
            x = right
        width = max(width, x, *(column + 1 for column in grid[y]), 0)
    return [[line.get(x) or _Slot(_EMPTY, True) for x in range(width)] for line in grid]


def _full_width(row: _Row) -> str:
    if len(row) < 2:
        return ""
    cell = row[0].cell
    return cell.text.strip() if all(slot.cell is cell for slot in row) else ""


def _count_header_rows(grid: list[_Row]) -> int:
    """How many rows at the top are header, by the source's marks, spans and types of value."""
    if not grid:
        return 0
    marked = 0
    for row in grid[:_MAX_HEADER_ROWS]:
        filled = [slot.cell for slot in row if slot.cell.text.strip()]
        if not filled or not all(cell.header for cell in filled):
            break
        marked += 1
    if marked:
        return marked
    count = 1
    while count < min(len(grid) - 1, _MAX_HEADER_ROWS) and _needs_more(grid, count):
        count += 1
    # Figures in the would-be header mean that the table has none.
    first = [slot.cell.text for slot in grid[0] if slot.origin and slot.cell.text.strip()]
    figures = sum(_is_figure(text) for text in first)
    return 0 if len(grid) == 1 or (first and figures * 2 > len(first) and count == 1) else count


def _needs_more(grid: list[_Row], count: int) -> bool:
    """Whether the header goes on: a cell of its last row covers columns or rows below it."""
    row = grid[count - 1]
    if any(a.cell is b.cell and a.cell.text for a, b in zip(row, grid[count], strict=True)):
        return True
    wide = [a for a, b in pairwise(row) if a.cell is b.cell and a.cell.text]
    return bool(wide) and not _full_width(row)


def _is_figure(text: str) -> bool:
    plain = text.strip()
    # A year heads columns as often as it fills them.
    if re.fullmatch(r"(?:19|20|21)\d\d年?", plain):
        return False
    return not isinstance(typed_value(plain), str)


def _column_names(header: list[_Row], width: int) -> list[str]:
    names: list[str] = []
    used: dict[str, int] = {}
    for x in range(width):
        levels: list[str] = []
        last: Cell | None = None
        for row in header:
            cell = row[x].cell
            text = " ".join(cell.text.split())
            if cell is not last and text and (not levels or levels[-1] != text):
                levels.append(text)
            last = cell
        # An empty corner above row headers is the usual case; other gaps are numbered.
        name = LEVEL_SEPARATOR.join(levels) or ("row" if x == 0 and header else f"column {x + 1}")
        used[name] = used.get(name, 0) + 1
        names.append(name if used[name] == 1 else f"{name} ({used[name]})")
    return names


def _header_text(header: list[_Row]) -> str:
    return "\n".join(filter(None, (_row_text(row) for row in header)))


def _row_text(row: _Row) -> str:
    texts = [" ".join(slot.cell.text.split()) for slot in row if slot.origin]
    return CELL_SEPARATOR.join(texts) if any(texts) else ""


def _unit(name: str, cells: Sequence[str]) -> str:
    """Unit of a column: the one in its header's brackets, or the one all its figures carry."""
    match = re.search(r"[(（]([^()（）\d]{1,16})[)）]\s*$", name)
    if match:
        return match[1].strip()
    found = {quantity.unit if (quantity := parse_quantity(text)) else "" for text in cells}
    return found.pop() if len(found) == 1 else ""
