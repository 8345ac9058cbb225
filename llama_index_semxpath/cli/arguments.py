"""The command line's grammar. Imports nothing heavy: ``--help`` must answer at once."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from llama_index_semxpath.errors import SemXPathError

DEFAULT_STORE = "./.semxpath"

_EPILOG = """examples:
  semxpath index ./handbook
  semxpath query '//Section[title =~ "leave"]//Row'
  semxpath ask "第三章第五条"
  semxpath demo
"""


class UsageError(SemXPathError):
    """The command line does not follow its grammar."""


class _Parser(argparse.ArgumentParser):
    """Raises our own error, so that bad arguments end like every other bad input."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see '{self.prog} --help'")


def build_parser() -> argparse.ArgumentParser:
    """The parser of ``semxpath`` with all its commands.

    Example:
        >>> build_parser().parse_args(["query", "//Section", "--top-k", "3"]).top_k
        3
    """
    parser = _Parser(
        prog="semxpath",
        description="Documents as trees that can be asked by structure and by meaning.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    common = _common()
    _add_common(parser, suppress=False)
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", parser_class=_Parser
    )

    def command(name: str, run: str, about: str) -> _Parser:
        sub: _Parser = commands.add_parser(
            name, parents=[common], help=about, description=about[0].upper() + about[1:] + "."
        )
        sub.set_defaults(run=f"llama_index_semxpath.cli.{run}")
        return sub

    _writing(command)
    _reading(command)
    _feedback(command, common)
    _memory(command, common)
    return parser


def _writing(command: Any) -> None:
    parse = command("parse", "documents:parse", "show a document as a tree, without a store")
    parse.add_argument("file", metavar="FILE")
    parse.add_argument("--format", metavar="NAME", help="source format (default: by extension)")

    index = command("index", "documents:index", "add or refresh files and folders")
    index.add_argument("paths", nargs="+", metavar="PATH")
    index.add_argument(
        "--weight",
        type=_weight,
        metavar="N",
        help="authority of these sources, above 0 (default 1)",
    )
    index.add_argument(
        "--acl",
        nargs="+",
        action="extend",
        metavar="LABEL",
        help="labels of which a reader must hold one",
    )
    index.add_argument(
        "--meta",
        nargs="+",
        action="extend",
        type=pair,
        metavar="K=V",
        help="attributes of each document",
    )

    remove = command("remove", "documents:remove", "remove documents by id")
    remove.add_argument("documents", nargs="+", metavar="DOC")

    purge = command("purge", "documents:purge", "forget deleted and earlier versions for good")
    purge.add_argument("--before", metavar="WHEN", help="what ended before this date or revision")

    facts = command("facts", "facts:facts", "list and settle relations that the texts suggest")
    facts.add_argument("--status", choices=("proposed", "accepted", "rejected", "all"))
    facts.add_argument("--accept", nargs="+", action="extend", default=[], metavar="ID")
    facts.add_argument("--reject", nargs="+", action="extend", default=[], metavar="ID")
    facts.add_argument(
        "--accept-from",
        type=_confidence,
        metavar="C",
        help="accept every proposal of this confidence and up (0 to 1) that names a known node",
    )
    _add_principal(facts)

    check = command("check", "store:check", "compare the catalog with its vectors and graph")
    check.add_argument("--repair", action="store_true", help="mend what is found")

    migrate = command("migrate", "migrate:migrate", "copy a store to other back ends")
    for option, name, what in (("--from", "source", "copy"), ("--to", "target", "make")):
        migrate.add_argument(
            option,
            dest=name,
            required=True,
            metavar="STORE",
            help=f"the store to {what}: a directory, or a TOML file with its URLs",
        )

    command("demo", "demo:demo", "index the shipped corpus and show queries and answers")


