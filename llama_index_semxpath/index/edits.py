"""Edits of single nodes: each writes the rows it must and leaves all others alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.catalog_writer import TARGETS, weight_of
from llama_index_semxpath.index.codec import digest, printable
from llama_index_semxpath.index.diff import Changes
from llama_index_semxpath.index.edit_restore import restore
from llama_index_semxpath.index.edit_rows import EditorRows
from llama_index_semxpath.tree.node import DOCUMENT_KINDS, TreeNode
from llama_index_semxpath.tree.record import Record


class TreeEditor(EditorRows):
    """Edits nodes of stored trees within one transaction of the catalog; see ``EditorRows``."""

    # Writing

    def add(
        self,
        record: Record,
        parent: str | None = None,
        *,
        before: str | None = None,
        after: str | None = None,
    ) -> str:
        """Writes a node with all below it; returns its id.

        Args:
            record: The node.
            parent: Id of the node to put it into; ``None`` makes a new tree.
            before: Id of the sibling that it is to stand before.
            after: Id of the sibling that it is to stand after; by default it stands last.

        Raises:
            StoreError: There is no such parent or sibling, or the id is taken.
        """
        above = None if parent is None else self.node(parent)
        doc = "" if above is None else above.doc
        nodes = self.nodes(record, doc, parent)
        if above is None:
            nodes[0].order = self.root_part(before, after)
        else:
            self.refuse_document(above.doc)
            nodes[0].order = self.key(above, before, after)
        self.set_keys(nodes)
        self.insert(nodes, above)
        return nodes[0].id

    def set(
        self,
        id_: str,
        *,
        attributes: Mapping[str, Any] | None = None,
        text: str | None = None,
        kind: str | None = None,
        labels: frozenset[str] | None = None,
    ) -> bool:
        """Changes what a node says; returns whether anything differs.

        Args:
            id_: The node.
            attributes: New values by name; ``None`` as a value takes the attribute away.
            text: New own text; ``None`` leaves it.
            kind: New kind; ``None`` leaves it.
            labels: New access labels; ``None`` leaves them.
        """
        old = self.node(id_)
        self.refuse_document(old.doc)
        values = {**old.attributes, **(attributes or {})}
        values = {name: value for name, value in values.items() if value is not None}
        new = replace(
            old,
            attributes=values,
            text=old.text if text is None else text,
            kind=old.kind if kind is None else kind,
            labels=old.labels if labels is None else labels,
        )
        if new == old:
            return False
        if new.text != old.text:
            new.tokens = self.count(new.text)
        # What stands below is affected by a title, by labels, and in kinds embedded with it.
        wide = (
            new.title != old.title
            or new.labels != old.labels
            or bool({new.kind, old.kind} & set(DOCUMENT_KINDS))
        )
        below = self.subtree(old)[1:] if wide else []
        self.rewrite([new, *(node for node, _ in below)])
        self.touched(old.doc).changed[id_] = None
        if new.parent is None and weight_of(new) != weight_of(old):
            sql = "UPDATE documents SET weight = ? WHERE id = ?"
            self.connection.execute(sql, (weight_of(new), new.doc))
            self.note_dirty(new.doc, [n.id for n, _ in self.subtree(new)])
        return True

    def remove(self, id_: str) -> list[str]:
        """Takes a node away with all below it; returns the ids that are gone."""
        node = self.node(id_)
        self.refuse_document(node.doc)
        gone = self.subtree(node)
        self.refuse_hidden(gone)
        ids = [found.id for found, _ in gone]
        touched = self.touched(node.doc)
        if node.parent is None:
            self.writer.delete_document(node.doc)
        else:
            self.note_dirty(node.doc, self.next(node))
            stored = [self.stored(found.id) for found, _ in gone]
            self.writer.apply(Changes(removed=stored), {}, {})
            self.note_dirty(node.doc, ids)
            touched.net -= len(ids)
        touched.removed.update(dict.fromkeys(ids))
        return ids

    def move(
        self,
        id_: str,
        parent: str,
        *,
        before: str | None = None,
        after: str | None = None,
    ) -> None:
        """Puts a node with all below it elsewhere; ids stay.

        Args:
            id_: The node.
            parent: Id of the node to put it into.
            before: Id of the sibling that it is to stand before.
            after: Id of the sibling that it is to stand after; by default it stands last.

        Raises:
            StoreError: The place is inside the node, or the node is the root of a tree.
        """
        node, above = self.node(id_), self.node(parent)
        self.refuse_document(node.doc)
        self.refuse_document(above.doc)
        if node.parent is None:
            raise StoreError(
                "the root of a tree cannot be moved", where=printable(id_), hint="move its children"
            )
        if above.order == node.order or above.order.startswith(node.order + "."):
            raise StoreError("a node cannot be moved into itself", where=printable(id_))
        if id_ in (before, after):
            return
        moving = self.subtree(node)
        self.refuse_hidden(moving)
        self.note_dirty(node.doc, self.next(node))
        root = replace(node, parent=parent, order=self.key(above, before, after))
        nodes = [root, *(replace(found) for found, _ in moving[1:])]
        for found in nodes:
            found.doc = above.doc
        self.set_keys(nodes)
        if node.doc != above.doc:
            self.note_dirty(node.doc, [found.id for found in nodes])
            self.touched(node.doc).moved[id_] = None
            self.touched(node.doc).net -= len(nodes)
            self.touched(above.doc).net += len(nodes)
        self.rewrite(nodes)
        self.touched(above.doc).moved[id_] = None
        self.note_dirty(above.doc, self.next(root))

    def replace(self, id_: str, record: Record) -> str:
        """Puts a record in the place of a node, whose id and history it takes over."""
        node = self.node(id_)
        for child in self.children(id_):
            self.remove(child.id)
        gone = dict.fromkeys(node.attributes)
        self.set(
            id_,
            attributes={**gone, **record.attributes},
            text=record.text,
            kind=record.kind,
            labels=record.labels,
        )
        for item in record.children:
            self.add(item, id_)
        return id_

    def restore(self, wanted: Mapping[str, TreeNode | None]) -> None:
        """Brings nodes back to what they were; see ``edit_restore.restore``."""
        restore(self, wanted)

    def finish(self) -> None:
        """Writes the documents' rows and tells the projections; to be called once, at the end."""
        for doc, touched in self.documents.items():
            part, _, weight, known = self.writer.head(doc)
            if known:
                sql = "SELECT nodes FROM documents WHERE id = ?"
                nodes = self.connection.execute(sql, (doc,)).fetchone()[0] + touched.net
                hash_ = digest(doc, str(self.writer.touch()))
                self.writer.put_head(doc, part, nodes, hash_, b"", weight)
            if touched.dirty:
                for target in TARGETS:
                    self.writer.announce(target, "nodes", doc, list(touched.dirty))
