"""The suites that other authors run, run on our own stores."""

from __future__ import annotations

import pytest

from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.graph_ladybug import LadybugGraph
from llama_index_semxpath.index.graph_memory import MemoryGraph
from llama_index_semxpath.index.graph_projection import PropertyGraphProjection
from llama_index_semxpath.testing.catalog_suite import CatalogConformance
from llama_index_semxpath.testing.projection_suite import ProjectionConformance


class TestCatalog(CatalogConformance):
    @pytest.fixture
    def catalog(self, tmp_path):
        made = Catalog(tmp_path / "catalog.db", create=True)
        yield made
        made.close()


class TestPostgresCatalog(CatalogConformance):
    @pytest.fixture
    def catalog(self, postgres_server):
        made = Catalog(postgres_server.url, create=True, schema=postgres_server.schema())
        yield made
        made.close()


class TestMemoryGraph(ProjectionConformance):
    @pytest.fixture
    def projection(self):
        return PropertyGraphProjection(MemoryGraph())


class TestLadybugGraph(ProjectionConformance):
    @pytest.fixture
    def projection(self, tmp_path):
        made = PropertyGraphProjection(LadybugGraph(tmp_path / "graph.lbug"))
        yield made
        made.close()
