"""What an agent can do with a store: search, query, read, look at the schema. Read-only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.index.match import Match, json_value
from llama_index_semxpath.node_parser import export
from llama_index_semxpath.query_engine.pipeline import Pipeline
from llama_index_semxpath.retrievers.evidence import Principal
from llama_index_semxpath.retrievers.search import Outcome, Search
from llama_index_semxpath.tree.node import TreeNode

#: Most characters of one node's text in a list, of one reading, and most results of a call.
_TEXT, _READING, _RESULTS = 600, 20_000, 50


class Toolbox:
    """Tools over one store for one principal, who cannot be changed by a call.

    Every answer is a dictionary of JSON values, short enough for a model's context; bad input is a
    :class:`SemXPathError` that says what to do.

    Args:
        source: A ``SemXPathIndex`` or a ``Reader``.
        principal: Labels of who asks; ``None`` holds none.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from llama_index_semxpath.index import SemXPathIndex, StoreConfig
        >>> from llama_index.core import Document
        >>> folder = tempfile.TemporaryDirectory()
        >>> document = Document(text="# Leave\\n\\nTen days.", doc_id="leave.md")
        >>> config = StoreConfig(Path(folder.name), milvus_uri="", graph="none")
        >>> index = SemXPathIndex.from_documents([document], store=config)
        >>> Toolbox(index).read("/Document[1]/Section[1]")["text"]
        '# Leave\\n\\nTen days.\\n'
        >>> index.close(); folder.cleanup()
    """

    def __init__(self, source: Any, principal: Principal = None) -> None:
        self._reader = getattr(source, "reader", source)
        self._principal = principal
        self._pipeline = Pipeline(self._reader)

    @property
    def tools(self) -> dict[str, Callable[..., dict[str, Any]]]:
        """The tools by name."""
        return {
            "search": self.search,
            "query": self.query,
            "ask": self.ask,
            "read": self.read,
            "schema": self.schema,
            "explain": self.explain,
        }

    def search(self, question: str, limit: int = 8) -> dict[str, Any]:
        """Find passages for a question in plain words, in any language.

        Each result names its document, heading path, xpath and score; pass an xpath to read.
        """
        search: Search = self._pipeline.search
        found: Outcome = search.run(
            question, limit=_bounded(limit, _RESULTS), principal=self._principal
        )
        results = [
            _short(one.match, one.score, self._gist(one.match, one.text))
            for one in found.evidence[: _bounded(limit, _RESULTS)]
        ]
        return {"results": results, "query": found.query, "notes": list(found.notes)}

    def query(self, query: str, limit: int = 20) -> dict[str, Any]:
        """Run a SemXPath query, exactly as written.

        For instance //Section[@title =~ "leave"]//Row or count(//Table). Call schema first to see
        which kinds and attributes there are.
        """
        limit = _bounded(limit, _RESULTS)
        found = self._reader.query(query, top_k=limit + 1, principal=self._principal)
        matches = list(found)[:limit]
        results = [_short(one, one.score, self._gist(one, one.text)) for one in matches]
        answer: dict[str, Any] = {"results": results}
        answer["more"] = len(found) > limit
        if found.value is not None:
            answer["value"] = json_value(found.value)
        return answer

    def ask(self, question: str) -> dict[str, Any]:
        """Answer a question in the documents' own words, with citations.

        found is false when the documents hold no answer; confidence is between 0 and 1.
        """
        answer = self._pipeline.ask(question, principal=self._principal)
        cited = [
            {key: one[key] for key in ("number", "document", "path", "xpath", "page")}
            for one in answer.citations
        ]
        return {
            "answer": answer.text,
            "found": answer.found,
            "confidence": answer.confidence,
            "citations": cited,
        }

    def read(self, place: str, start: int = 0, characters: int = 8000) -> dict[str, Any]:
        """Read a place with all that stands below it, as Markdown.

        place is an xpath such as /Document[1]/Section[2], a node id or a document id. A long text
        comes in parts: next is where to go on, null at the end.
        """
        nodes = self._subtree(place)
        first = nodes[0]
        text = _markdown(nodes)
        begin = max(0, start)
        end = min(begin + _bounded(characters, _READING), len(text))
        return {
            "id": first.id,
            "document": first.document,
            "path": list(first.path),
            "xpath": first.xpath,
            "kind": first.kind,
            "text": text[begin:end],
            "next": end if end < len(text) else None,
        }

    def schema(self) -> dict[str, Any]:
        """Show the query language in brief, and the kinds, attributes and relations there are."""
        schema = self._reader.schema(self._principal)
        documents = [
            {"id": one.id, "title": self._title(one.id)}
            for one in self._reader.documents(self._principal)[:100]
        ]
        return {"guide": schema.to_prompt(), "documents": documents}

    def explain(self, query: str) -> dict[str, Any]:
        """Show how a SemXPath query runs: steps, engines, counts and times."""
        plan = self._reader.explain(query, principal=self._principal)
        return {"plan": str(plan)}

    def _title(self, id_: str) -> str | None:
        found = self._reader.node(id_, self._principal)
        return None if found is None else found.title

    def _gist(self, match: Match, text: str) -> str:
        """What was found, or how a place begins: a heading alone tells a model too little."""
        if match.kind not in ("Section", "Document", "List", "Quote"):
            return text
        lines: list[str] = []
        for node in self._reader.subtree(match.id, self._principal):
            lines.append(node.text)
            if sum(map(len, lines)) > _TEXT:
                break
        return "\n".join(line for line in lines if line)

    def _subtree(self, place: str) -> list[Match]:
        place = place.strip()
        if place.startswith("/"):
            found = list(self._reader.query(place, top_k=2, principal=self._principal))
            if len(found) > 1:
                raise SemXPathError(
                    "the path leads to more than one place",
                    where=place,
                    hint="run it as a query and read one of the results",
                )
            ids = [one.id for one in found]
        else:
            ids = [place]
        nodes: list[Match] = []
        for id_ in ids:
            nodes = self._reader.subtree(id_, self._principal)
        if not nodes:
            raise SemXPathError(
                "there is no such place",
                where=place[:200],
                hint="search or query first, and pass on an xpath or id of a result",
            )
        return nodes


def _markdown(nodes: list[Match]) -> str:
    """A subtree as Markdown; kinds that are no blocks of a text as their values."""
    first = nodes[0].node
    if first.kind == "Document":
        # Front matter is what schema and query are for.
        first = replace(first, attributes={"title": first.title or ""})
        return export([first, *(match.node for match in nodes[1:])], "md")
    if first.kind in ("Section", "Table", "List", "Quote"):
        root = TreeNode("document", "Document", first.doc, level=0)
        inside = [replace(first, parent=root.id), *(match.node for match in nodes[1:])]
        return export([root, *inside], "md")
    return "\n".join(match.text or _values(match) for match in nodes) + "\n"


def _short(match: Match, score: float, text: str) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": match.id,
        "kind": match.kind,
        "document": match.document,
        "path": list(match.path),
        "xpath": match.xpath,
        "score": round(score, 4),
        "text": text if len(text) <= _TEXT else text[:_TEXT] + " …",
    }
    if match.kind == "Row" or not text:
        shown["attributes"] = json_value(dict(match.attributes))
    if match.node.page is not None:
        shown["page"] = match.node.page
    return shown


def _values(match: Match) -> str:
    return "; ".join(f"{name}: {value}" for name, value in match.attributes.items())


def _bounded(value: int, most: int) -> int:
    return max(1, min(value, most))
