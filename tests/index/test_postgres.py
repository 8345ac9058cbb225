"""The catalog in PostgreSQL: the same answers as SQLite's, one writer, clear errors."""

from __future__ import annotations

import random
import threading

import pytest
from store_fixtures import HashEmbedder, document

from llama_index_semxpath.errors import StoreError, StoreLockedError, StoreVersionError
from llama_index_semxpath.index.base import SemXPathIndex
from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.reader import Reader
from llama_index_semxpath.tree.edges import Edge

WORDS = [
    "leave",
    "days",
    "policy",
    "papers",
    "paper",
    "generalization",
    "generalise",
    "naïve",
    "café",
    "Müller",
    "年假",
    "病假",
    "员工规定",
    "公司",
    "第五条",
    "x2",
    "foo_bar",
    "2031",
    "re-entry",
    "O'Hara",
    "食べる",
    "ﬁne",
    "größe",
]


def corpus(seed: int) -> list:
    choice = random.Random(seed)
    sentence = lambda: " ".join(choice.choices(WORDS, k=choice.randrange(1, 30)))  # noqa: E731
    return [
        document(f"d{number}", {sentence(): [sentence() for _ in range(8)] for _ in range(4)})
        for number in range(6)
    ]


@pytest.fixture
def postgres(postgres_server, tmp_path):
    """Configuration of a store with its catalog in a schema of its own."""
    return StoreConfig(
        tmp_path / "store", catalog_url=postgres_server.url,
        catalog_schema=postgres_server.schema(), milvus_uri="", graph="none", patience=0.5,
    )  # fmt: skip


def test_keyword_scores_are_those_of_sqlite(postgres, tmp_path):
    catalogs = [postgres.open_catalog(create=True), Catalog(tmp_path / "c.db", create=True)]
    for catalog in catalogs:
        for nodes in corpus(1):
            with catalog.write() as writer:
                writer.put_document(nodes)
        with catalog.write() as writer:
            writer.delete_document("d3")
            writer.put_document(corpus(2)[4])
    choice = random.Random(3)
    for _ in range(60):
        question = " ".join(choice.choices([*WORDS, "nowhere"], k=choice.randrange(1, 5)))
        here, there = (catalog.keyword(question) for catalog in catalogs)
        assert dict(here) == pytest.approx(dict(there), rel=1e-9)
        # Equal scores may differ in the last digit, hence stand in another order.
        assert [round(score, 9) for _, score in here] == [round(score, 9) for _, score in there]
        assert catalogs[0].keyword(question, 3) == here[:3]
    for catalog in catalogs:
        catalog.close()


def test_a_store_answers_the_same_on_both(postgres, tmp_path):
    answers = []
    for config in postgres, StoreConfig(tmp_path / "sqlite", milvus_uri="", graph="none"):
        with SemXPathIndex(config, embed_model=HashEmbedder()) as index:
            for nodes in corpus(5):
                index.insert_tree(nodes)
            section = index.query("//Section[1]")[0].id
            index.add_relations([Edge(section, "CITES", "d1", {"page": 3})], "d0")
            index.delete_ref_doc("d2")
            found = index.query('//Paragraph[.=~"leave policy"]', top_k=5)
            answers.append(
                (
                    [d.id for d in index.documents()],
                    [(m.id, round(m.score, 9)) for m in found],
                    [m.id for m in index.query("//Section/rel::CITES")],
                    [(m.id, round(m.score, 9)) for m in index.semantic_search("paper days")],
                    index.schema().to_dict(),
                    [(n.id, n.order, n.text) for n in index.catalog.walk()],
                    index.check().counts,
                )
            )
    assert answers[0] == answers[1]


def test_readers_see_whole_documents(postgres):
    with SemXPathIndex(postgres, embed_model=HashEmbedder()) as index:
        index.insert_tree(document("d", {"A": ["version 0", "fixed"] * 5}))
        stop, seen = threading.Event(), set()

        def read() -> None:
            with Reader(postgres, embed_model=HashEmbedder()) as reader:
                while not stop.is_set():
                    texts = [m.text for m in reader.query('//Paragraph[starts-with(.,"version")]')]
                    seen.add((len(texts), len(set(texts))))

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for version in range(1, 12):
            index.insert_tree(document("d", {"A": [f"version {version}", "fixed"] * 5}))
        stop.set()
        for thread in threads:
            thread.join()
        assert seen == {(5, 1)}


