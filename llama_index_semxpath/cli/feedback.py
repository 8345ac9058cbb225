"""``semxpath feedback``: look at logged answers, label them, export them, ask them again."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llama_index_semxpath.cli.output import config_of, opened, print_json, remark, style
from llama_index_semxpath.display.style import clean_lines, cut
from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.memory.feedback import FeedbackEntry, FeedbackLog, Trial, entry_of
from llama_index_semxpath.memory.feedback_review import (
    bad_cases,
    evaluation_rows,
    rerun,
    training_pairs,
    write_rows,
)

#: Name of the log in a store's directory.
LOG = "feedback.db"


def listing(args: argparse.Namespace) -> int:
    """Lists probable bad cases, or all entries."""
    with _log(args) as log:
        entries = log.entries()
    cases = {case.entry.id: case.reasons for case in bad_cases(entries)}
    shown = entries if args.all else [case.entry for case in bad_cases(entries)]
    if args.json:
        print_json([{**one.to_dict(), "reasons": list(cases.get(one.id, ()))} for one in shown])
        return 0
    paint = style()
    for one in shown:
        head = f"{one.id}  {one.time:%Y-%m-%d %H:%M}  " if one.time else f"{one.id}  "
        print(head + cut(clean_lines(one.question), max(20, paint.width - len(head))))
        signs = [*cases.get(one.id, ()), *([f"labelled {one.verdict}"] if one.verdict else [])]
        if signs:
            print(paint.paint(f"    {', '.join(signs)}", "dim"))
    remark(args, f"{len(shown)} of {len(entries)} logged answers")
    return 0


def show(args: argparse.Namespace) -> int:
    """Shows one entry."""
    with _log(args) as log:
        entry = log.get(args.id)
    if args.json:
        print_json(entry.to_dict())
        return 0
    for name, value in entry.to_dict().items():
        if value not in ("", [], None, 0, ()):
            print(f"{name}: {clean_lines(str(value))}")
    return 0


def rate(args: argparse.Namespace) -> int:
    """Notes whether a person liked an answer."""
    with _log(args) as log:
        rating = {"like": 1, "dislike": -1, "none": 0}[args.rating]
        log.rate(args.id, rating, comment=args.comment)
        return _done(args, log.get(args.id))


def label(args: argparse.Namespace) -> int:
    """Notes what a reviewer says of an answer."""
    with _log(args) as log:
        entry = log.label(
            args.id,
            args.verdict,
            expected=args.expected,
            query=args.query,
            answer=args.answer,
            note=args.note,
        )
    return _done(args, entry)


def export(args: argparse.Namespace) -> int:
    """Writes reviewed entries as an evaluation set or as training pairs."""
    with _log(args) as log:
        entries = log.entries()
    if args.to == "pairs":
        rows: list[dict[str, Any]] = [dict(pair) for pair in training_pairs(entries)]
    else:
        with opened(args) as reader:

            def passage(id_: str) -> tuple[str, str] | None:
                found = reader.node(id_, args.principal)
                return None if found is None else (found.document, found.text)

            rows = evaluation_rows(entries, passage=passage)
    count = write_rows(rows, args.file)
    if args.json:
        print_json({"file": args.file, "rows": count})
    else:
        print(f"{count} rows in {args.file}")
    return 0 if count else 1


def run(args: argparse.Namespace) -> int:
    """Asks reviewed questions again; 1 when one is not answered right."""
    from llama_index_semxpath.query_engine.pipeline import Pipeline

    with _log(args) as log:
        entries = log.entries()
    with opened(args) as reader:
        pipeline = Pipeline(reader)

        def ask(question: str) -> Trial:
            entry = entry_of(question, pipeline.ask(question, principal=args.principal))
            ids = tuple(id_ for id_, _ in entry.results)
            return Trial(entry.answer, entry.query, ids, entry.citations)

        report = rerun(entries, ask)
    found = report.to_dict()
    if args.json:
        print_json(found)
    else:
        print(f"{found['passed']} of {found['cases']} right")
        for name in ("broken", "mended"):
            for question in found[name]:
                print(f"{name}: {clean_lines(question)}")
        for one in found["wrong"]:
            why = one["error"] or f"missing {', '.join(one['missing']) or 'the known answer'}"
            print(f"wrong: {clean_lines(one['question'])} ({why})")
    return 1 if found["wrong"] else 0


def remove(args: argparse.Namespace) -> int:
    """Deletes entries for good."""
    with _log(args) as log:
        count = log.remove(args.ids)
    if args.json:
        print_json({"removed": count})
    else:
        print(f"{count} removed")
    return 0 if count else 1


def write_entry(args: argparse.Namespace, question: str, answer: Any, seconds: float) -> str:
    """Logs an answer of ``ask --log``; returns the entry's id."""
    with _log(args) as log:
        return log.add(entry_of(question, answer, seconds=seconds)).id


@contextmanager
def _log(args: argparse.Namespace) -> Iterator[FeedbackLog]:
    place = config_of(args).store
    if not place.is_dir():
        raise SemXPathError(
            "there is no store", where=str(place), hint="run 'semxpath index' first"
        )
    with FeedbackLog(place / LOG) as log:
        yield log


def _done(args: argparse.Namespace, entry: FeedbackEntry) -> int:
    if args.json:
        print_json(entry.to_dict())
    else:
        rating = {1: "liked", -1: "disliked"}.get(entry.rating, "open")
        print(f"{entry.id}: {entry.verdict or rating}")
    return 0
