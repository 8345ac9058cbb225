"""What is hidden does not exist: random stores beside twins that hold the visible part alone.

The twin has no labels at all, so it knows nothing of access; whatever a principal is told by the
whole store must be what everybody is told by the twin, down to the last digit of a score. Where
visible nodes stand below hidden ones there is no such twin; there, nothing hidden may be named.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from store_fixtures import HashEmbedder, catalog_only

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.index.access import effective_labels
from llama_index_semxpath.index.base import SemXPathIndex
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.prepare import prepare_nodes
from llama_index_semxpath.index.rows import EntitySource
from llama_index_semxpath.index.writing import TreeSource
from llama_index_semxpath.tree.edges import Edge
from llama_index_semxpath.tree.node import TreeNode

LABELS = ("staff", "board", "audit")
PRINCIPALS = ((), ("staff",), ("board",), ("staff", "audit"), LABELS)
WORDS = "leave plan salary budget team red blue 年假 合同 ten days report".split()  # noqa: SIM905
KINDS = ("Section", "Paragraph", "List", "Memo")
MODES = ("auto", "structured", "tree", "graph", "semantic")
#: Names that only hidden nodes may carry are made of this and the node's number.
SECRET = re.compile(r"zq\d+x")


class RandomStore:
    """Documents, entities and relations, with labels; every node says its own secret."""

    def __init__(self, seed: int, *, narrowing: bool) -> None:
        self.choice = random.Random(seed)
        self.narrowing = narrowing
        self.count = 0
        self.trees = [self._tree(f"doc{d}") for d in range(self.choice.randrange(2, 5))]
        self.nodes = {node.id: node for tree in self.trees for node in tree}
        self.labels: dict[str, frozenset[str] | None] = {}
        for tree in self.trees:
            ids = (node.id for node in tree)
            self.labels.update(zip(ids, effective_labels(tree), strict=True))
        speaking = [tree for tree in self.trees if self.choice.random() < 0.7]
        self.entities = [
            EntitySource(f"e{e}", tree[0].id, "Topic", f"topic {e}", {f"p{t}": self._secret()})
            for e in range(3)
            for t, tree in enumerate(speaking)
        ]
        self.secrets = {
            source.properties[next(iter(source.properties))]: source for source in self.entities
        }
        self.edges = [edge for tree in self.trees for edge in self._edges(tree)]
        # A node's own vector holds text of children that all its readers may read; a twin's would
        # hold what this one reader may. So both are given the same; the rule has its own test.
        texts = [f"{n.kind} {n.text} {n.attributes['n']}" for n in self.nodes.values()]
        made = HashEmbedder().embed_texts(texts)
        # No two are equally near to a question: ties would be broken by the last digit.
        made = made + np.random.default_rng(seed).normal(scale=0.05, size=made.shape)
        self.vectors = dict(zip(self.nodes, made.astype(np.float32), strict=True))

    def _secret(self) -> str:
        self.count += 1
        return f"zq{self.count}x"

    def _tree(self, doc: str) -> list[TreeNode]:
        choice = self.choice
        nodes = [self._node(doc, doc, "Document", None)]
        for _ in range(choice.randrange(3, 14)):
            parent = choice.choice(nodes[-4:])
            nodes.append(self._node(f"n{self.count}", doc, choice.choice(KINDS), parent))
        # Pre-order: children follow their parents.
        order: list[TreeNode] = []

        def walk(node: TreeNode) -> None:
            order.append(node)
            for child in nodes:
                if child.parent == node.id:
                    walk(child)

        walk(nodes[0])
        return order

    def _node(self, id_: str, doc: str, kind: str, above: TreeNode | None) -> TreeNode:
        choice, secret = self.choice, self._secret()
        labels = None
        if above is None:
            labels = frozenset(choice.sample(LABELS, choice.randrange(1, 4)))
        elif choice.random() < 0.35:
            pool = sorted(self._force[above.id]) if self.narrowing else LABELS
            labels = frozenset(choice.sample(pool, choice.randrange(len(pool) + 1)))
        text = " ".join([*choice.choices(WORDS, k=choice.randrange(2, 12)), secret])
        attributes: dict[str, Any] = {"n": choice.randrange(5), secret: secret}
        if kind in ("Section", "Document"):
            attributes["title"] = text
        node = TreeNode(
            id_, kind, doc, None if above is None else above.id,
            "" if kind == "Document" else text, attributes, labels=labels, tokens=len(text) // 4,
        )  # fmt: skip
        self._force = getattr(self, "_force", {})
        self._force[id_] = labels if labels is not None else self._force[above.id]
        return node

    def _edges(self, tree: list[TreeNode]) -> Iterator[tuple[str, Edge]]:
        choice, doc = self.choice, tree[0].id
        mine = sorted({source.entity for source in self.entities if source.doc == doc})
        for _ in range(choice.randrange(6)):
            source = choice.choice(tree).id
            name = choice.choice(("MENTIONS", "CITES"))
            target = choice.choice(mine) if mine and name == "MENTIONS" else None
            other = choice.choice(list(self.nodes))
            yield doc, Edge(source, name, target or other)
        if len(mine) > 1:
            yield doc, Edge(mine[0], "RELATED", mine[1])

    def sees(self, who: tuple[str, ...], id_: str) -> bool:
        labels = self.labels[id_]
        return labels is not None and bool(labels & set(who))

    def hidden_secrets(self, who: tuple[str, ...]) -> set[str]:
        """What nobody with these labels may come to know."""
        hidden = {
            secret
            for node in self.nodes.values()
            if not self.sees(who, node.id)
            for secret in SECRET.findall(f"{node.text} {node.attributes}")
        }
        whole = self.whole_documents(who)
        return hidden | {s for s, source in self.secrets.items() if source.doc not in whole}

    def whole_documents(self, who: tuple[str, ...]) -> set[str]:
        return {t[0].id for t in self.trees if all(self.sees(who, n.id) for n in t)}

    def write(self, index: SemXPathIndex, who: tuple[str, ...] | None = None) -> None:
        """Everything; or, for a principal, the visible part without labels."""
        for tree in self.trees:
            nodes = [
                TreeNode(
                    n.id,
                    n.kind,
                    n.doc,
                    n.parent,
                    n.text,
                    dict(n.attributes),
                    tokens=n.tokens,
                    labels=n.labels if who is None else None,
                )
                for n in tree
                if who is None or self.sees(who, n.id)
            ]
            if nodes:
                index.write_trees([TreeSource(nodes, vectors=self.vectors)])
        for doc in [tree[0].id for tree in self.trees]:
            if who is not None and not self.sees(who, doc):
                continue
            entities, edges = self._said(doc, who)
            index.add_entities(entities, doc)
            index.add_relations(edges, doc)

    def _said(self, doc: str, who: tuple[str, ...] | None) -> tuple[list[EntitySource], list[Edge]]:
        entities = [source for source in self.entities if source.doc == doc]
        edges = [edge for said, edge in self.edges if said == doc]
        if who is None or doc in self.whole_documents(who):
            kept = [e for e in edges if who is None or all(map(self._open(who), _ends(e)))]
            return entities, kept
        seen = self._open(who)
        edges = [e for e in edges if any(self._mine(who, doc, end) for end in _ends(e))]
        named = {end for edge in edges for end in _ends(edge)}
        entities = [
            EntitySource(s.entity, doc, s.label, s.name) for s in entities if s.entity in named
        ]
        return entities, [edge for edge in edges if all(map(seen, _ends(edge)))]

    def _open(self, who: tuple[str, ...]) -> Any:
        return lambda id_: id_ not in self.nodes or self.sees(who, id_)

    def _mine(self, who: tuple[str, ...], doc: str, id_: str) -> bool:
        return id_ in self.nodes and self.nodes[id_].doc == doc and self.sees(who, id_)


def _ends(edge: Edge) -> tuple[str, str]:
    return edge.source, edge.target


class Near(list):
    """Scores that may differ in the last digit of a float32, as matrices of other shapes do."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Near) and list(other) == pytest.approx(list(self), abs=1e-5)

    __hash__ = None


