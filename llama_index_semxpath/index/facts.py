"""Relations that texts suggest, kept with what people decided about them.

Proposals are read from the catalog when somebody asks for them and it has changed since; so writing
documents costs nothing more. A decision stays with its fact for as long as a text says it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from hashlib import blake2b
from itertools import groupby
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.index.codec import decode_attributes
from llama_index_semxpath.node_parser.facts import Fact, propose_relations
from llama_index_semxpath.node_parser.named import Names, named_values
from llama_index_semxpath.tree.edges import Edge

if TYPE_CHECKING:
    from llama_index_semxpath.index.catalog import Catalog
    from llama_index_semxpath.index.catalog_writer import CatalogWriter
    from llama_index_semxpath.index.connection import Connection

PROPOSED, ACCEPTED, REJECTED = "proposed", "accepted", "rejected"
STATUSES = (PROPOSED, ACCEPTED, REJECTED)
#: Property of a relation that an accepted fact became.
FACT = "fact"
_SCANNED = "facts"
_COLUMNS = "id, doc, source, relation, target, name, rule, confidence, status, evidence"
#: Number of the "rule" that a model is.
MODEL = 7


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A relation that a text suggests, and what became of it.

    Args:
        id: 12 hexadecimal characters that follow from source, relation and what is named.
        document: Id of the document that says it.
        fact: The relation with its source node, confidence and status.
    """

    id: str
    document: str
    fact: Fact

    def to_dict(self) -> dict[str, Any]:
        """The fact as JSON."""
        fact = self.fact
        return {
            "id": self.id,
            "status": fact.status,
            "confidence": fact.confidence,
            "rule": fact.rule,
            "relation": fact.relation,
            "name": fact.name,
            "document": self.document,
            "evidence": fact.evidence or fact.source,
            "source": fact.source,
            "target": fact.target or None,
        }


def fact_id(fact: Fact) -> str:
    """Id of a fact, the same in every run.

    Example:
        >>> fact_id(Fact("p", "REFERS_TO", "s", "第五条", 4, 0.9))
        '970aa4a23dba'
    """
    digest = blake2b(digest_size=6)
    for part in (fact.source, fact.relation, fact.name, *filter(None, (fact.evidence,))):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def stored_facts(catalog: Catalog) -> list[StoredFact]:
    """All facts of a store as they stand, the least sure first."""
    sql = f"SELECT {_COLUMNS} FROM facts ORDER BY confidence, doc, pk"
    with catalog.database.read() as connection:
        return [_stored(row) for row in connection.execute(sql)]


def is_current(catalog: Catalog) -> bool:
    """Whether the proposals are those of the documents as they are now."""
    return catalog.meta(_SCANNED) == _state(catalog)


def propose(catalog: Catalog, writer: CatalogWriter) -> None:
    """Brings the proposals up to the documents; decisions stay.

    A relation whose text is gone goes with it.
    """
    there: set[str] = set()
    found = {fact_id(fact): (doc, fact) for doc, fact in _read(catalog, there)}
    connection = writer.connection
    rows = [_stored(row) for row in connection.execute(f"SELECT {_COLUMNS} FROM facts")]
    # What a model found holds as long as the node that it was given is there.
    gone = [old for old in rows if old.id not in found and old.fact.evidence not in there]
    connection.executemany("DELETE FROM facts WHERE id = ?", [(old.id,) for old in gone])
    moved = {
        old.id
        for old in rows
        if old.id in found and found[old.id][1].target != old.fact.target and old.fact.target
    }
    # What a name means now was never decided upon.
    connection.executemany(
        "UPDATE facts SET status = ? WHERE id = ?", [(PROPOSED, id_) for id_ in sorted(moved)]
    )
    _put(connection, found)
    for doc in sorted({old.document for old in gone} | {found[id_][0] for id_ in moved}):
        relate(writer, doc)
    writer.set_meta(_SCANNED, _state(catalog))


def keep_found(
    writer: CatalogWriter, doc: str, found: Iterable[Fact], *, accept: bool = False
) -> None:
    """Replaces what models found in a document; decisions on what they found again stay.

    Args:
        writer: The catalog, within a transaction; relations are not written, see :func:`relate`.
        doc: Id of the document.
        found: The facts, each with its evidence.
        accept: Whether they hold without review.
    """
    rows = {fact_id(fact): (doc, fact) for fact in found}
    sql = "SELECT id FROM facts WHERE doc = ? AND rule = ?"
    old = [id_ for (id_,) in writer.connection.execute(sql, (doc, MODEL))]
    gone = [(id_,) for id_ in old if id_ not in rows]
    writer.connection.executemany("DELETE FROM facts WHERE id = ?", gone)
    _put(writer.connection, rows)
    if accept:
        writer.connection.executemany(
            "UPDATE facts SET status = ? WHERE id = ? AND status = ?",
            [(ACCEPTED, id_, PROPOSED) for id_ in rows],
        )


