"""What can be measured: the routes of a store, and any LlamaIndex retriever."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.evaluation.measure import Context
from llama_index_semxpath.evaluation.run import Pipeline
from llama_index_semxpath.retrievers.evidence import Evidence, Principal
from llama_index_semxpath.retrievers.packs import count_tokens
from llama_index_semxpath.retrievers.search import Search

if TYPE_CHECKING:
    from llama_index.core.base.base_retriever import BaseRetriever

MODES = ("auto", "tree", "semantic", "structured", "graph")
#: Evidence that is asked for; the budget cuts it.
_DEPTH = 120

#: Says under which id a dataset knows a document.
Naming = Callable[[str], str]


def of_store(
    source: Any,
    mode: str = "auto",
    *,
    most: int = 2100,
    principal: Principal = None,
    texts: Mapping[str, str] | None = None,
    naming: Naming | None = None,
) -> Pipeline:
    """A route of a store, or all of them together, as a pipeline.

    Args:
        source: A ``Reader``, or an index that has one.
        mode: ``auto`` or the name of one route.
        most: Tokens from which no further evidence is returned.
        principal: Labels of who asks.
        texts: Sources of the documents: whole nodes are returned as they stand there.
        naming: Says under which id the dataset knows a document.

    Raises:
        SemXPathError: No such mode.
    """
    if mode not in MODES:
        raise SemXPathError("unknown mode", where=mode, hint=f"use one of {', '.join(MODES)}")
    search = Search(source)
    name = naming or (lambda document: document)

    def find(question: str) -> Sequence[Evidence]:
        if mode == "auto":
            return search.run(question, limit=_DEPTH, principal=principal).evidence
        return search.routes[mode].find(question, limit=_DEPTH, principal=principal).evidence

    def run(question: str) -> list[Context]:
        contexts: list[Context] = []
        spent = 0
        for one in find(question):
            document = name(one.match.document)
            text = _source(search, one, (texts or {}).get(document), principal)
            title = one.match.path[-1] if one.match.path else None
            contexts.append(Context(document, text, title))
            spent += count_tokens(text)
            if spent > most:
                break
        return contexts

    return run


def of_retriever(retriever: BaseRetriever, naming: Naming | None = None) -> Pipeline:
    """Any LlamaIndex retriever as a pipeline; a node's document is that of its source.

    Args:
        retriever: The retriever.
        naming: Says under which id the dataset knows a document.
    """
    name = naming or (lambda document: document)

    def run(question: str) -> list[Context]:
        found = []
        for hit in retriever.retrieve(question):
            document = str(hit.node.metadata.get("document") or hit.node.ref_doc_id or "")
            path = hit.node.metadata.get("path")
            title = str(path[-1]) if isinstance(path, list) and path else None
            found.append(Context(name(document), hit.node.get_content(), title))
        return found

    return run


def _source(search: Search, one: Evidence, text: str | None, principal: Principal) -> str:
    """A piece of evidence as it stands in its document; a whole node with all that it holds."""
    if one.end is not None:
        return one.text
    inside = search.library.source.subtree(one.match.id, principal)
    spans = [node.node.span for node in inside if node.node.span]
    if text is not None and spans:
        return text[min(start for start, _ in spans) : max(end for _, end in spans)]
    return "\n".join(node.text for node in inside if node.text) or one.text
