"""The integration suites against servers of the user's own; skipped where none is named.

``NEBULA_ADDRESS`` is a URL (``nebula://root:nebula@127.0.0.1:9669``) or ``host:port``,
``MILVUS_URI`` a URI, with ``MILVUS_TOKEN`` where one is needed. Every test makes a space or a
collection of its own and drops it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import ClassVar

import pytest

from llama_index_semxpath import SemXPathIndex
from llama_index_semxpath.engines.base import Dataset, Engine
from llama_index_semxpath.engines.nebula import NebulaEngine
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.graph_model import Graph
from llama_index_semxpath.index.graph_nebula import NebulaGraph
from llama_index_semxpath.index.graph_projection import PropertyGraphProjection
from llama_index_semxpath.index.milvus import MilvusProjection
from llama_index_semxpath.index.projection import Projection
from llama_index_semxpath.testing import projection_suite
from llama_index_semxpath.testing.engine_suite import EngineConformance
from llama_index_semxpath.testing.graph_suite import GraphConformance
from llama_index_semxpath.testing.graph_suite import ProjectionConformance as GraphProjection
from tests.graph.graph_corpora import fill_table
from tests.index.store_fixtures import HashEmbedder, document

ADDRESS, MILVUS = os.environ.get("NEBULA_ADDRESS", ""), os.environ.get("MILVUS_URI", "")
nebula = pytest.mark.skipif(not ADDRESS, reason="NEBULA_ADDRESS names no NebulaGraph server")
milvus = pytest.mark.skipif(not MILVUS, reason="MILVUS_URI names no Milvus server")
_NAMES = itertools.count()


def space_url(space: str) -> str:
    base = ADDRESS if "://" in ADDRESS else f"nebula://{ADDRESS}"
    return f"{base.rstrip('/')}/{space}?timeout=60"


@contextmanager
def nebula_graph() -> Iterator[NebulaGraph]:
    """A graph in a space of its own."""
    space = f"semxpath_test_{os.getpid()}_{next(_NAMES)}"
    made = NebulaGraph.from_url(space_url(space))
    try:
        yield made
    finally:
        made.client.execute(f"DROP SPACE IF EXISTS `{space}`")
        made.close()


@contextmanager
def milvus_projection(dimension: int) -> Iterator[MilvusProjection]:
    """Vectors in a collection of their own."""
    from pymilvus import MilvusClient

    made = MilvusProjection(
        MILVUS,
        dimension=dimension,
        collection=f"semxpath_test_{os.getpid()}_{next(_NAMES)}",
        token=os.environ.get("MILVUS_TOKEN", ""),
        timeout=60.0,
    )
    try:
        yield made
    finally:
        made.close()
        client = MilvusClient(MILVUS, token=os.environ.get("MILVUS_TOKEN", ""))
        client.drop_collection(made.collection)
        client.close()


@nebula
class TestNebulaServer(GraphConformance, GraphProjection):
    @pytest.fixture
    def graph(self) -> Iterator[Graph]:
        with nebula_graph() as made:
            self.url = space_url(made.client.options.space)
            yield made

    def reopened(self, graph: Graph) -> Graph:
        return NebulaGraph.from_url(self.url, create=False)

    @pytest.mark.skip(reason="NebulaGraph has no transactions: writes are repeatable instead")
    def test_a_failed_transaction_leaves_nothing(self, graph: Graph) -> None: ...


@nebula
class TestNebulaServerAsProjection(projection_suite.ProjectionConformance):
    @pytest.fixture
    def projection(self) -> Iterator[Projection]:
        with nebula_graph() as made:
            yield PropertyGraphProjection(made)


@nebula
class TestNebulaServerAsEngine(EngineConformance):
    stores: ClassVar[ExitStack]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def cluster(cls) -> Iterator[None]:
        with ExitStack() as cls.stores:
            yield

    def make_engine(self, dataset: Dataset) -> Engine:
        graph = self.stores.enter_context(nebula_graph())
        fill_table(graph, dataset.table)
        return NebulaEngine(dataset, graph.rows, properties=graph.properties)


@milvus
class TestMilvusServer(projection_suite.ProjectionConformance):
    @pytest.fixture
    def projection(self) -> Iterator[Projection]:
        with milvus_projection(projection_suite.DIMENSION) as made:
            yield made


@nebula
@milvus
def test_a_store_over_both(tmp_path) -> None:
    with nebula_graph() as graph, milvus_projection(HashEmbedder.dimension) as vectors:
        config = StoreConfig(
            tmp_path,
            milvus_uri=MILVUS,
            milvus_token=os.environ.get("MILVUS_TOKEN", ""),
            collection=vectors.collection,
            graph=space_url(graph.client.options.space),
        )
        with SemXPathIndex(config, embed_model=HashEmbedder()) as index:
            index.insert_tree(document("d", {"Leave": ["Ten days."], "Pay": ["On the first."]}))
            assert [m.text for m in index.query("//Section")] == ["Leave", "Pay"]
            assert index.check().ok
            index.delete_ref_doc("d")
            assert index.check().ok
