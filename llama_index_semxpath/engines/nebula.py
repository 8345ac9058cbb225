"""The NebulaGraph engine: nGQL over the property graph in a cluster."""

from __future__ import annotations

from llama_index_semxpath.engines.base import Dataset
from llama_index_semxpath.engines.graph_engine import Ask, GraphEngine
from llama_index_semxpath.engines.ngql import NgqlDialect


class NebulaEngine(GraphEngine):
    """Runs the structural, attribute and relation steps of a query in NebulaGraph.

    Args:
        dataset: What the reference engine reads; its table has order keys.
        ask: Runs an nGQL statement.
        properties: Property names that the space has (see ``NgqlDialect``).
        check_names: Refuse kinds, attributes and relations that the tree does not have.
    """

    def __init__(
        self,
        dataset: Dataset,
        ask: Ask,
        *,
        properties: frozenset[str] = frozenset(),
        check_names: bool = True,
    ) -> None:
        super().__init__(dataset, NgqlDialect(properties), ask, check_names=check_names)
