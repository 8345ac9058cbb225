"""LlamaIndex nodes as sources of an answer, grouped by the section they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.schema import MetadataMode, NodeWithScore

from llama_index_semxpath.query_engine.layout import Source
from llama_index_semxpath.query_engine.relations import split_relations

_SEPARATOR = " | "


def sources_of_nodes(nodes: Sequence[NodeWithScore]) -> tuple[list[Source], list[list[str]]]:
    """Sources and, for each, the ids of its nodes.

    Nodes of our retrievers carry document, path, kind and order; nodes of others stand for
    themselves, under their document's name.

    Args:
        nodes: Best first.
    """
    sources: dict[tuple[str, ...], Source] = {}
    ids: dict[tuple[str, ...], list[str]] = {}
    for at, one in enumerate(nodes):
        metadata = one.node.metadata
        path = tuple(str(title) for title in metadata.get("path") or ())
        document = str(metadata.get("document") or _document(one))
        ours = "order" in metadata and "kind" in metadata
        key = (document, *path) if ours else (document, *path, f"#{at}")
        order = str(metadata.get("order", ""))
        source = sources.setdefault(key, Source(document, path, order))
        source.order = min(source.order, order)
        source.score = max(source.score, float(one.score or 0.0))
        ids.setdefault(key, []).append(one.node.node_id)
        _add(source, one, metadata)
    return list(sources.values()), list(ids.values())


def _add(source: Source, one: NodeWithScore, metadata: dict[str, Any]) -> None:
    text = one.node.get_content(metadata_mode=MetadataMode.NONE).strip()
    why = metadata.get("why")
    if isinstance(why, dict) and "graph" in why:
        facts, text = split_relations(text)
        source.facts.extend(facts)
    columns = metadata.get("columns")
    if metadata.get("kind") == "Row":
        cells = tuple(part.strip() for part in text.split(_SEPARATOR))
        names = tuple(str(name) for name in columns) if isinstance(columns, list) else ()
        source.add_row(names if len(names) == len(cells) else (), cells)
    elif metadata.get("kind") == "Code":
        source.texts.append(f"```\n{text}\n```")
    elif text:
        source.texts.append(text)


def _document(one: NodeWithScore) -> str:
    metadata = one.node.metadata
    named = metadata.get("file_name") or metadata.get("file_path") or metadata.get("title")
    return str(named or one.node.ref_doc_id or "")
