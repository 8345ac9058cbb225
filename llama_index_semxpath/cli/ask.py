"""``semxpath ask``."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.cli.output import opened, print_json, remark, style
from llama_index_semxpath.display.style import clean_lines
from llama_index_semxpath.display.text import ARROW, matches_text
from llama_index_semxpath.errors import SemXPathError

if TYPE_CHECKING:
    from llama_index_semxpath.query_engine.pipeline import Answer


def ask(args: argparse.Namespace) -> int:
    """Answers a question from the documents."""
    started = time.perf_counter()
    with opened(args) as reader:
        answer = _answer(args, reader)
    if args.log:
        from llama_index_semxpath.cli.feedback import write_entry

        seconds = time.perf_counter() - started
        remark(args, f"logged as {write_entry(args, args.question, answer, seconds)}")
    if args.json:
        print_json(answer.to_dict())
    else:
        show_answer(args, answer)
    return 1 if args.fail_empty and not answer.found else 0


def show_answer(args: argparse.Namespace, answer: Answer) -> None:
    """An answer for people: the text, what it cites, how it was found."""
    paint = style()
    print(clean_lines(answer.text))
    if answer.citations:
        print()
    for citation in answer.citations:
        path = ARROW.join([str(citation["document"]), *map(str, citation["path"])])
        page = f", page {citation['page']}" if citation["page"] else ""
        print(paint.paint(f"[{citation['number']}]", "green"), clean_lines(path) + page)
    if not answer.found and answer.results:
        print("\nnearest places:")
        print(matches_text([match.to_dict() for match in answer.results[:3]], paint, lines=1))
    remark(args, "")
    remark(args, paint.paint(f"{answer.intent.kind}: {'; '.join(answer.intent.reasons)}", "dim"))
    if answer.confidence_reasons:
        grounds = "; ".join(answer.confidence_reasons)
        remark(args, paint.paint(f"confidence {answer.confidence:.2f}: {grounds}", "dim"))
    if answer.query:
        remark(args, paint.paint(f"query: {answer.query}", "dim"))
    for note in answer.notes:
        remark(args, paint.paint(f"note: {note}", "dim"))


def _answer(args: argparse.Namespace, reader: Any) -> Answer:
    from llama_index_semxpath.query_engine.pipeline import Pipeline

    if args.llm is None:
        return Pipeline(reader).ask(args.question, principal=args.principal, effort=args.effort)
    from llama_index_semxpath.query_engine.engine import SemXPathQueryEngine

    engine = SemXPathQueryEngine.from_defaults(
        reader, llm=_model(args.llm), principal=args.principal, effort=args.effort
    )
    return engine.ask(args.question)


def _model(name: str) -> Any:
    """``NAME@URL``: a model behind an OpenAI-compatible server."""
    model, _, url = name.rpartition("@")
    if not model or not url.startswith(("http://", "https://")):
        raise SemXPathError(
            "a model is given as NAME@URL",
            where=name,
            hint="for instance qwen3@http://127.0.0.1:8080/v1",
        )
    try:
        from llama_index.llms.openai_like import OpenAILike
    except ImportError:
        raise SemXPathError(
            "the package llama-index-llms-openai-like is not installed", hint="install it with pip"
        ) from None
    return OpenAILike(model=model, api_base=url, api_key="none", is_chat_model=True)
