"""The reference engine under the suite that every engine must pass."""

from __future__ import annotations

from llama_index_semxpath.engines.base import Dataset, Engine
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.testing.engine_suite import EngineConformance, engine_cases


class TestMemoryEngine(EngineConformance):
    def make_engine(self, dataset: Dataset) -> Engine:
        return MemoryEngine(dataset)


def test_there_are_enough_cases() -> None:
    assert len({case.name for case in engine_cases()}) >= 400
