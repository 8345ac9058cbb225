"""Runs NebulaGraph's published cases (Gherkin features) against the emulator's statements.

A scenario passes when each of its steps does. One that uses a statement, clause or step that the
emulator does not know counts as *outside*, not as passed.
"""

from __future__ import annotations

import copy
import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from .cursor import Cursor
from .errors import NebulaError, NebulaSyntaxError
from .expressions import parse_expression
from .session import Session, Table
from .statements import execute
from .storage import Space
from .values import EMPTY, Edge, Nothing, Vertex, is_number

_STEP = re.compile(r"^\s*(?:Given|When|Then|And|But)\s+(.*)$")
_OUTSIDE = ("the emulator", "Unknown function", "syntax error near")
_NBA = re.compile(r"(?ms)^schema: \|\n(.*?)^files:")
_TABLES = ("null", "player", "bachelor", "team", "like", "serve", "teammate")


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
    skipped: bool = False


@dataclass
class Outcome:
    """How a scenario ended: ``passed``, ``failed`` or ``outside``."""

    scenario: Scenario
    result: str
    detail: str = ""


def scenarios(path: Path, *, outlines: bool = False) -> Iterator[Scenario]:
    """The scenarios of a feature file; outlines (with examples to fill in) only when asked."""
    background: list[Step] = []
    current: list[Step] | None = None
    name, is_outline, is_skipped = "", False, False
    following = False
    lines = iter(path.read_text(encoding="utf-8").split("\n"))
    for line in lines:
        stripped = line.strip()
        if stripped.startswith("@"):
            following = "@skip" in stripped.split()
        elif stripped.startswith(("Scenario", "Background")):
            if current is not None and name and not is_outline:
                yield Scenario(str(path), name, current, is_skipped)
            is_outline = stripped.startswith("Scenario Outline") and not outlines
            is_skipped = following
            following = False
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
        yield Scenario(str(path), name, current, is_skipped)


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


class Runner:
    """Runs scenarios; ``data`` is the folder with the published data sets."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self._nba: Space | None = None

    def run(self, scenario: Scenario) -> Outcome:
        """Runs one scenario on a session of its own."""
        if scenario.skipped:
            return Outcome(scenario, "outside", "NebulaGraph's own suite skips it")
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
                if self.unknown:
                    raise OutsideError(self.unknown)
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
            ordered = "in order" in text.split(",")[1]
            return _difference(self.result, step.table, ordered=ordered, relaxed="relax" in text)
        if text.startswith("the result should contain"):
            return _difference(self.result, step.table, ordered=False, relaxed=False, part=True)
        if text.startswith("the result should not contain"):
            held = [[_comparable(value) for value in row] for row in self.result.rows]
            kept = [row for row in step.table[1:] if [_cell(cell) for cell in row] in held]
            return f"{kept} in the result" if kept else ""
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
        self._execute(
            f"DROP SPACE IF EXISTS `{name}`; CREATE SPACE `{name}`(vid_type={vid_type}); USE `{name}`"
        )
        return str(self.result) if isinstance(self.result, NebulaError) else ""

    def _load(self, *, int_vid: bool) -> str:
        if int_vid:
            raise OutsideError("data with hashed integer ids")
        if self._nba is None:
            self._nba = _nba(self.data / "nba")
        self.session.spaces["nba"] = copy.deepcopy(self._nba)
        self.session.current = "nba"
        return ""


def _nba(folder: Path) -> Space:
    """The data set of basketball players."""
    space = Space("nba", "FIXED_STRING(32)")
    schema = _NBA.search((folder / "config.yaml").read_text(encoding="utf-8"))
    assert schema is not None
    execute(Session({"nba": space}, "nba"), schema.group(1))
    for name in _TABLES:
        with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        fields = [column.split(":")[0].split(".") for column in head]
        for row in rows:
            props: dict[str, dict[str, Any]] = {}
            for path, cell, column in zip(fields, row, head, strict=True):
                if len(path) == 2:
                    is_null = cell.lower() in ("null", "__null__")
                    number = column.endswith(":int")
                    value = None if is_null else int(cell) if number else cell
                    props.setdefault(path[0], {})[path[1]] = value
            for schema_name, given in props.items():
                if schema_name in space.tags:
                    tags = space.vertices.setdefault(row[0], {})
                    tags[schema_name] = space.tags[schema_name].row(list(given), [*given.values()])
                else:
                    rank = int(row[2]) if ":RANK" in head else 0
                    checked = space.edge_types[schema_name].row(list(given), [*given.values()])
                    space.add_edge(row[0], schema_name, rank, row[1], checked)
    return space


def _difference(
    found: Table, table: list[list[str]], *, ordered: bool, relaxed: bool, part: bool = False
) -> str:
    columns = [_unquoted(cell) for cell in table[0]] if table else []
    names = [_plain(name) for name in found.columns]
    if names != [_plain(name) for name in columns]:
        return f"columns {found.columns} instead of {columns}"
    wanted = [[_cell(cell) for cell in row] for row in table[1:]]
    rows = [[_comparable(value) for value in row] for row in found.rows]
    if len(rows) != len(wanted) and not part:
        return f"{len(rows)} rows instead of {len(wanted)}"
    for other in wanted:
        places = range(1) if ordered else range(len(rows))
        same = [i for i in places if all(map(partial(_same, relaxed), rows[i], other))]
        if not same:
            return f"no row {other} in {rows[:20]}"
        rows.pop(same[0])
    return ""


def _same(relaxed: bool, found: Any, wanted: Any) -> bool:
    """Equality; a relaxed one takes a vertex that is written with fewer tags or properties."""
    if isinstance(wanted, re.Pattern):
        number = isinstance(found, float) and found.is_integer()
        return bool(wanted.fullmatch(str(int(found) if number else found)))
    if not (relaxed and isinstance(wanted, tuple) and isinstance(found, tuple)):
        return bool(found == wanted)
    if wanted[0] != found[0] or wanted[1:-1] != found[1:-1]:
        return False
    if wanted[0] == "edge":
        return set(map(repr, wanted[-1])) <= set(map(repr, found[-1]))
    tags = dict(found[-1])
    return all(tag in tags and props.items() <= tags[tag].items() for tag, props in wanted[-1])


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
    if len(text) > 1 and text[0] == text[-1] == "/":
        return re.compile(text[1:-1])
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