TESTS = ("Section", "Paragraph", "List", "Memo", "Document", "*", "node()")
AXES = (
    "child", "descendant", "descendant-or-self", "self", "parent", "ancestor", "ancestor-or-self",
    "following-sibling", "preceding-sibling", "following", "preceding",
)  # fmt: skip
RELATIONS = (
    "rel::MENTIONS",
    "rel::CITES",
    "inv::CITES",
    "rel::NEXT",
    "inv::CONTAINS",
    "rel::*",
    "rel::CITES{1,2}",
)


def random_query(choice: random.Random) -> str:
    """A query of one of the kinds that people write."""

    def step() -> str:
        return f"{choice.choice(AXES)}::{choice.choice(TESTS)}"

    def condition() -> str:
        word = choice.choice(WORDS)
        return choice.choice(
            (
                str(choice.randrange(1, 4)), "last()", "position() < 3", "@n > 1", "@n = 2",
                f'contains(., "{word}")', f'. =~ "{word} {choice.choice(WORDS)}"',
                f'bm25(., "{word}") > 0.1', f'@title =~ "{word}"', f"count({step()}) > 1",
                f"{step()}", f'not({step()}[contains(., "{word}")])', "sum(*/@n) > 2",
            )
        )  # fmt: skip

    path = f"//{choice.choice(TESTS[:-1])}"
    for _ in range(choice.randrange(3)):
        roll = choice.random()
        if roll < 0.4:
            path += f"[{condition()}]"
        elif roll < 0.8:
            path += f"/{step()}"
        else:
            path += f"/{choice.choice(RELATIONS)}"
    if choice.random() < 0.4:
        path += f"[{condition()}]"
    roll = choice.random()
    if roll < 0.15:
        return f"count({path})"
    if roll < 0.2:
        return f"sum({path}/@n)"
    if roll < 0.3:
        return f"sort({path}, @n)"
    if roll < 0.35:
        return f"group({path}, @n)"
    return path


