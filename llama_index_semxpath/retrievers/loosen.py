"""A query that gives nothing, made wider step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from llama_index_semxpath.xpath import ast, to_text

#: Threshold of the first step: what is merely near in meaning passes.
_NEAR = "0.2"
_MOST_STEPS = 4


def loosened(expr: ast.Expr) -> Iterator[tuple[ast.Expr, str]]:
    """Wider queries, each with what was given up, the least first.

    The threshold of graded conditions goes first, then conditions of the last step, the last
    written first; what is left never becomes a query for everything.

    Args:
        expr: A query that gives nothing.

    Example:
        >>> from llama_index_semxpath.xpath import parse
        >>> for wider, said in loosened(parse('//Task[@a = 1][. =~ "oil"]')):
        ...     print(to_text(wider), "|", said)
        threshold(0.2, //Task[@a = 1][. =~ "oil"]) | with the threshold at 0.2
        //Task[@a = 1] | without [. =~ "oil"]
    """
    if "=~" in to_text(expr):
        yield ast.Call("threshold", (ast.Num(float(_NEAR)), expr)), f"with the threshold at {_NEAR}"
    path = expr
    for _ in range(_MOST_STEPS):
        if not isinstance(path, ast.Path) or not path.steps or len(path.steps[-1].filters) < 2:
            return
        last = path.steps[-1]
        gone = to_text(ast.Path(None, steps=(replace(last, filters=last.filters[-1:]),)))
        path = replace(path, steps=(*path.steps[:-1], replace(last, filters=last.filters[:-1])))
        yield path, f"without {gone[gone.find('[') :]}"
