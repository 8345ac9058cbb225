"""Compares the relations of a graph with the catalog, a batch of nodes at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.graph_model import CONTAINS, NEXT
from llama_index_semxpath.index.projected import NodeLink, ProjectedNodes
from llama_index_semxpath.index.projection import GraphTarget, Incoming, sorted_properties

#: Nodes whose relations are compared at a time.
_BATCH = 1_000
_NOTHING = "{}"


def wrong_relations(
    catalog: Catalog,
    graph: GraphTarget,
    nodes: ProjectedNodes,
    fine: Callable[[str], bool] = lambda id_: True,
) -> Iterator[tuple[str, Incoming, NodeLink]]:
    """Relations that differ, each with its kind, ``missing`` or ``orphans``, and its target.

    Every relation reaches some node, so those at all nodes are all there are.

    Args:
        catalog: The catalog.
        graph: The store to compare.
        nodes: Reads the catalog's nodes for it.
        fine: Tells the nodes whose own rows agree; the relations of others are not looked at.
    """
    links = nodes.links()
    while batch := list(islice(links, _BATCH)):
        targets = {link.id: link for link in batch}
        wanted = Counter([*_structure(batch), *_said(catalog, list(targets))])
        held = Counter(graph.incoming(list(targets)))
        for kind, rows in ("missing", wanted - held), ("orphans", held - wanted):
            for row in rows.elements():
                if fine(row[0]) and fine(row[2]):
                    yield kind, row, targets[row[2]]


def mend_relations(catalog: Catalog, graph: GraphTarget, nodes: ProjectedNodes) -> None:
    """Writes what :func:`wrong_relations` finds anew; the nodes themselves agree already."""
    documents: set[str] = set()
    faults = wrong_relations(catalog, graph, nodes)
    while batch := list(islice(faults, _BATCH)):
        targets: dict[str, list[str]] = {}
        for _, row, link in batch:
            if row[3]:
                documents.add(row[3])
            elif link.doc:
                targets.setdefault(link.doc, []).append(link.id)
        for doc, ids in targets.items():
            graph.upsert(list(nodes.of_ids(doc, list(dict.fromkeys(ids)))))
    for doc in sorted(documents):
        graph.replace_relations(doc, catalog.edges(doc))


def _structure(links: Iterable[NodeLink]) -> Iterator[Incoming]:
    for link in links:
        if link.parent:
            yield link.parent, CONTAINS, link.id, "", _NOTHING
        if link.previous:
            yield link.previous, NEXT, link.id, "", _NOTHING


def _said(catalog: Catalog, targets: list[str]) -> Iterator[Incoming]:
    for doc, edge in catalog.edges_to(targets):
        yield edge.source, edge.name, edge.target, doc, sorted_properties(edge.properties)