def asked(index: SemXPathIndex, query: str, who: Any, choice: random.Random) -> Any:
    """Everything that an answer says: ids in order, scores, values, or the error's words."""
    try:
        found = index.query(query, principal=who, top_k=choice.choice((None, 3)))
    except SemXPathError as error:
        return str(error)
    value = found.value
    return (
        # Entities stand in the order in which the store first heard of them, which a twin cannot know.
        [(m.id, m.xpath, list(m.path), sorted(m.why)) for m in found if m.id[0] != "e"],
        value,
        Near(s for m in found if m.id[0] != "e" for s in (m.score, *m.why.values())),
    )


def schema_of(index: SemXPathIndex, who: Any) -> Any:
    """The schema, with the examples of entities in the order of their names."""
    shown = index.schema(who).to_dict()
    for attribute in shown["kinds"].get("Topic", {}).get("attributes", {}).values():
        attribute["examples"].sort()
    return shown


def searched(index: SemXPathIndex, choice: random.Random, who: Any) -> Any:
    """One of the searches, with all that it says."""
    text = " ".join(choice.choices(WORDS, k=3))
    options: dict[str, Any] = {
        "limit": choice.choice((2, 50)),
        "scope": choice.choice((None, "//Section", "/Document[1]")),
        "kinds": choice.choice((None, ["Paragraph"])),
        "principal": who,
    }
    way = choice.choice(("semantic_search", "keyword_search"))
    found = getattr(index, way)(text, **options)
    return [m.id for m in found], Near(m.score for m in found)


def retrieved(index: SemXPathIndex, mode: str, choice: random.Random, who: Any) -> Any:
    """What a LlamaIndex retriever gives."""
    text = " ".join(choice.choices(WORDS, k=4))
    found = index.as_retriever(mode=mode, principal=who).retrieve(text)
    found = [n for n in found if n.node.node_id[0] != "e"]
    return [(n.node.node_id, n.node.get_content()) for n in found], Near(n.score for n in found)


def shown_by(index: SemXPathIndex, query: str, who: Any) -> tuple[set[str], str]:
    """Ids and words of an answer, or the words of an error."""
    try:
        found = index.query(query, principal=who)
    except SemXPathError as error:
        return set(), str(error)
    shown = [m.to_dict() for m in found], found.value
    return {m.id for m in found}, json.dumps(shown, default=str)


def told(index: SemXPathIndex, query: str, text: str, who: Any) -> str:
    """Every word that is shown on the way: plan, trace, schema, documents, retrievers, errors."""
    shown: list[Any] = []
    for ask in (
        lambda: [m.to_dict() for m in index.query(query, principal=who, trace=True)],
        lambda: str(index.query(query, principal=who, trace=True).trace),
        lambda: str(index.explain(query, principal=who)),
        lambda: str(index.query("//Section[@zq1 = 1]", principal=who)),
        lambda: str(index.query("//Paragraph/@zq2y", principal=who)),
        lambda: str(index.query("//zq3", principal=who)),
    ):
        try:
            shown.append(ask())
        except SemXPathError as error:
            shown.append(str(error))
    schema = index.schema(who)
    shown += [schema.to_prompt(), schema.to_dict(), schema.to_json_schema()]
    shown += [d.id for d in index.documents(who)]
    for mode in MODES:
        found = index.as_retriever(mode=mode, principal=who).retrieve(text)
        shown += [(n.node.get_content(), n.node.metadata, n.node.node_id, n.score) for n in found]
    return json.dumps(shown, default=str, ensure_ascii=False)


