"""Relations that texts suggest: proposed, settled, kept, and lost with their text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from llama_index.core import Document

from llama_index_semxpath.cli.main import main
from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.index import SemXPathIndex, StoreConfig
from llama_index_semxpath.tree.edges import Edge

POLICY = """# Travel policy

Author: Li Hua
Supersedes: Travel rules 2022

## 1 Scope

Everybody. For hotels see section 2.

## 2 Hotels

This policy replaces the Car Rules.
"""
RULES = "# Travel rules 2022\n\nOld."
STAFF = """# Staff

| Name | Office |
|---|---|
| Li Hua | Berlin |
| Ann Roe | Paris |
"""
CONTRACTS = """# Contracts

| No | Approved by |
|---|---|
| C-1 | Ann Roe |
| C-2 | Nobody Known |
"""


@pytest.fixture
def index(tmp_path: Path):
    config = StoreConfig(tmp_path / "store", milvus_uri="", graph="none")
    texts = {"policy": POLICY, "rules": RULES, "staff": STAFF, "contracts": CONTRACTS}
    documents = [Document(text=text, id_=f"{name}.md") for name, text in texts.items()]
    with SemXPathIndex.from_documents(documents, store=config) as made:
        yield made


def by_relation(index: SemXPathIndex, status: str | None = None) -> dict[str, list]:
    found: dict[str, list] = {}
    for fact in index.facts(status):
        found.setdefault(fact.fact.relation, []).append(fact)
    return found


def test_proposals_name_source_target_rule_and_confidence(index: SemXPathIndex) -> None:
    found = by_relation(index)
    (refers,) = found["REFERS_TO"]
    assert (refers.fact.rule, refers.fact.confidence, refers.fact.status) == (4, 0.9, "proposed")
    assert index.node(refers.fact.target).text == "2 Hotels"
    (approved,) = found["APPROVED_BY"]
    assert index.node(approved.fact.source).text == "C-1 | Ann Roe"
    assert index.node(approved.fact.target).text == "Ann Roe | Paris"
    assert {fact.fact.target for fact in found["SUPERSEDES"]} == {"rules.md"}
    (revises,) = found["REVISES"]
    assert (revises.fact.target, revises.fact.name) == ("", "Car Rules")


def test_accepted_facts_are_relations_and_others_are_not(index: SemXPathIndex) -> None:
    (approved,) = by_relation(index)["APPROVED_BY"]
    (refers,) = by_relation(index)["REFERS_TO"]
    assert index.review(accept=[approved.id], reject=[refers.id]) == (1, 1)
    assert index.review(accept=[approved.id]) == (0, 0)
    assert [m.text for m in index.query("//Row/rel::APPROVED_BY")] == ["Ann Roe | Paris"]
    assert [edge.name for edge in index.catalog.edges()] == ["APPROVED_BY"]
    assert [fact.id for fact in index.facts("rejected")] == [refers.id]
    assert index.review(reject=[approved.id]) == (0, 1)
    assert index.catalog.edges() == []


def test_decisions_outlive_edits_and_go_with_their_text(index: SemXPathIndex) -> None:
    (approved,) = by_relation(index)["APPROVED_BY"]
    index.review(accept=[approved.id])
    index.insert(Document(text=f"{CONTRACTS}\nMore text.\n", id_="contracts.md"))
    assert [fact.id for fact in index.facts("accepted")] == [approved.id]
    assert len(index.query("//Row/rel::APPROVED_BY")) == 1
    index.insert(Document(text="# Contracts\n\nNone.", id_="contracts.md"))
    assert not by_relation(index).get("APPROVED_BY")
    assert not [edge for edge in index.catalog.edges() if edge.name == "APPROVED_BY"]


def test_a_fact_whose_name_means_something_else_is_open_again(index: SemXPathIndex) -> None:
    (approved,) = by_relation(index)["APPROVED_BY"]
    index.review(accept=[approved.id])
    index.delete_ref_doc("staff.md")
    assert "APPROVED_BY" not in by_relation(index)
    index.insert(Document(text=STAFF.replace("Paris", "Rome"), id_="people.md"))
    assert [fact.fact.status for fact in by_relation(index)["APPROVED_BY"]] == ["proposed"]


def test_relations_of_the_caller_and_of_facts_stand_beside_each_other(
    index: SemXPathIndex,
) -> None:
    (approved,) = by_relation(index)["APPROVED_BY"]
    index.add_relations([Edge("contracts.md", "OWNED_BY", "staff.md")], "contracts.md")
    index.review(accept=[approved.id])
    index.add_relations([Edge("contracts.md", "KEPT_BY", "staff.md")], "contracts.md")
    names = sorted(edge.name for edge in index.catalog.edges("contracts.md"))
    assert names == ["APPROVED_BY", "KEPT_BY"]


@pytest.mark.parametrize(
    ("accept", "reject", "message"),
    [(["0" * 12], [], "no such fact"), (["x"], ["x"], "accepted and rejected at once")],
)
def test_wrong_ids_are_errors_and_change_nothing(
    index: SemXPathIndex, accept: list[str], reject: list[str], message: str
) -> None:
    (approved,) = by_relation(index)["APPROVED_BY"]
    with pytest.raises(SemXPathError, match=message):
        index.review(accept=[approved.id, *accept], reject=reject)
    assert not index.facts("accepted")


def test_a_name_that_the_store_does_not_hold_cannot_be_accepted(index: SemXPathIndex) -> None:
    (revises,) = by_relation(index)["REVISES"]
    with pytest.raises(SemXPathError, match="Car Rules"):
        index.review(accept=[revises.id])
    assert index.review(reject=[revises.id]) == (0, 1)


def test_a_reader_sees_the_facts_of_what_he_may_read(tmp_path: Path) -> None:
    config = StoreConfig(tmp_path / "store", milvus_uri="", graph="none")
    secret = Document(text=CONTRACTS, id_="contracts.md", metadata={"acl": ["board"]})
    open_ = Document(text=STAFF, id_="staff.md", metadata={"acl": ["all", "board"]})
    with SemXPathIndex.from_documents([secret, open_], store=config) as index:
        assert index.facts(principal=["all"]) == []
        assert index.facts() == []
        assert len(index.facts(principal=["board"])) == 1


def test_the_command_lists_and_settles(
    index: SemXPathIndex, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(index.config.store)]
    index.close()
    assert main(["facts", "--json", *store]) == 0
    listed = json.loads(capsys.readouterr().out)
    least = [fact["confidence"] for fact in listed["facts"]]
    assert least == sorted(least)
    assert {"id", "status", "confidence", "source", "target", "relation"} <= set(listed["facts"][0])
    unknown = next(fact for fact in listed["facts"] if fact["target"] is None)
    assert main(["facts", "--accept-from", "0.8", "--reject", unknown["id"], *store]) == 0
    assert "accepted, 1 rejected" in capsys.readouterr().out
    assert main(["facts", "--status", "accepted", "--json", *store]) == 0
    kept = json.loads(capsys.readouterr().out)["facts"]
    assert {fact["relation"] for fact in kept} >= {"REFERS_TO", "APPROVED_BY", "SUPERSEDES"}
    assert main(["facts", "--accept", unknown["id"], *store]) == 2
    assert main(["facts", "--accept", "nonsense", *store]) == 2
    assert main(["facts", "--accept-from", "7", *store]) == 2
    assert "Traceback" not in capsys.readouterr().err


async def test_async_twins(index: SemXPathIndex) -> None:
    found = await index.afacts("proposed")
    sure = [fact.id for fact in found if fact.fact.target]
    assert await index.areview(accept=sure) == (len(sure), 0)