def _reading(command: Any) -> None:
    query = command("query", "query:query", "run a SemXPath query")
    query.add_argument("query", metavar="QUERY")
    query.add_argument("--top-k", type=_count, metavar="N", help="at most N results (default: all)")
    query.add_argument(
        "--param", nargs="+", action="extend", type=pair, metavar="K=V", help="values of $names"
    )
    _add_principal(query)
    query.add_argument("--explain", action="store_true", help="also show the plan")
    query.add_argument("--trace", action="store_true", help="also show what each step kept")
    query.add_argument("--fail-empty", action="store_true", help="exit 1 when nothing is found")

    ask = command("ask", "ask:ask", "answer a question from the documents, with citations")
    ask.add_argument("question", metavar="QUESTION")
    ask.add_argument(
        "--llm", metavar="NAME", help="model of an OpenAI-compatible server, as NAME@URL"
    )
    _add_principal(ask)
    ask.add_argument("--effort", choices=("fast", "normal", "deep"), default="normal")
    ask.add_argument("--fail-empty", action="store_true", help="exit 1 when nothing is found")
    ask.add_argument(
        "--log", action="store_true", help="keep question and answer for 'semxpath feedback'"
    )

    measure = command("eval", "eval:evaluate", "measure retrieval on a dataset of questions")
    measure.add_argument(
        "dataset", metavar="DATASET", help="folder with queries.jsonl, or a .jsonl file"
    )
    measure.add_argument(
        "--mode",
        nargs="+",
        default=["tree", "semantic", "auto"],
        choices=("auto", "tree", "semantic", "structured", "graph"),
        help="what to measure; the last one is held against the others",
    )
    measure.add_argument(
        "--budget", nargs="+", type=_count, default=[1000, 2000], metavar="N", help="token budgets"
    )
    measure.add_argument("--split", metavar="NAME", help="only questions of this split")
    measure.add_argument("--html", metavar="FILE", help="write a report with plots")
    _add_principal(measure)

    explain = command("explain", "query:explain", "show how a query would run")
    explain.add_argument("query", metavar="QUERY")
    explain.add_argument(
        "--param", nargs="+", action="extend", type=pair, metavar="K=V", help="values of $names"
    )
    _add_principal(explain)

    _add_principal(command("schema", "store:schema", "show kinds, attributes and relations"))
    _add_principal(command("stats", "store:stats", "show what the store holds"))

    export = command("export", "documents:export", "write a document out again")
    export.add_argument("document", metavar="DOC")
    export.add_argument("--to", choices=("md", "html", "json"), default="md")
    _add_principal(export)

    show = command("show", "show:show", "write a page to look through the documents")
    show.add_argument("--html", required=True, metavar="FILE", help="the page to write")
    show.add_argument(
        "--document", nargs="+", action="extend", metavar="DOC", help="only these documents"
    )
    show.add_argument(
        "--query",
        nargs="+",
        action="extend",
        metavar="QUERY",
        help="queries to put into the page with results, plan and trace",
    )
    _add_principal(show)

    mcp = command("mcp", "mcp:mcp", "serve the store to agents over MCP, on stdin and stdout")
    mcp.add_argument(
        "--allow-writes", action="store_true", help="also let agents write and remove documents"
    )
    _add_principal(mcp)


def _feedback(command: Any, common: _Parser) -> None:
    feedback = command("feedback", "feedback:listing", "review logged answers (see ask --log)")
    feedback.set_defaults(all=False)
    actions = feedback.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser)

    def action(name: str, run: str, about: str) -> _Parser:
        sub: _Parser = actions.add_parser(name, parents=[common], help=about)
        sub.set_defaults(run=f"llama_index_semxpath.cli.feedback:{run}")
        return sub

    listing = action("list", "listing", "list probable bad cases")
    listing.add_argument("--all", action="store_true", help="list every logged answer")
    action("show", "show", "show one entry").add_argument("id", metavar="ID")
    rate = action("rate", "rate", "note whether the answer was liked")
    rate.add_argument("id", metavar="ID")
    rate.add_argument("rating", choices=("like", "dislike", "none"))
    rate.add_argument("--comment", default="", metavar="TEXT")
    label = action("label", "label", "note what a reviewer says")
    label.add_argument("id", metavar="ID")
    label.add_argument("verdict", choices=("good", "bad", "corrected", "ignore"))
    label.add_argument(
        "--expected", nargs="+", action="extend", metavar="NODE", help="ids of the right nodes"
    )
    label.add_argument("--query", metavar="QUERY", help="the query that is right")
    label.add_argument("--answer", metavar="TEXT", help="the answer that is right")
    label.add_argument("--note", metavar="TEXT")
    export = action("export", "export", "write reviewed entries as JSON Lines")
    export.add_argument("file", metavar="FILE")
    export.add_argument("--to", choices=("eval", "pairs"), default="eval")
    _add_principal(export)
    _add_principal(action("run", "run", "ask reviewed questions again; exit 1 if one is wrong"))
    remove = action("remove", "remove", "delete entries for good")
    remove.add_argument("ids", nargs="+", metavar="ID")


