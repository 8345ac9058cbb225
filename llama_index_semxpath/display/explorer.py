"""The explorer: one self-contained page with documents, queries, traces and relations."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from typing import Any

import numpy as np

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.index.match import QueryResult, json_value
from llama_index_semxpath.index.reader import Reader
from llama_index_semxpath.retrievers.evidence import Principal
from llama_index_semxpath.retrievers.readers import Library
from llama_index_semxpath.tree.columns import Rows
from llama_index_semxpath.tree.table import TreeTable

#: Most nodes in a page: a browser must stay quick.
MOST_NODES = 20_000
_MOST_RESULTS, _MOST_TRACED = 500, 40
_EXAMPLES = ("//Section", "//Table//Row", "count(//*)", "//Section[not(.//Paragraph)]")


def explorer_page(
    reader: Reader,
    *,
    documents: Sequence[str] | None = None,
    queries: Sequence[str] = (),
    principal: Principal = None,
) -> str:
    """A page to look through documents, offline and without a server.

    Its search box runs the structural half of SemXPath in the browser. What needs the model that
    made the store (``=~``) is run now: the page holds the results, scores, plans and traces of the
    ``queries``.

    Args:
        reader: The store.
        documents: Ids of the documents to show; all by default, up to 20,000 nodes.
        queries: Queries to put into the page with what they give.
        principal: Labels of whom the page is for; it holds nothing that they may not read.

    Returns:
        HTML. Texts of documents are data in it, never markup or script.

    Raises:
        UnknownDocumentError: A document that the principal may not read, or that is not there.
        QueryError: A query that is wrong.
    """
    table = Library(reader).table(principal)
    for id_ in documents or ():
        reader.document(id_, principal)
    rows, left_out = _rows(table, documents)
    place = {int(row): at for at, row in enumerate(rows)}
    ids = {table.ids[row]: at for row, at in place.items()}
    edges = _edges(table, place)
    data: dict[str, Any] = {
        "nodes": _nodes(table, rows, place),
        "edges": edges,
        "queries": [_query(reader, query, ids, principal) for query in dict.fromkeys(queries)],
        "examples": [one for one in _EXAMPLES if one not in queries],
    }
    shown = int(sum(table.kind_name(int(row)) == "Document" for row in rows))
    about = f"{len(rows):,} nodes, {len(edges):,} relations"
    if left_out:
        about += f" ({left_out:,} more nodes are not in this page)"
    return _page(f"{shown} document{'' if shown == 1 else 's'}", about, data)


def _rows(table: TreeTable, documents: Sequence[str] | None) -> tuple[Rows, int]:
    """Rows of whole documents up to the limit, then entities."""
    tops: Rows = np.flatnonzero(np.asarray(table.parent) == 0).astype(np.int32)
    wanted = set(documents) if documents else None
    kept: list[Rows] = []
    count = left = 0
    for top in tops.tolist():
        doc = int(table.doc[top])
        if wanted is not None and doc >= 0 and table.docs[doc] not in wanted:
            continue
        rows: Rows = np.arange(top, table.end[top], dtype=np.int32)
        room = MOST_NODES - count
        if len(rows) > room:
            left += len(rows) - room
            rows = rows[:room]
        count += len(rows)
        kept.append(rows)
    if not kept:
        raise SemXPathError("there is nothing to show", hint="index documents first, or use --as")
    return np.concatenate(kept), left


def _nodes(table: TreeTable, rows: Rows, place: dict[int, int]) -> list[dict[str, Any]]:
    nodes = []
    positions = _positions(table)
    for row, text in zip(rows.tolist(), table.texts(rows), strict=True):
        parent = int(table.parent[row])
        node = {
            "id": table.ids[row],
            "kind": table.kind_name(row),
            "parent": place.get(parent, -1),
            "text": text,
            "attributes": json_value(dict(table.attributes(row))),
        }
        if parent == 0:
            # Its place among all documents, not among those of the page.
            node["place"] = positions[row]
        nodes.append(node)
    return nodes


def _positions(table: TreeTable) -> dict[int, int]:
    """1-based place of each top-level row among those of its kind."""
    counts: dict[str, int] = {}
    found = {}
    for row in np.flatnonzero(np.asarray(table.parent) == 0).tolist():
        kind = table.kind_name(row)
        counts[kind] = counts.get(kind, 0) + 1
        found[row] = counts[kind]
    return found


def _edges(table: TreeTable, place: dict[int, int]) -> list[tuple[int, str, int]]:
    found = []
    for name in table.relations:
        sources, targets = table.relation_pairs(name)
        for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
            if source in place and target in place:
                found.append((place[source], name, place[target]))
    return found


def _query(reader: Reader, query: str, ids: dict[str, int], principal: Principal) -> dict[str, Any]:
    result: QueryResult = reader.query(query, principal=principal, trace=True)
    shown = [match for match in result if match.id in ids][:_MOST_RESULTS]
    graded = any(match.why or match.score < 1 for match in result)
    value = None if result.value is None else json_value(result.value)
    return {
        "query": query.strip(),
        "count": len(result),
        "value": None if value is None else _value_text(value),
        "results": [
            [ids[one.id], round(one.score, 4) if graded else None, _why(one.why)] for one in shown
        ],
        "plan": str(result.plan),
        "trace": [] if result.trace is None else [_step(s, ids) for s in result.trace.to_dict()],
    }


def _step(step: dict[str, Any], ids: dict[str, int]) -> dict[str, Any]:
    def entries(nodes: Iterable[dict[str, Any]]) -> list[list[Any]]:
        first = list(nodes)[:_MOST_TRACED]
        return [[ids.get(one["id"], -1), one["label"], one["score"]] for one in first]

    return {
        "text": step["text"],
        "threshold": step.get("threshold"),
        "kept_count": step["kept_count"],
        "dropped_count": step["dropped_count"],
        "kept": entries(step["kept"]),
        "dropped": entries(step["dropped"]),
    }


def _why(why: Any) -> str:
    return "; ".join(f"{name} {score:.2f}" for name, score in why.items())


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        rows = [
            f"{one.get('count', '')}  {one.get('key', '')}" if isinstance(one, dict) else str(one)
            for one in value
        ]
        return "\n".join(rows)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _page(title: str, about: str, data: dict[str, Any]) -> str:
    """Fills the template. The script's hash is its permit: no other script can run in the page."""
    folder = resources.files("llama_index_semxpath.display") / "page"
    script = "\n" + "\n".join(
        (folder / name).read_text("utf-8") for name in ("evaluate.js", "explorer.js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "title": escape(title),
        "about": escape(about),
        "css": (folder / "explorer.css").read_text("utf-8"),
        "hash": digest,
        "data": _json(data),
        "js": script,
    }
    page = (folder / "explorer.html").read_text("utf-8")
    # One pass, so that braces in texts are never taken for fields.
    pieces = []
    while page:
        before, brace, rest = page.partition("{")
        name, close, after = rest.partition("}")
        if brace and close and name in parts:
            pieces += [before, parts[name]]
            page = after
        else:
            pieces += [before, brace]
            page = rest
    return "".join(pieces)


def _json(data: dict[str, Any]) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text.encode("utf-8", "replace").decode()
