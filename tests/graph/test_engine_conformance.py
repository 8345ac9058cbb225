"""The graph engines under the suite that every engine must pass, on real stores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import ClassVar

import pytest
from graph_corpora import fill_table

from llama_index_semxpath.engines.base import Dataset, Engine
from llama_index_semxpath.engines.ladybug import LadybugEngine
from llama_index_semxpath.engines.nebula import NebulaEngine
from llama_index_semxpath.index.graph_ladybug import LadybugGraph
from llama_index_semxpath.index.graph_nebula import NebulaGraph
from llama_index_semxpath.index.nebula_client import NebulaOptions
from llama_index_semxpath.testing.engine_suite import EngineConformance
from tests.nebula_emulator.server import NebulaEmulator


class TestLadybugEngine(EngineConformance):
    stores: ClassVar[ExitStack]
    paths: ClassVar[pytest.TempPathFactory]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def folder(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        with ExitStack() as cls.stores:
            cls.paths = tmp_path_factory
            yield

    def make_engine(self, dataset: Dataset) -> Engine:
        graph = LadybugGraph(self.paths.mktemp("conformance") / "graph.lbug")
        self.stores.callback(graph.close)
        fill_table(graph, dataset.table)
        return LadybugEngine(dataset, graph.rows)


class TestNebulaEngine(EngineConformance):
    stores: ClassVar[ExitStack]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def cluster(cls) -> Iterator[None]:
        with ExitStack() as cls.stores:
            yield

    def make_engine(self, dataset: Dataset) -> Engine:
        emulator = self.stores.enter_context(NebulaEmulator())
        options = NebulaOptions(
            addresses=[emulator.address], space="suite", timeout=60.0, backoff=0.001
        )
        graph = NebulaGraph(options)
        self.stores.callback(graph.close)
        fill_table(graph, dataset.table)
        return NebulaEngine(dataset, graph.rows, properties=graph.properties)