def _put(connection: Connection, found: Mapping[str, tuple[str, Fact]]) -> None:
    connection.executemany(
        f"INSERT INTO facts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET doc = excluded.doc, target = excluded.target, "
        "rule = excluded.rule, confidence = excluded.confidence",
        [(id_, doc, *astuple(replace(f, status=PROPOSED))) for id_, (doc, f) in found.items()],
    )


def decide(
    writer: CatalogWriter, accept: Iterable[str] = (), reject: Iterable[str] = ()
) -> tuple[int, int]:
    """Settles facts; accepted ones become relations, rejected ones are none.

    Args:
        writer: The catalog, within a transaction.
        accept: Ids of facts that hold.
        reject: Ids of facts that do not.

    Returns:
        How many were accepted and rejected that were not so before.

    Raises:
        SemXPathError: An id is unknown or in both lists, or what a fact names is not in the store.
    """
    accepted, rejected = dict.fromkeys(accept), dict.fromkeys(reject)
    both = accepted.keys() & rejected.keys()
    if both:
        raise SemXPathError("a fact is accepted and rejected at once", where=min(both))
    rows = [_stored(row) for row in writer.connection.execute(f"SELECT {_COLUMNS} FROM facts")]
    known = {row.id: row for row in rows}
    for id_ in (*accepted, *rejected):
        if id_ not in known:
            raise SemXPathError("no such fact", where=id_[:80], hint="list them: semxpath facts")
    for id_ in accepted:
        if not known[id_].fact.target:
            raise SemXPathError(
                f"no document of the store is called {known[id_].fact.name!r}",
                where=id_,
                hint="index it first, or reject the fact",
            )
    now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    changed = [
        (status, now, id_)
        for ids, status in ((accepted, ACCEPTED), (rejected, REJECTED))
        for id_ in ids
        if known[id_].fact.status != status
    ]
    writer.connection.executemany("UPDATE facts SET status = ?, decided = ? WHERE id = ?", changed)
    for doc in sorted({known[id_].document for _, _, id_ in changed}):
        relate(writer, doc)
    statuses = [status for status, _, _ in changed]
    return statuses.count(ACCEPTED), statuses.count(REJECTED)


def relate(writer: CatalogWriter, doc: str, others: Iterable[Edge] | None = None) -> None:
    """Writes the relations of a document: accepted facts beside the others that it says.

    Args:
        writer: The catalog, within a transaction.
        doc: Id of the document.
        others: Its relations that no fact stands behind; ``None`` keeps those it has.
    """
    if others is None:
        others = _others(writer.connection, doc)
    writer.replace_relations(doc, [*others, *_accepted(writer.connection, doc)])


def _others(connection: Connection, doc: str) -> list[Edge]:
    sql = "SELECT source, name, target, properties FROM edges WHERE doc = ? ORDER BY pk"
    edges = [Edge(s, n, t, decode_attributes(p)) for s, n, t, p in connection.execute(sql, (doc,))]
    return [edge for edge in edges if FACT not in edge.properties]


def _accepted(connection: Connection, doc: str) -> list[Edge]:
    sql = f"SELECT {_COLUMNS} FROM facts WHERE doc = ? AND status = ?"
    rows = [_stored(row) for row in connection.execute(sql, (doc, ACCEPTED))]
    return [
        Edge(
            row.fact.source,
            row.fact.relation,
            row.fact.target,
            {FACT: row.id, "rule": row.fact.rule, "confidence": row.fact.confidence},
        )
        for row in rows
    ]


def _read(catalog: Catalog, there: set[str]) -> Iterator[tuple[str, Fact]]:
    """The facts that the documents suggest, names resolved; ``there`` gets the ids of all nodes."""
    names = Names()
    for node in catalog.walk():
        there.add(node.id)
        names.add_nodes((node,))
    for _, entity in catalog.entity_sources():
        for name in (entity.name, *entity.aliases):
            names.add("entity", name, entity.entity)
    for doc, group in groupby(catalog.walk(), key=lambda node: node.doc):
        nodes = list(group)
        seen: set[tuple[str, str, str]] = set()
        for fact in (*propose_relations(nodes), *named_values(nodes, names)):
            resolved = fact if fact.target else _resolved(fact, names, doc)
            key = (resolved.source, resolved.relation, resolved.target or resolved.name)
            if resolved.target != doc and key not in seen:
                seen.add(key)
                yield doc, resolved


def _resolved(fact: Fact, names: Names, doc: str) -> Fact:
    target = names.find_document(fact.name)
    return replace(fact, target=target) if target else fact


def _state(catalog: Catalog) -> str:
    documents = catalog.documents()
    newest = max((document.version for document in documents), default=0)
    return f"{newest} {len(documents)} {len(catalog.entity_sources())}"


def _stored(row: Sequence[Any]) -> StoredFact:
    id_, doc, *fields = row
    return StoredFact(id_, doc, Fact(*fields))
