"""Queries parsed a minute, beside elementpath's XPath 1.0 parser on the queries both can read.

    python benchmarks/parsing.py [--seconds 2]

Single thread, CPU time. ``target`` is 100,000 typical queries a minute.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

from llama_index_semxpath.xpath import check, parse, rewrite, to_text

#: What people and models write: XPath 1.0 that both parsers read ...
XPATH = (
    "/Document/Section[2]/Paragraph",
    "//Section[@title='Annual leave']//Row",
    "//Task[@status='In Progress' or @status='Blocked']",
    "//*[@owner-team='ops']",
    "/Plan/Day[last()]/POI[1]",
    "//Section[position() <= 3 and not(Table)]",
    "count(//Row[@price > 100])",
    "//Section[contains(., 'install')]/following-sibling::Section[1]",
    "(//Table)[3]/Row[2]/ancestor::Section[1]/@title",
    "//Row[@a = 1]/../Row[string-length(@b) >= 4 * 2]",
)
#: ... and the graded, typed and relational part that only SemXPath has.
SEMXPATH = (
    '//Section[title =~ "leave"]//Row',
    '/Plan/Day[agg_max(/POI[node ~= "museum"])]/Restaurant[node ~= "dinner"]',
    '//Project[min(agg_max(/Task[@status = "In Progress"]), 1-(@status = "On Hold"))]',
    '/员工[姓名="李雷"]/所属部门',
    "//Contract[@due < today() - 90d]/rel::SIGNED_BY{1,3}/Person",
    'top(5, //Paragraph[. =~ "notice period" and bm25(., "termination")])',
)


def rate(run: Callable[[str], object], queries: tuple[str, ...], seconds: float) -> float:
    """Queries a minute of CPU time."""
    done, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
        for query in queries:
            run(query)
        done += len(queries)
    return done / spent * 60


def elementpath_parse() -> Callable[[str], object] | None:
    try:
        from elementpath import XPath1Parser
    except ImportError:
        return None
    return XPath1Parser().parse


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--seconds", type=float, default=2.0, help="CPU seconds a measurement")
    options.add_argument("--json", action="store_true")
    args = options.parse_args()

    def whole(query: str) -> object:
        return rewrite(check(parse(query), text=query).expr)

    figures = {
        "parse, typical queries": rate(parse, XPATH + SEMXPATH, args.seconds),
        "parse, XPath 1.0 only": rate(parse, XPATH, args.seconds),
        "parse + check + rewrite": rate(whole, XPATH + SEMXPATH, args.seconds),
        "parse + print": rate(lambda query: to_text(parse(query)), XPATH, args.seconds),
    }
    peer = elementpath_parse()
    if peer is not None:
        figures["elementpath parse, XPath 1.0 only"] = rate(peer, XPATH, args.seconds)
    if args.json:
        print(json.dumps({name: round(value) for name, value in figures.items()}))
        return
    for name, value in figures.items():
        print(f"{name:<36} {value:>12,.0f} queries/minute")
    if peer is None:
        print("elementpath is not installed: no comparison")
    else:
        ratio = figures["parse, XPath 1.0 only"] / figures["elementpath parse, XPath 1.0 only"]
        print(f"{'ratio to elementpath':<36} {ratio:>12.1f}")


if __name__ == "__main__":
    main()
