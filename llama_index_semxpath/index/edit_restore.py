"""Brings nodes back to an earlier state, ids and places included: undo and merge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.catalog_writer import weight_of
from llama_index_semxpath.index.codec import printable
from llama_index_semxpath.index.diff import Changes
from llama_index_semxpath.index.edit_rows import EditorRows
from llama_index_semxpath.index.prepare import prepare_subtree
from llama_index_semxpath.index.rows import StoredNode
from llama_index_semxpath.tree.node import TreeNode


def restore(editor: EditorRows, wanted: Mapping[str, TreeNode | None]) -> None:
    """Brings nodes back to what they were, ids and places included.

    Args:
        wanted: The node by id as it is to be, with its order key; ``None`` where it is to be
            gone.

    Raises:
        StoreError: A node would lose its parent, or its place is inside what is to go.
    """
    now = {id_: row for id_ in wanted if (row := editor.row(id_)) is not None}
    editor.refuse_hidden(list(now.values()))
    gone = [row[0] for id_, row in now.items() if wanted[id_] is None]
    for node in gone:
        left = [n for n, _ in editor.subtree(node) if n.parent == node.id]
        if any(child.id not in wanted for child in left):
            raise StoreError(
                "a node that would go has children of its own by now", where=printable(node.id)
            )
    changes = Changes(removed=[editor.stored(node.id) for node in gone])
    stored: dict[str, StoredNode] = {}
    codes: dict[str, int] = {}
    back = sorted((n for n in wanted.values() if n is not None), key=lambda node: node.order)
    for node in back:
        node = replace(node, order=_order_again(editor, node, wanted))
        item = prepare_subtree([node])[0]
        codes[node.id] = 0
        if node.id in now:
            stored[node.id] = editor.stored(node.id)
            changes.changed.append(item)
        else:
            changes.added.append(item)
    editor.writer.apply(changes, stored, codes)
    _settle(editor, gone, changes, now)


def _order_again(editor: EditorRows, node: TreeNode, wanted: Mapping[str, TreeNode | None]) -> str:
    """The order key that a node had, or one behind whoever has that now."""
    parent = None if node.parent is None else wanted.get(node.parent) or editor.row(node.parent)
    if node.parent is not None and parent is None:
        raise StoreError("the node's parent is gone by now", where=printable(node.id))
    sql = "SELECT id FROM nodes WHERE order_key = ?"
    holder = editor.connection.execute(sql, (node.order,)).fetchone()
    if holder is None or holder[0] in wanted:
        return node.order
    if node.parent is None:
        return editor.root_part(None, holder[0])
    above = editor.node(node.parent)
    if not node.order.startswith(above.order + "."):
        return editor.key(above, None, None)
    return editor.key(above, None, holder[0])


def _settle(
    editor: EditorRows,
    gone: Sequence[TreeNode],
    changes: Changes,
    now: Mapping[str, tuple[TreeNode, int]],
) -> None:
    """After rows were put back: documents, keyword paths, labels in force and vectors."""
    for node in gone:
        touched = editor.touched(node.doc)
        touched.removed[node.id] = None
        touched.net -= 1
        editor.note_dirty(node.doc, [node.id])
        if node.parent is None:
            editor.connection.execute("DELETE FROM documents WHERE id = ?", (node.id,))
    for item in changes.added:
        editor.touched(item.node.doc).added[item.node.id] = None
        editor.touched(item.node.doc).net += 1
        if item.node.parent is None:
            part, weight = item.node.order, weight_of(item.node)
            editor.writer.put_head(item.node.doc, part, 0, b"", b"", weight)
    for item in changes.changed:
        old, new = now[item.node.id][0], item.node
        moved = (old.parent, old.order) != (new.parent, new.order)
        touched = editor.touched(new.doc)
        (touched.moved if moved else touched.changed)[new.id] = None
        if old.doc != new.doc:
            editor.touched(old.doc).net -= 1
            touched.net += 1
    done: list[str] = []
    for item in sorted((*changes.added, *changes.changed), key=lambda item: item.node.order):
        order = item.node.order
        if not any(order.startswith(key + ".") for key in done[-1:]):
            done.append(order)
            editor.rewrite([node for node, _ in editor.subtree(item.node)], every=True)
