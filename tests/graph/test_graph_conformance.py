from pathlib import Path

import pytest

from llama_index_semxpath.index.graph_ladybug import LadybugGraph
from llama_index_semxpath.index.graph_memory import MemoryGraph
from llama_index_semxpath.index.graph_model import Graph
from llama_index_semxpath.testing.graph_suite import GraphConformance, ProjectionConformance


class TestMemoryGraph(GraphConformance, ProjectionConformance):
    @pytest.fixture
    def graph(self) -> Graph:
        return MemoryGraph()


class TestLadybugGraph(GraphConformance, ProjectionConformance):
    @pytest.fixture
    def graph(self, tmp_path: Path):
        self.path = tmp_path / "graph.lbug"
        self.opened = LadybugGraph(self.path)
        yield self.opened
        self.opened.close()

    def reopened(self, graph: Graph) -> Graph:
        graph.close()
        self.opened = LadybugGraph(self.path)
        return self.opened
