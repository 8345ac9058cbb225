"""The Ladybug engine: Cypher over the property graph on disk."""

from __future__ import annotations

from llama_index_semxpath.engines.base import Dataset
from llama_index_semxpath.engines.cypher import CypherDialect
from llama_index_semxpath.engines.graph_engine import Ask, GraphEngine


class LadybugEngine(GraphEngine):
    """Runs the structural, attribute and relation steps of a query in Ladybug.

    Args:
        dataset: What the reference engine reads; its table has order keys.
        ask: Runs a Cypher statement, as ``LadybugGraph.rows`` does.
        check_names: Refuse kinds, attributes and relations that the tree does not have.
    """

    def __init__(self, dataset: Dataset, ask: Ask, *, check_names: bool = True) -> None:
        super().__init__(dataset, CypherDialect(), ask, check_names=check_names)
