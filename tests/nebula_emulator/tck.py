"""Runs NebulaGraph's published cases (Gherkin features) against the emulator's statements.

A scenario passes when each of its steps does. One that uses a statement, clause or step that the
emulator does not know counts as *outside*, not as passed.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import NebulaError, NebulaSyntaxError
from .expressions import Cursor, parse_expression
from .statements import Session, Table, execute
from .storage import Space
from .values import EMPTY, Edge, Nothing, Vertex, is_number

_STEP = re.compile(r"^\s*(?:Given|When|Then|And|But)\s+(.*)$")
_OUTSIDE = ("the emulator", "Unknown function", "syntax error near")


class OutsideError(Exception):
    """Something that the emulator does not claim to know."""


@dataclass
class Step:
    """A step: its text, the text block and the table below it."""

    text: str
    block: str = ""
    table: list[list[str]] = field(default_factory=list)


@dataclass
class Scenario:
    """A scenario of a feature, the background's steps first."""

    feature: str
    name: str
    steps: list[Step]


@dataclass
class Outcome:
    """How a scenario ended: ``passed``, ``failed`` or ``outside``."""

    scenario: Scenario
    result: str
    detail: str = ""


def scenarios(path: Path) -> Iterator[Scenario]:
    """The scenarios of a feature file; outlines are left out."""
    background: list[Step] = []
    current: list[Step] | None = None
    name, is_outline = "", False
    lines = iter(path.read_text(encoding="utf-8").split("\n"))
    for line in lines:
        stripped = line.strip()
        if stripped.startswith(("Scenario", "Background")):
            if current is not None and name and not is_outline:
                yield Scenario(str(path), name, current)
            is_outline = stripped.startswith("Scenario Outline")
            name = stripped.partition(":")[2].strip() if stripped.startswith("Scenario") else ""
            current = list(background) if stripped.startswith("Scenario") else background
        elif stripped == '"""' and current:
            block = []
            for inner in lines:
                if inner.strip() == '"""':
                    break
                block.append(inner)
            current[-1].block = "\n".join(block)
        elif stripped.startswith("|") and current:
            current[-1].table.append(_cells(stripped))
        elif (match := _STEP.match(line)) and current is not None:
            current.append(Step(match.group(1).strip()))
    if current is not None and name and not is_outline:
        yield Scenario(str(path), name, current)


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


