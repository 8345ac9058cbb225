"""Update statements: read, printed, checked. What they do is the business of the memory."""

from __future__ import annotations

import pytest

from llama_index_semxpath import errors
from llama_index_semxpath.schema import AttributeInfo, KindInfo, Schema
from llama_index_semxpath.xpath import ast, check_update, parse, parse_update, update_text

STATEMENTS = {
    "insert Task(@name = 'x') into //Project[1]": 'insert Task(@name = "x") into //Project[1]',
    "insert Task('text') before //a[. =~ 'x']": 'insert Task("text") before //a[. =~ "x"]',
    "insert Task(@a=1,@b=-2,$t,Note('n'),Sub(Sub())) after all //T": (
        'insert Task(@a = 1, @b = -2, $t, Note("n"), Sub(Sub())) after all //T'
    ),
    "insert $node into /": "insert $node into /",
    "insert `Sales Order`(@`unit price` = $p) into //x": (
        "insert `Sales Order`(@`unit price` = $p) into //x"
    ),
    "insert T(@due = today() + 7d) into //x": "insert T(@due = today() + 7d) into //x",
    "set //Task[@id = 't1']/@status = 'Done'": 'set //Task[@id = "t1"]/@status = "Done"',
    "set all //Task/@status = $s": "set all //Task/@status = $s",
    "set @a = 1": "set ./@a = 1",
    "set (//a)[1]/@b = -3": "set (//a)[1]/@b = -3",
    "set id('x')/@b = @c": 'set id("x")/@b = @c',
    "replace //a[1] with B('t')": 'replace //a[1] with B("t")',
    "replace all //a with $n": "replace all //a with $n",
    "delete //Task[@status = 'Done'][1]": 'delete //Task[@status = "Done"][1]',
    "delete all //Task": "delete all //Task",
    "delete all/x": "delete all /x",
    "delete all all": "delete all (all)",
    "delete `all`/x": "delete (all/x)",
    "delete (//a | //b)": "delete (//a | //b)",
    "move //a into //b": "move //a into //b",
    "move all //a[. =~ 'x'] after //b[1]": 'move all //a[. =~ "x"] after //b[1]',
}  # fmt: skip


@pytest.mark.parametrize("text", STATEMENTS)
def test_statement_prints_canonically(text: str) -> None:
    update = parse_update(text)
    assert update_text(update) == STATEMENTS[text]
    assert parse_update(STATEMENTS[text]) == update
    assert text[slice(*update.span)] == text


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("", "the query is empty", 0),
        ("//Task", "unexpected '//'", 0),
        ("drop //x", "unexpected name 'drop'", 0),
        ("delete", "unexpected end of the query", 6),
        ("delete 3", "a target is a path", 7),
        ("delete //a //", "unexpected end of the query", 13),
        ("delete //a x", "unexpected name 'x'", 11),
        ("delete //a | //b", "unexpected '|'", 11),
        ("set //a = 3", "set changes an attribute", 4),
        ("set /@a = 3", "the root has no attributes", 4),
        ("set //@* = 3", "set changes an attribute", 4),
        ("set //a/@b[1] = 3", "set changes an attribute", 4),
        ("set //a/@b == 3", "unexpected '=='", 11),
        ("set //a/@b", "unexpected end of the query", 10),
        ("insert Task into //x", "unexpected name 'Task'", 7),
        ("insert Task( into //x", "unexpected name 'into'", 13),
        ("insert T(1) into x", "unexpected number 1", 9),
        ("insert T('a', 'b') into x", "unexpected string 'b'", 14),
        ("insert T(S(), 'b') into x", "unexpected string 'b'", 14),
        ("insert T(@a=1,@a=2) into x", "attribute @a is given twice", 15),
        ("insert T(@*=1) into x", "unexpected '='", 10),
        ("insert T(@a = //x) into y", "an attribute's value is a string, number or parameter", 14),
        ("insert T() under //x", "unexpected name 'under'", 11),
        ("insert T() into", "unexpected end of the query", 15),
        ("replace //a by T()", "unexpected name 'by'", 12),
        ("move //a //b", "unexpected end of the query", 12),
        ("insert " + "T(" * 201, "the query is nested deeper than 200 levels", 408),
    ],
)
def test_bad_statement(text: str, message: str, offset: int) -> None:
    with pytest.raises(errors.SemXPathSyntaxError) as caught:
        parse_update(text)
    assert (caught.value.message, caught.value.offset) == (message, offset)


@pytest.mark.parametrize("text", STATEMENTS)
def test_no_query_is_ever_an_update(text: str) -> None:
    try:
        expr = parse(text)
    except errors.SemXPathSyntaxError:
        return
    assert not isinstance(expr, ast.Update)


SCHEMA = Schema(
    {"Task": KindInfo("Task", 3, {"status": AttributeInfo("status", "string", 3, 1.0)})}
)


def test_checked_update_resolves_bare_names() -> None:
    text = "delete all //Task[status = 'Done']"
    checked = check_update(parse_update(text), SCHEMA, text=text)
    assert update_text(checked) == 'delete all //Task[@status = "Done"]'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("delete //Tsk", errors.UnknownNameError),
        ("delete (1 | 2)", errors.QueryTypeError),
        ("delete count(//Task)", errors.QueryTypeError),
        ("delete $p", errors.ParameterError),
        ("set //Task/@status = $p", errors.ParameterError),
        ("insert Task(@status = $p) into /", errors.ParameterError),
        ("insert Task($p) into //Task", errors.ParameterError),
        ("move //Task into count(//Task)", errors.QueryTypeError),
        ("set //Task[@stats = 1]/@status = 'x'", errors.UnknownNameError),
    ],
)
def test_refused_update(text: str, error: type[errors.QueryError]) -> None:
    with pytest.raises(error) as caught:
        check_update(parse_update(text), SCHEMA, {}, text=text)
    assert caught.value.query == text


def test_a_new_node_may_have_a_new_kind_and_new_attributes() -> None:
    text = "insert Idea(@mood = 'good', Part()) into //Task[1]"
    assert update_text(check_update(parse_update(text), SCHEMA, {}, text=text)) == (
        'insert Idea(@mood = "good", Part()) into //Task[1]'
    )