def _memory(command: Any, common: _Parser) -> None:
    memory = command("memory", "memory:show", "read and change what an agent remembers")
    memory.set_defaults(tree=None, at=None, principal=None)
    actions = memory.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser)

    def action(name: str, about: str, *, writes: bool = False) -> _Parser:
        sub: _Parser = actions.add_parser(name, parents=[common], help=about)
        sub.set_defaults(run=f"llama_index_semxpath.cli.memory:{name}")
        _add_principal(sub)
        if writes:
            sub.add_argument("--author", metavar="NAME", help="who makes the change")
            sub.add_argument("--reason", default="", metavar="TEXT", help="why it is made")
        return sub

    load = action("load", "write a tree from an XML, JSON or YAML file", writes=True)
    load.add_argument("file", metavar="FILE")
    load.add_argument("--id", metavar="NAME", help="name of the tree")
    load.add_argument("--acl", nargs="+", action="extend", metavar="LABEL", help="who may read it")
    show = action("show", "show the trees, or one of them")
    show.add_argument("tree", nargs="?", metavar="TREE")
    show.add_argument("--at", metavar="WHEN", help="a date, a time or the number of a revision")
    update = action("update", "run one update statement", writes=True)
    update.add_argument("statement", metavar="STATEMENT")
    update.add_argument(
        "--param", nargs="+", action="extend", type=pair, metavar="K=V", help="values of $names"
    )
    history = action("history", "list changes, or the versions of a node")
    history.add_argument("node", nargs="?", metavar="NODE", help="id or SemXPath of a node")
    history.add_argument("--limit", type=_count, metavar="N", help="at most N changes")
    diff = action("diff", "show what separates two versions")
    diff.add_argument("first", metavar="WHEN")
    diff.add_argument("second", nargs="?", metavar="WHEN", help="by default now")
    undo = action("undo", "take back a change", writes=True)
    undo.add_argument("revision", nargs="?", type=_count, metavar="REVISION")
    recall = action("recall", "show what is remembered on a question")
    recall.add_argument("question", metavar="QUESTION")
    recall.add_argument("--budget", type=_count, default=500, metavar="N", help="most tokens")


def _add_principal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as",
        nargs="+",
        action="extend",
        dest="principal",
        metavar="LABEL",
        help="read as one who holds these labels",
    )


def _common() -> _Parser:
    common = _Parser(add_help=False)
    _add_common(common, suppress=True)
    return common


def _add_common(parser: argparse.ArgumentParser, *, suppress: bool) -> None:
    """Options that may stand before or after the command; the later one wins."""
    group = parser.add_argument_group("every command")

    def default(value: object) -> object:
        return argparse.SUPPRESS if suppress else value

    group.add_argument(
        "--store", metavar="DIR", default=default(None), help=f"the store (default {DEFAULT_STORE})"
    )
    group.add_argument(
        "--config",
        metavar="FILE",
        default=default(None),
        help="URLs of catalog, Milvus and graph (TOML)",
    )
    group.add_argument(
        "--json", action="store_true", default=default(False), help="one JSON document on stdout"
    )
    group.add_argument(
        "-q", "--quiet", action="store_true", default=default(False), help="no progress, no remarks"
    )


def pair(text: str) -> tuple[str, str | int | float | bool]:
    """Reads ``name=value``; numbers and true/false are typed, quotes keep a value a string.

    Example:
        >>> pair("year=2024"), pair('code="007"'), pair("name=Wang Li")
        (('year', 2024), ('code', '007'), ('name', 'Wang Li'))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"expected name=value, got {text!r}")
    return name.strip(), _typed(value)


def _typed(value: str) -> str | int | float | bool:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    if value in ("true", "false"):
        return value == "true"
    number = value.removeprefix("-")
    if number.isascii() and number.isdigit() and (number == "0" or number[0] != "0"):
        return int(value) if len(number) <= 18 else value
    try:
        real = float(value) if number[:1].isdigit() and "." in number else None
    except ValueError:
        return value
    return value if real is None else real


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:12]) <= 1_000_000):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to 1000000, got {text!r}")
    return int(text)


def _confidence(text: str) -> float:
    try:
        confidence = float(text)
    except ValueError:
        confidence = -1.0
    if not 0.0 <= confidence <= 1.0:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 1, got {text!r}")
    return confidence


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0.0 < weight <= 1000.0:
        raise argparse.ArgumentTypeError(f"expected a number above 0, at most 1000, got {text!r}")
    return weight