@pytest.fixture(scope="module")
def embedder():
    return HashEmbedder()


def check_store(seed: int, tmp_path: Any, embedder: Any, *, queries: int, words: int) -> int:
    """Runs one random store; returns how many cases it made."""
    narrowing = seed % 3 != 0
    store, cases = RandomStore(seed, narrowing=narrowing), 0
    with SemXPathIndex(catalog_only(tmp_path / "whole"), embed_model=embedder) as whole:
        store.write(whole)
        for who in PRINCIPALS:
            choice = random.Random(f"{seed} {who}")
            hidden = store.hidden_secrets(who)
            visible = {id_ for id_ in store.nodes if store.sees(who, id_)}
            asks = [random_query(choice) for _ in range(queries)]
            seeds = [choice.random() for _ in range(queries)]
            if narrowing:
                config = catalog_only(tmp_path / f"twin{len(who)}{who[:1]}")
                with SemXPathIndex(config, embed_model=embedder) as twin:
                    store.write(twin, who)
                    for query, s in zip(asks, seeds, strict=True):
                        here = asked(whole, query, who, random.Random(s))
                        there = asked(twin, query, None, random.Random(s))
                        assert here == there, f"seed {seed}, {who}: {query}"
                        assert searched(whole, random.Random(s), who) == searched(
                            twin, random.Random(s), None
                        ), f"seed {seed}, {who}: search {s}"
                    for s in seeds[:words]:
                        for mode in MODES:
                            assert retrieved(whole, mode, random.Random(s), who) == retrieved(
                                twin, mode, random.Random(s), None
                            ), f"seed {seed}, {who}: {mode} {s}"
                            cases += 1
                    assert schema_of(whole, who) == schema_of(twin, None)
                cases += 2 * queries
            else:
                for query, s in zip(asks, seeds, strict=True):
                    ids, said = shown_by(whole, query, who)
                    assert ids & store.nodes.keys() <= visible, f"seed {seed}, {who}: {query}"
                    assert not hidden & set(SECRET.findall(said)), f"seed {seed}, {who}: {query}"
                    assert set(searched(whole, random.Random(s), who)[0]) <= visible
                cases += 2 * queries
            for query in asks[:words]:
                said = told(whole, query, " ".join(choice.choices(WORDS, k=3)), who)
                leaked = hidden & set(SECRET.findall(said))
                assert not leaked, f"seed {seed}, {who}: {query}: {leaked}"
                cases += 1
    return cases


@pytest.mark.parametrize("seed", range(1, 5))
def test_what_is_hidden_does_not_exist(seed, tmp_path, embedder):
    assert check_store(seed, tmp_path, embedder, queries=15, words=1) > 150


@pytest.mark.slow
def test_20_000_cases(tmp_path, embedder):
    cases = seed = 0
    while cases < 20_000:
        seed += 1
        folder = tmp_path / str(seed)
        folder.mkdir()
        cases += check_store(1_000 + seed, folder, embedder, queries=40, words=2)


def test_vectors_and_words_hold_only_what_all_readers_may_read():
    for seed in range(60):
        store = RandomStore(seed, narrowing=False)
        for tree in store.trees:
            for item in prepare_nodes(tree):
                for who in [(label,) for label in LABELS]:
                    if store.sees(who, item.node.id):
                        said = SECRET.findall(f"{item.path} {item.embed}")
                        assert not store.hidden_secrets(who) & set(said)


def test_a_large_store_samples_only_what_is_seen(tmp_path, embedder):
    """Above 256 vectors the corpus itself is the background of a score."""
    seen = [
        TreeNode("open", "Document", "open", labels=frozenset({"staff"})),
        *(TreeNode(f"o{i}", "Paragraph", "open", "open", f"red plan {i}") for i in range(300)),
    ]
    hidden = [
        TreeNode("shut", "Document", "shut", labels=frozenset({"board"})),
        *(TreeNode(f"s{i}", "Paragraph", "shut", "shut", f"blue days {i}") for i in range(600)),
    ]
    answers = []
    for name, trees in ("whole", (hidden, seen)), ("twin", (seen,)):
        config = StoreConfig(tmp_path / name, milvus_uri="", graph="none")
        with SemXPathIndex(config, embed_model=embedder) as index:
            for tree in trees:
                index.insert_tree(tree)
            query = '//Paragraph[. =~ "red plan 7"]'
            answers.append([(m.id, m.score) for m in index.query(query, principal=["staff"])])
    assert answers[0] == answers[1]
    assert answers[0]