def test_a_second_writer_hears_that_it_has_to_wait(postgres):
    with (
        SemXPathIndex(postgres, embed_model=HashEmbedder()) as one,
        SemXPathIndex(postgres, embed_model=HashEmbedder()) as two,
    ):
        with (
            one.writer.turn(),
            pytest.raises(StoreLockedError, match="another process is writing"),
        ):
            two.insert_tree(document("d", {"A": ["x"]}))
        two.insert_tree(document("d", {"A": ["x"]}))
        with one.catalog.write() as writer:
            writer.set_meta("k", "v")
            with pytest.raises(StoreLockedError), two.catalog.database.write_at_once():
                pass
        assert [d.id for d in one.documents()] == ["d"]


def test_a_lost_connection_is_a_clear_error_and_not_for_ever(postgres, postgres_server):
    with SemXPathIndex(postgres, embed_model=HashEmbedder()) as index:
        index.insert_tree(document("d", {"A": ["x"]}))
        postgres_server.stop()
        for attempt in (
            lambda: index.query("//Paragraph"),
            lambda: index.insert_tree(document("e", {"A": ["y"]})),
            lambda: Catalog(postgres_server.url),
        ):
            with pytest.raises(StoreError, match="does not answer"):
                attempt()
        postgres_server.start()
        index.insert_tree(document("e", {"A": ["y"]}))
        assert [d.id for d in index.documents()] == ["d", "e"]
        assert index.check().ok


def test_a_connection_cut_within_a_transaction_leaves_nothing(postgres):
    catalog = postgres.open_catalog(create=True)

    def cut() -> None:
        with catalog.write() as writer:
            writer.put_document(document("d", {"A": ["x"]}))
            pid = writer.connection.execute("SELECT pg_backend_pid()").fetchone()[0]
            # The server ends the writer's session, as on a shutdown or a lost network.
            with catalog.database.read() as reading:
                reading.execute("SELECT pg_terminate_backend(?)", (pid,))
            writer.put_document(document("e", {"A": ["y"]}))

    with pytest.raises(StoreError, match="does not answer"):
        cut()
    assert catalog.documents() == []
    with catalog.write() as writer:
        writer.put_document(document("d", {"A": ["x"]}))
    assert [d.id for d in catalog.documents()] == ["d"]
    catalog.close()


def test_what_is_no_catalog_is_refused(postgres, postgres_server):
    import psycopg

    with pytest.raises(StoreError, match="there is no store here"):
        postgres.open_catalog()
    url = f"host=127.0.0.1 port={postgres_server.port} user=tester dbname=postgres"
    with psycopg.connect(url) as connection:
        connection.execute('CREATE SCHEMA "not ours"')
        connection.execute('CREATE TABLE "not ours".papers (id int)')
    with pytest.raises(StoreError, match="is not a catalog"):
        Catalog(postgres_server.url, create=True, schema="not ours")
    catalog = postgres.open_catalog(create=True)
    with catalog.database.write() as connection:
        connection.execute("UPDATE store_format SET format = 999")
    catalog.close()
    with pytest.raises(StoreVersionError, match="format 999"):
        postgres.open_catalog()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://u:secret@127.0.0.1:1/db", "does not answer"),
        ("mysql://u@127.0.0.1/db", "no catalog can be kept in a 'mysql' database"),
        ("postgresql://h:port/db", "cannot be read"),
    ],
)
def test_a_url_that_leads_nowhere(url, message):
    with pytest.raises(StoreError, match=message) as caught:
        Catalog(url, create=True)
    assert "secret" not in str(caught.value)


def test_an_id_too_long_for_an_index_is_refused_by_name(postgres):
    catalog = postgres.open_catalog(create=True)
    noise = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20_000))
    with pytest.raises(StoreError, match="too long"), catalog.write() as writer:
        writer.put_document(document(noise, {"A": ["x"]}))
    assert catalog.documents() == []
    with catalog.write() as writer:
        writer.put_document(document("d", {"A": [noise]}))
    assert len(catalog.keyword(noise)) == 1
    catalog.close()
