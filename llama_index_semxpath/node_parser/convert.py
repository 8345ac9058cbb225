"""Tree nodes to LlamaIndex nodes under the same ids, and back."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.paths import fit_path
from llama_index_semxpath.node_parser.pictures import Pictures
from llama_index_semxpath.node_parser.serialize import json_value, walk_places
from llama_index_semxpath.node_parser.tables import row_sentence
from llama_index_semxpath.node_parser.tokens import token_counter
from llama_index_semxpath.tree.node import TreeNode, Value

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode, RelatedNodeInfo

_KEYS = "kind doc path heading_path level xpath order tokens page span cells dates"
#: Metadata keys with a meaning of ours; an attribute of such a name is written ``@name``.
RESERVED = frozenset(_KEYS.split())
#: The one key of ours that is part of the embedded text.
HEADING_PATH = "heading_path"


def to_llama(
    nodes: Sequence[TreeNode],
    *,
    source: RelatedNodeInfo | None = None,
    metadata: Mapping[str, Any] | None = None,
    excluded: Iterable[str] = (),
    options: ParseOptions | None = None,
    include_root: bool = False,
    include_children: bool = True,
    include_siblings: bool = True,
    flat: bool = False,
    pictures: Pictures | None = None,
) -> list[BaseNode]:
    """LlamaIndex nodes of one document.

    ``get_content()`` is the node's own text (for a row "column: value; …", so that a reader of the
    row alone knows what its values are); ``get_content(MetadataMode.EMBED)`` has the heading path
    once before it.

    Args:
        nodes: The document in document order, its root first.
        source: The LlamaIndex document, for the SOURCE relation; by default one of the same id.
        metadata: Metadata of that document, copied to each node.
        excluded: Keys of ``metadata`` that are not embedded.
        options: What the nodes were parsed with: limits the embedded heading path.
        include_root: Whether the root is a node too; it then is the PARENT of top-level nodes.
        include_children: Whether to set CHILD. A store with a row limit cannot hold thousands.
        include_siblings: Whether to set PREVIOUS and NEXT (siblings).
        flat: Whether lists are written as JSON text, for stores that take scalars only.
        pictures: The document's pictures: an ``ImageNode`` then holds its own; else only where
            the picture is, unless the address holds it (``data:``).

    Returns:
        ``TextNode`` objects, ``ImageNode`` for figures, in document order.
    """
    from llama_index.core.schema import NodeRelationship, ObjectType, RelatedNodeInfo

    options = options or ParseOptions()
    count = token_counter(options)
    shared = dict(metadata or {})
    excluded_keys = [key for key in excluded if key in shared]
    root_id = nodes[0].id if nodes else ""
    if source is None:
        source = RelatedNodeInfo(node_id=root_id, node_type=ObjectType.DOCUMENT)
    kept = [place for place in walk_places(nodes) if include_root or place[0].parent is not None]
    related = {node.id: _related(node, RelatedNodeInfo, ObjectType) for node, _, _ in kept}
    children: dict[str, list[RelatedNodeInfo]] = {}
    heading_paths: dict[tuple[str, ...], str] = {}
    made: list[BaseNode] = []
    for node, path, xpath in kept:
        above = tuple(path[:-1] if node.kind == "Section" else path)
        heading_path = heading_paths.get(above)
        if heading_path is None:
            heading_path = heading_paths[above] = fit_path(above, options.max_tokens, count)[0]
        own = _metadata(node, path, heading_path, xpath, shared, flat)
        relationships: dict[NodeRelationship, Any] = {NodeRelationship.SOURCE: source}
        if node.parent is not None and node.parent in related:
            relationships[NodeRelationship.PARENT] = related[node.parent]
        if node.parent is not None:
            siblings = children.setdefault(node.parent, [])
            if include_siblings and siblings:
                relationships[NodeRelationship.PREVIOUS] = siblings[-1]
            siblings.append(related[node.id])
        made.append(
            _llama_node(node, {**shared, **own}, shared, excluded_keys, relationships, pictures)
        )
    if include_siblings:
        _link_next(made, NodeRelationship)
    if include_children:
        for llama in made:
            if llama.node_id in children:
                llama.relationships[NodeRelationship.CHILD] = children[llama.node_id]
    return made


def from_llama(llama_nodes: Sequence[BaseNode]) -> list[TreeNode]:
    """Tree nodes from what :func:`to_llama` made.

    Args:
        llama_nodes: Nodes of one or more documents, a parent before its children.

    Returns:
        Tree nodes under the same ids. A top-level node has its document's id as parent, whether
        or not the document itself is among the nodes.
    """
    return [_tree_node(llama) for llama in llama_nodes]


def _related(node: TreeNode, info: type[RelatedNodeInfo], types: Any) -> RelatedNodeInfo:
    kind = types.IMAGE if node.kind == "Figure" else types.TEXT
    return info.model_construct(node_id=node.id, node_type=kind, metadata={}, hash=None)


def _link_next(made: Sequence[BaseNode], relation: Any) -> None:
    by_id = {llama.node_id: llama for llama in made}
    for llama in made:
        before = llama.relationships.get(relation.PREVIOUS)
        if before is not None:
            by_id[before.node_id].relationships[relation.NEXT] = llama.as_related_node_info()  # type: ignore[union-attr]


def _metadata(
    node: TreeNode,
    path: list[str],
    heading_path: str,
    xpath: str,
    shared: Mapping[str, Any],
    flat: bool,
) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": node.kind, "doc": node.doc, "path": list(path)}
    if heading_path:
        found[HEADING_PATH] = heading_path
    if node.level is not None:
        found["level"] = node.level
    found["xpath"], found["order"], found["tokens"] = xpath, node.order, node.tokens
    if node.page is not None:
        found["page"] = node.page
    if node.kind == "Row":
        found["cells"] = node.text
    dates = []
    for key, value in node.attributes.items():
        name = f"@{key}" if key in RESERVED or key in shared or key[:1] == "@" else key
        found[name] = json_value(value)
        if isinstance(value, dt.date):
            dates.append(name)
    if dates:
        found["dates"] = dates
    if flat:
        for key, value in found.items():
            if isinstance(value, list):
                found[key] = json.dumps(value, ensure_ascii=False)
    return found


def _llama_node(
    node: TreeNode,
    metadata: dict[str, Any],
    shared: Mapping[str, Any],
    excluded: list[str],
    relationships: dict[Any, Any],
    pictures: Pictures | None,
) -> BaseNode:
    from llama_index.core.schema import ImageNode, TextNode

    embedded = [key for key in shared if key not in excluded]
    if node.kind == "Table":
        embedded.append("caption")
    hidden = [key for key in metadata if key != HEADING_PATH and key not in embedded]
    fields: dict[str, Any] = {
        "id_": node.id,
        "text": row_sentence(node.attributes) or node.text if node.kind == "Row" else node.text,
        "metadata": metadata,
        "excluded_embed_metadata_keys": hidden,
        "excluded_llm_metadata_keys": hidden,
        "relationships": relationships,
        "start_char_idx": node.span[0] if node.span else None,
        "end_char_idx": node.span[1] if node.span else None,
        # A path needs no name before it; metadata of the user's does.
        "metadata_template": "{key}: {value}"
        if len(embedded) > (node.kind == "Table")
        else "{value}",
    }
    if node.kind != "Figure":
        # Built without validation: every value is of its type by construction.
        return TextNode.model_construct(**fields)
    # A picture without words of its own is called by its caption.
    fields["text"] = node.text or str(node.attributes.get("caption", ""))
    return ImageNode(**fields, **_image(str(node.attributes.get("src", "")), pictures))


def _image(source: str, pictures: Pictures | None) -> dict[str, str]:
    """The picture, or where it is; nothing is fetched."""
    found = (pictures or Pictures(None)).get(source)
    if found is not None:
        return {"image": found.base64, "image_mimetype": found.mime}
    if "://" in source or source.startswith("data:"):
        return {"image_url": source}
    return {"image_path": source} if source else {}


def _tree_node(llama: BaseNode) -> TreeNode:
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

    metadata = {key: _unflatten(value) for key, value in llama.metadata.items()}
    source = llama.relationships.get(NodeRelationship.SOURCE)
    parent = llama.relationships.get(NodeRelationship.PARENT)
    doc = str(
        metadata.get("doc") or (source.node_id if isinstance(source, RelatedNodeInfo) else "")
    )
    shared = source.metadata if isinstance(source, RelatedNodeInfo) else {}
    dates = metadata.get("dates", [])
    attributes: dict[str, Value] = {}
    for key, value in metadata.items():
        if key in RESERVED or key in shared:
            continue
        name = key[1:] if key[:1] == "@" else key
        attributes[name] = _date(value) if key in dates else value
    text = llama.text if isinstance(llama, TextNode) else ""
    start = llama.start_char_idx if isinstance(llama, TextNode) else None
    end = llama.end_char_idx if isinstance(llama, TextNode) else None
    if isinstance(parent, RelatedNodeInfo):
        parent_id: str | None = parent.node_id
    else:
        parent_id = doc if llama.node_id != doc else None
    return TreeNode(
        llama.node_id,
        metadata.get("kind", "Paragraph"),
        doc,
        parent_id,
        metadata.get("cells", text),
        attributes,
        metadata.get("order", ""),
        metadata.get("level"),
        metadata.get("tokens", 0),
        metadata.get("page"),
        None if start is None or end is None else (start, end),
    )


def _unflatten(value: Any) -> Any:
    if isinstance(value, str) and value.startswith('["'):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _date(text: str) -> dt.date:
    return dt.datetime.fromisoformat(text) if "T" in text else dt.date.fromisoformat(text)
