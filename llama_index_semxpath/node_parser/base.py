"""``SectionNodeParser``: the tree as LlamaIndex nodes, for any ingestion pipeline."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.callbacks import CallbackManager
from llama_index.core.node_parser import NodeParser
from llama_index.core.node_parser.node_utils import default_id_func
from llama_index.core.schema import BaseNode, Document, MetadataMode, ObjectType, RelatedNodeInfo
from llama_index.core.utils import get_tqdm_iterable

from llama_index_semxpath.node_parser.convert import to_llama
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.registry import (
    EXTENSIONS,
    MIME_TYPES,
    FrontEnd,
    parse_bytes,
)
from llama_index_semxpath.node_parser.tokens import token_counter

_HTML = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_HTML_PART = re.compile(
    r"\s*<(?:h[1-6]|div|p|main|article|section|table|ul|ol|header)\b[^>]*>", re.I
)
_MARKDOWN = re.compile(
    r"^ {0,3}(?:#{1,6}[ \t]|[-*+][ \t]+\S|`{3,}|~{3,}|>[ \t]|\|.*\|[ \t]*$)"
    r"|^[^\n]+\n(?:={3,}|-{3,})[ \t]*$"
    r"|\]\([^)\n]+\)|\*\*[^*\n]+\*\*",
    re.M,
)
_LEAST_TOKENS = 16


class SectionNodeParser(NodeParser):
    """Turns documents into trees of sections, paragraphs, lists, tables and code.

    Every node has a deterministic id (the same document id and content give the same id on every
    machine), its heading path, level and canonical path as metadata, and right PARENT, CHILD,
    PREVIOUS, NEXT and SOURCE relations. Nodes come in document order; the document itself is
    their SOURCE and no node. The embedded text has the heading path once, the stored text not.

    Example:
        >>> from llama_index.core import Document
        >>> parser = SectionNodeParser.from_defaults(max_tokens=256)
        >>> nodes = parser.get_nodes_from_documents([Document(text="# Oil\\n\\nTwo litres.")])
        >>> nodes[1].get_content(), nodes[1].metadata["path"], nodes[1].metadata["xpath"]
        ('Two litres.', ['Oil'], '/Document[1]/Section[1]/Paragraph[1]')
    """

    max_tokens: int = Field(
        default=512,
        description="Most tokens of a node with its embedded metadata.",
        ge=_LEAST_TOKENS,
    )
    language: str | None = Field(default=None, description="ISO 639-1 code of the documents.")
    format: str | None = Field(
        default=None,
        description="Format of every document; by default told from its metadata and text.",
    )
    tokenizer: Callable[[str], Sequence[Any]] | None = Field(
        default=None,
        description="Splits a text into tokens; cl100k_base by default.",
        exclude=True,
    )
    include_child_rel: bool = Field(
        default=True, description="Include CHILD relations; some stores cannot hold long lists."
    )
    flat_metadata: bool = Field(
        default=False,
        description="Write lists in metadata as JSON text, for stores that take scalars only.",
    )

    id_func: Callable[..., str] = Field(
        default=default_id_func,
        description="Not used: ids follow from document, place and content.",
        exclude=True,
    )

    @classmethod
    def from_defaults(
        cls,
        max_tokens: int = 512,
        language: str | None = None,
        format: str | None = None,  # noqa: A002
        tokenizer: Callable[[str], Sequence[Any]] | None = None,
        include_metadata: bool = True,
        include_prev_next_rel: bool = True,
        include_child_rel: bool = True,
        flat_metadata: bool = False,
        callback_manager: CallbackManager | None = None,
    ) -> SectionNodeParser:
        """A parser; see the fields for what the arguments mean."""
        return cls(
            max_tokens=max_tokens,
            language=language,
            format=format,
            tokenizer=tokenizer,
            include_metadata=include_metadata,
            include_prev_next_rel=include_prev_next_rel,
            include_child_rel=include_child_rel,
            flat_metadata=flat_metadata,
            callback_manager=callback_manager or CallbackManager([]),
        )

    @classmethod
    def class_name(cls) -> str:
        """Name under which LlamaIndex serialises the parser."""
        return "SectionNodeParser"

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        made: list[BaseNode] = []
        for node in get_tqdm_iterable(nodes, show_progress, "Parsing nodes"):
            made.extend(self._parse_node(node))
        return made

    async def _aparse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        # Parsing is CPU work: the event loop stays free meanwhile.
        return await asyncio.to_thread(self._parse_nodes, nodes, show_progress, **kwargs)

    def _postprocess_parsed_nodes(
        self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]
    ) -> list[BaseNode]:
        """The nodes as they are: the base class would overwrite offsets and siblings."""
        return nodes

    def _parse_node(self, node: BaseNode) -> list[BaseNode]:
        text = node.get_content(metadata_mode=MetadataMode.NONE)
        if not text.strip():
            return []
        options = ParseOptions(self.max_tokens, self.language, self.tokenizer)
        shared, excluded, reserved = self._shared_metadata(node, options)
        options = ParseOptions(
            max(_LEAST_TOKENS, self.max_tokens - reserved), self.language, self.tokenizer
        )
        name = str(node.metadata.get("file_name") or node.metadata.get("file_path") or node.node_id)
        form = self.format or format_of(text, node.metadata)
        tree = parse_bytes(text, name, form, doc_id=node.node_id, options=options)
        return to_llama(
            tree,
            source=node.source_node or _as_source(node),
            metadata=shared,
            excluded=excluded,
            options=options,
            include_children=self.include_child_rel,
            include_siblings=self.include_prev_next_rel,
            flat=self.flat_metadata,
        )

    def _shared_metadata(
        self, node: BaseNode, options: ParseOptions
    ) -> tuple[dict[str, Any], list[str], int]:
        """The document's metadata, the keys that are not embedded, and the tokens of the rest."""
        if not self.include_metadata:
            return {}, [], 0
        count = token_counter(options)
        reserved = count(node.get_metadata_str(mode=MetadataMode.EMBED))
        if reserved > self.max_tokens // 2:
            # Metadata that leaves no room for text is kept, but not embedded.
            return dict(node.metadata), list(node.metadata), 0
        seam = 8 if reserved else 0
        return dict(node.metadata), list(node.excluded_embed_metadata_keys), reserved + seam


def format_of(text: str, metadata: dict[str, Any]) -> str:
    """Name of the format of a document's text, by its metadata, else by how it looks.

    A reader has already turned binary files into text, so only text formats are told.

    Args:
        text: The document's text.
        metadata: LlamaIndex metadata: ``file_type`` (a media type), ``file_name``, ``file_path``.

    Example:
        >>> format_of("a", {"file_name": "x.md"}), format_of("<p>a</p>", {}), format_of("a", {})
        ('markdown', 'html', 'text')
    """
    found: FrontEnd | None = None
    for key in ("file_name", "file_path", "source"):
        found = found or EXTENSIONS.get(PurePath(str(metadata.get(key) or "")).suffix.lower())
    found = found or MIME_TYPES.get(str(metadata.get("file_type") or "").partition(";")[0])
    if found is not None and not found.binary:
        return found.name
    if _HTML.match(text) or (_HTML_PART.match(text) and "</" in text):
        return "html"
    return "markdown" if _MARKDOWN.search(text) else "text"


def _as_source(node: BaseNode) -> RelatedNodeInfo:
    return RelatedNodeInfo(
        node_id=node.node_id,
        node_type=ObjectType.DOCUMENT,
        metadata=node.metadata,
        hash=node.hash,
    )
