"""Random writes: memory and Ladybug hold the same graph after each."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.graph_ladybug import LadybugGraph
from llama_index_semxpath.index.graph_memory import MemoryGraph
from llama_index_semxpath.index.graph_model import Criteria, Graph, Link, Vertex

words = st.sampled_from(["a", "b", "c", "d'", 'e"', "f\\", "第", " "])
values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), words, st.lists(words)
)
properties = st.dictionaries(words, values, max_size=3)
vertices = st.builds(
    Vertex,
    id=words,
    kind=words,
    type=st.sampled_from(["node", "chunk", "entity"]),
    name=words,
    aliases=st.lists(words, max_size=2).map(tuple),
    text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
    doc=words,
    level=st.none() | st.integers(0, 9),
    labels=st.none() | st.lists(words, max_size=2).map(tuple),
    attributes=properties,
    origins=st.dictionaries(words, properties, max_size=2),
)
links = st.builds(
    Link, words, words, words, st.sampled_from(["", "a"]), properties, st.sampled_from(["", "v"])
)
keys = st.tuples(words, words, words, st.sampled_from(["", "a"]), st.sampled_from(["", "v"]))
steps = st.one_of(
    st.tuples(st.just("put"), st.lists(vertices, max_size=6)),
    st.tuples(st.just("put_links"), st.lists(links, max_size=6)),
    st.tuples(st.just("remove"), st.lists(words, max_size=3)),
    st.tuples(st.just("remove_links"), st.lists(keys, max_size=3)),
)


def everything(graph: Graph) -> object:
    return (
        graph.select(Criteria()),
        graph.links(None),
        list(graph.scan()),
        graph.counts(),
        [graph.links(["a", "b"], way) for way in ("out", "in")],
        graph.select(Criteria(keys=frozenset("a"))),
        graph.select(Criteria(origins=frozenset("a"), docs=frozenset(["b", "第"]))),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.lists(steps, min_size=1, max_size=4), max_size=4),
    st.lists(st.dictionaries(words, values, min_size=1, max_size=1), max_size=4),
    st.integers(0, 3),
)
def test_both_hold_the_same(
    transactions: list[list[Any]], wanted: list[dict[str, Any]], failing: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory, disk = MemoryGraph(), LadybugGraph(Path(folder) / "g")
        for place, transaction in enumerate(transactions):
            for graph in (memory, disk):
                try:
                    with graph.write():
                        for step in transaction:
                            getattr(graph, step[0])(step[1])
                        if place == failing:
                            raise KeyError
                except (KeyError, StoreError):
                    pass
            assert everything(memory) == everything(disk)
        for equal in wanted:
            criteria = Criteria(equal=equal)
            assert memory.select(criteria) == disk.select(criteria)
        disk.close()
