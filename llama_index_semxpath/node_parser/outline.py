"""A tree by parent and child, as writers walk it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llama_index_semxpath.node_parser.tables import CELL_SEPARATOR, LEVEL_SEPARATOR
from llama_index_semxpath.node_parser.values import typed_value
from llama_index_semxpath.tree.node import TreeNode

#: Attributes of the root that are no property of the document.
DERIVED = frozenset({"format"})


class Outline:
    """Children of each node of one document.

    Args:
        nodes: Nodes in document order, the root first.
    """

    def __init__(self, nodes: Sequence[TreeNode]) -> None:
        self.root = nodes[0]
        self.nodes = nodes
        self._children: dict[str, list[TreeNode]] = {}
        for node in nodes[1:]:
            self._children.setdefault(node.parent or "", []).append(node)

    def children(self, node: TreeNode) -> list[TreeNode]:
        """Children in order."""
        return self._children.get(node.id, [])

    def sections(self) -> Iterator[tuple[TreeNode, list[TreeNode]]]:
        """The root and each section in document order with the blocks right in it."""
        stack = [self.root]
        while stack:
            place = stack.pop()
            inner = self.children(place)
            yield place, [node for node in inner if node.kind != "Section"]
            stack += [node for node in reversed(inner) if node.kind == "Section"]

    def title_is_derived(self) -> bool:
        """Whether the title of the document is that of its one top heading."""
        headings = [node for node in self.nodes if node.kind == "Section"]
        if not headings or headings[0].text != self.root.attributes.get("title"):
            return False
        top = headings[0].level or 1
        return all((node.level or 1) > top for node in headings[1:])


class TableGrid:
    """Cells of a table as they stood in its source.

    Args:
        table: The ``Table`` node.
        rows: Its ``Row`` nodes.

    Attributes:
        columns: Column names, levels joined.
        header: Header rows of cell texts.
        body: For each row the cells as ``(text, colspan, rowspan)``.
        simple: Whether it is one header row over rows of as many cells.
    """

    def __init__(self, table: TreeNode, rows: Sequence[TreeNode]) -> None:
        columns = table.attributes.get("columns")
        self.columns: list[str] = columns if isinstance(columns, list) else []
        lines = table.text.split("\n") if table.text else []
        if table.text == CELL_SEPARATOR.join(self.columns):
            self.header = [self.columns]
        else:
            self.header = [line.split(CELL_SEPARATOR) for line in lines]
        cells = [self._cells(row) for row in rows]
        width = len(self.columns)
        self.simple = (
            len(self.header) == 1
            and self.header[0] == self.columns
            and all(len(row) == width for row in cells)
        )
        self.body = [[(text, 1, 1) for text in row] for row in cells]
        if not self.simple:
            self._place_spans(rows, cells)

    def _cells(self, row: TreeNode) -> list[str]:
        # The attributes know where a cell ends that itself holds the separator.
        values = [row.attributes.get(name, "") for name in self.columns]
        texts = [value for value in values if isinstance(value, str)]
        if len(texts) == len(values) and CELL_SEPARATOR.join(texts) == row.text:
            return texts
        return row.text.split(CELL_SEPARATOR)

    def _place_spans(self, rows: Sequence[TreeNode], cells: list[list[str]]) -> None:
        """Gives cells the spans that explain values without a cell of their own in a row."""
        origin: list[tuple[int, int] | None] = [None] * len(self.columns)
        spans: list[list[list[int]]] = [[[1, 1] for _ in row] for row in cells]
        for y, row in enumerate(rows):
            if not row.attributes and len(cells[y]) == 1 and len(self.columns) > 1:
                spans[y][0][0] = len(self.columns)
                origin = [None] * len(self.columns)
                continue
            missing = len(self.columns) - len(cells[y])
            x = 0
            for column, name in enumerate(self.columns):
                value = row.attributes.get(name)
                fits = x < len(cells[y]) and (typed_value(cells[y][x]) or None) == value
                above = origin[column]
                if missing > 0 and not fits and above is not None:
                    spans[above[0]][above[1]][1] = y - above[0] + 1
                    missing -= 1
                elif x < len(cells[y]):
                    origin[column] = (y, x)
                    x += 1
        self.body = [
            [(text, *span) for text, span in zip(row, row_spans, strict=True)]  # type: ignore[misc]
            for row, row_spans in zip(cells, spans, strict=True)
        ]

    def header_rows(self) -> list[list[tuple[str, int, int]]]:
        """Header cells with their spans, rebuilt from the paths of the columns."""
        if len(self.header) == 1 and len(self.header[0]) == len(self.columns):
            return [[(text, 1, 1) for text in self.header[0]]]
        depth = len(self.header)
        paths = [name.split(LEVEL_SEPARATOR) for name in self.columns]
        rows: list[list[tuple[str, int, int]]] = []
        for level in range(depth):
            row: list[tuple[str, int, int]] = []
            x = 0
            while x < len(paths):
                path = paths[x]
                if level >= len(path):
                    x += 1
                    continue
                width = 1
                last = level == len(path) - 1
                while not last and _same(paths, x, x + width, level):
                    width += 1
                row.append((path[level], width, depth - level if last else 1))
                x += width
            rows.append(row)
        return rows


def _same(paths: Sequence[list[str]], left: int, right: int, level: int) -> bool:
    """Whether two columns stand under one header cell at a level."""
    if right >= len(paths):
        return False
    return paths[right][: level + 1] == paths[left][: level + 1]
