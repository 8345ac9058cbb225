"""The NebulaGraph back end on the emulator, by the same suites as the others."""

from collections.abc import Iterator

import pytest

from llama_index_semxpath.index.graph_model import Graph
from llama_index_semxpath.index.graph_nebula import NebulaGraph
from llama_index_semxpath.index.nebula_client import NebulaOptions
from llama_index_semxpath.testing.graph_suite import GraphConformance, ProjectionConformance

from .forms import form_of
from .server import NebulaEmulator


def options(emulator: NebulaEmulator, **changed: object) -> NebulaOptions:
    given = {"addresses": [emulator.address], "space": "test", "timeout": 60.0, "backoff": 0.001}
    return NebulaOptions(**{**given, **changed})  # type: ignore[arg-type]


@pytest.fixture
def emulator() -> Iterator[NebulaEmulator]:
    with NebulaEmulator() as made:
        yield made


class TestNebulaGraph(GraphConformance, ProjectionConformance):
    @pytest.fixture
    def graph(self, emulator: NebulaEmulator) -> Iterator[Graph]:
        self.emulator = emulator
        made = NebulaGraph(options(emulator))
        yield made
        made.close()

    def reopened(self, graph: Graph) -> Graph:
        return NebulaGraph(options(self.emulator))

    @pytest.mark.skip(reason="NebulaGraph has no transactions: writes are repeatable instead")
    def test_a_failed_transaction_leaves_nothing(self, graph: Graph) -> None: ...

    @pytest.fixture(autouse=True)
    def _known_forms(self, emulator: NebulaEmulator) -> Iterator[None]:
        """Every statement that the suite made the store send is of a form in the TCK's table."""
        yield
        assert {text[:200] for text, _ in emulator.statements if not form_of(text)} == set()
