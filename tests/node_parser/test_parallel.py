"""Sources parsed in processes: the same trees in the same order, errors in their place."""

from __future__ import annotations

from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.node_parser import ParseOptions, parse_bytes
from llama_index_semxpath.node_parser.parallel import Job, parse_many

JOBS = [
    *(Job(f"# Title {n}\n\nText {n}.".encode(), f"{n}.md", f"{n}.md", n) for n in range(5)),
    Job(b"", "empty.md", "empty.md", 5),
    Job(b"\x00" * 99, "binary.md", "binary.md", 6),
]


def results(workers: int, options: ParseOptions):
    return list(parse_many(iter(JOBS), options, workers=workers))


def test_processes_give_what_one_gives() -> None:
    options = ParseOptions(max_tokens=64)
    here, there = results(1, options), results(2, options)
    assert [job.tag for job, _ in there] == list(range(7))
    for (job, one), (_, two) in zip(here, there, strict=True):
        if job.tag < 5:
            assert one == two == parse_bytes(job.data, job.name, options=options)
        else:
            assert isinstance(two, SourceError)
            assert str(one) == str(two)
            assert job.name in str(two)


def test_options_that_cannot_travel_are_used_here() -> None:
    counted: list[str] = []
    options = ParseOptions(tokenizer=lambda text: counted.append(text) or text.split())
    assert len(results(2, options)) == 7
    assert counted