class Runner:
    """Runs scenarios; ``data`` is the folder with the published data sets."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self._nba: Space | None = None

    def run(self, scenario: Scenario) -> Outcome:
        """Runs one scenario on a session of its own."""
        self.session = Session({})
        self.parameters: dict[str, Any] = {}
        self.result: Table | NebulaError = Table()
        try:
            for step in scenario.steps:
                detail = self._step(step)
                if detail:
                    return Outcome(scenario, "failed", f"{step.text}: {detail}")
        except (OutsideError, NotImplementedError) as error:
            return Outcome(scenario, "outside", str(error))
        except Exception as error:  # a crash of the emulator is a failure, not an end of the run
            return Outcome(scenario, "failed", f"{type(error).__name__}: {error}")
        return Outcome(scenario, "passed")

    def _step(self, step: Step) -> str:
        text = step.text
        if text.startswith(("wait ", "clone", "drop the used space", "an empty graph")):
            return ""
        if re.search(r'"?nba(_int_vid)?"?', text) and ("space" in text or "csv data" in text):
            return self._load(int_vid="int_vid" in text)
        if text.startswith("create a space"):
            return self._space({row[0]: row[1] for row in step.table})
        if text.startswith("parameters:"):
            self.parameters = json.loads(text.partition(":")[2])
            return ""
        if text.startswith("having executed") or "query" in text.split(":")[0]:
            if text.startswith("profiling"):
                raise OutsideError("execution plans")
            self._execute(step.block)
            if text.startswith("having") and isinstance(self.result, NebulaError):
                return str(self.result)
            return ""
        return self._check(step)

    def _execute(self, text: str) -> None:
        self.session.parameters = self.parameters
        try:
            self.result = execute(self.session, text)
        except NebulaError as error:
            known = not isinstance(error, NebulaSyntaxError) or not any(
                word in str(error) for word in _OUTSIDE
            )
            self.result = error
            if not known:
                self.unknown = str(error)
                return
        self.unknown = ""

    def _check(self, step: Step) -> str:
        text = step.text
        wanted = re.match(r"an? (\w+) should be raised at (?:runtime|compile time)", text)
        if wanted:
            if isinstance(self.result, NebulaError):
                return self._check_error(wanted.group(1))
            return "no error was raised"
        if self.unknown:
            raise OutsideError(self.unknown)
        if isinstance(self.result, NebulaError):
            return str(self.result)
        if text.startswith("the execution should be successful"):
            return ""
        if text.startswith("the result should be"):
            if "hashed" in text:
                raise OutsideError("hashed columns")
            return _difference(self.result, step.table, ordered="in order" in text.split(",")[1])
        raise OutsideError(f"step: {text}")

    def _check_error(self, wanted: str) -> str:
        assert isinstance(self.result, NebulaError)
        found = type(self.result).__name__.removeprefix("Nebula")
        if found == wanted:
            return ""
        if self.unknown:
            raise OutsideError(self.unknown)
        return f"{found} instead of {wanted}: {self.result}"

    def _space(self, options: dict[str, str]) -> str:
        name = options.get("name", "space")
        vid_type = options.get("vid_type", "FIXED_STRING(32)")
        self._execute(f"CREATE SPACE `{name}`(vid_type={vid_type}); USE `{name}`")
        return str(self.result) if isinstance(self.result, NebulaError) else ""

    def _load(self, *, int_vid: bool) -> str:
        if int_vid:
            raise OutsideError("data with hashed integer ids")
        if self._nba is None:
            text = (self.data / "nba.ngql").read_text(encoding="utf-8")
            session = Session({"space": Space("space", "FIXED_STRING(32)")}, "space")
            execute(session, re.sub(r"(?m)^--.*$", "", text))
            self._nba = session.space
        self.session.spaces["space"] = copy.deepcopy(self._nba)
        self.session.current = "space"
        return ""


def _difference(found: Table, table: list[list[str]], *, ordered: bool) -> str:
    columns = [_unquoted(cell) for cell in table[0]] if table else []
    names = [_plain(name) for name in found.columns]
    if names != [_plain(name) for name in columns]:
        return f"columns {found.columns} instead of {columns}"
    wanted = [[_cell(cell) for cell in row] for row in table[1:]]
    rows = [[_comparable(value) for value in row] for row in found.rows]
    if not ordered:
        wanted, rows = sorted(wanted, key=repr), sorted(rows, key=repr)
    if len(rows) != len(wanted):
        return f"{len(rows)} rows instead of {len(wanted)}"
    for one, other in zip(rows, wanted, strict=True):
        if one != other:
            return f"{one} instead of {other}"
    return ""


def _unquoted(cell: str) -> str:
    return cell.replace("\\n", "\n")


def _plain(name: str) -> str:
    return re.sub(r"\s|\\", "", name).lower()


def _comparable(value: Any) -> Any:
    if isinstance(value, Vertex):
        tags = {tag: _comparable(props) for tag, props in value.tags.items()}
        return ("vertex", value.vid, sorted(tags.items()))
    if isinstance(value, Edge):
        ends = (value.dst, value.src) if value.reverse else (value.src, value.dst)
        return ("edge", value.name, *ends, value.rank, sorted(value.props.items(), key=repr))
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    if isinstance(value, dict):
        return {key: _comparable(item) for key, item in value.items()}
    return round(float(value), 6) if is_number(value) else value


def _cell(text: str) -> Any:
    """A value as the features write it."""
    for nothing in (EMPTY, Nothing("BAD_TYPE"), Nothing("UNKNOWN_PROP"), Nothing("ERR_OVERFLOW")):
        if text == nothing.name:
            return nothing
    if text.startswith("("):
        return _vertex(text)
    if text.startswith("[:"):
        return _edge(text)
    if text.startswith("<"):
        raise OutsideError("paths")
    try:
        cursor = Cursor(text)
        expression = parse_expression(cursor)
        if cursor.token.type != "end":
            raise OutsideError(f"cell {text}")
        return _comparable(expression.value({"$parameters": {}}))
    except NebulaError:
        raise OutsideError(f"cell {text}") from None


def _vertex(text: str) -> Any:
    cursor = Cursor(text)
    cursor.need("(")
    vid = cursor.next().value
    tags = {}
    while cursor.take(":"):
        name = cursor.name()
        props = parse_expression(cursor) if cursor.at("{") else None
        tags[name] = _comparable(props.value({"$parameters": {}})) if props else {}
    return ("vertex", vid, sorted(tags.items()))


def _edge(text: str) -> Any:
    cursor = Cursor(text)
    cursor.need("[")
    cursor.need(":")
    name = cursor.name()
    src = cursor.next().value
    cursor.need("->")
    dst = cursor.next().value
    rank = int(cursor.next().value) if cursor.take("@") else 0
    props = parse_expression(cursor).value({"$parameters": {}}) if cursor.at("{") else {}
    return ("edge", name, src, dst, rank, sorted(props.items(), key=repr))
