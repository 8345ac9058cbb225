"""审批助手: people, projects, contracts, suppliers and policies in one store, with a memory.

Policies are documents, the register becomes entities and relations of the property graph, and what
is said becomes memory, all addressed by SemXPath. No model is called and nothing leaves the
machine.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llama_index_semxpath.index import SemXPathIndex, StoreConfig, index_paths
from llama_index_semxpath.index.rows import EntitySource
from llama_index_semxpath.memory import StructuredMemory
from llama_index_semxpath.memory.feedback import FeedbackEntry, FeedbackLog
from llama_index_semxpath.memory.recall import recall
from llama_index_semxpath.memory.recalled import Recall
from llama_index_semxpath.memory.writing import learn
from llama_index_semxpath.tree.edges import Edge

DATA = Path(__file__).parent / "data"
REGISTER = "data/台账.json"
BIG_CITIES = {"北京", "上海", "广州", "深圳"}
CITIES_EN = {"Beijing": "北京", "Shanghai": "上海", "Chengdu": "成都"}
TRIP = re.compile(r"去(?P<city>[\u4e00-\u9fff]{2,3})出差.*?(?P<days>\d+)天.*?(?P<cost>\d+)元")
TRIP_EN = re.compile(r"trip to (?P<city>\w+).*?(?P<days>\d+) days?.*?(?P<cost>\d+)")
#: Where answers are looked for: first in facts, then in what was said and in the policies.
FACTS = ("Fact", "Preference")
TEXTS = ("Turn", "Paragraph", "ListItem", "Row", "Trip")
#: Kinds of the register with the relations that a field of theirs says.
RELATIONS = {
    "人员": {"上级": ("上级", "人员")},
    "项目": {"成员": ("成员", "人员")},
    "供应商": {},
    "合同": {
        "项目": ("所属项目", "项目"),
        "供应商": ("供应商", "供应商"),
        "经办人": ("经办人", "人员"),
    },
}


@dataclass(frozen=True)
class Reply:
    """An answer with what it rests on.

    Args:
        text: The answer.
        sources: Ids of the nodes that it rests on.
        query: The queries that found them.
    """

    text: str
    sources: tuple[str, ...] = ()
    query: str = ""


class ApprovalAssistant:
    """Answers questions on the register and the policies, and remembers what people say.

    Args:
        store: Directory of the store; made on first use.
        clock: Tells the time, with a time zone.
    """

    def __init__(self, store: Path, clock: Callable[[], dt.datetime] | None = None) -> None:
        self.index = SemXPathIndex(StoreConfig(store, milvus_uri="", graph="none"))
        if not self.index.documents():
            index_paths(self.index, [DATA])
            self._register(json.loads((DATA / "台账.json").read_text("utf-8")))
        given = {"clock": clock} if clock else {}
        self.memory = StructuredMemory.from_defaults(index=self.index, author="审批助手", **given)
        self.feedback = FeedbackLog(store / "feedback.db")
        self._shown: list[Recall | str] = []

    def close(self) -> None:
        """Close the store."""
        self.feedback.close()
        self.memory.close()

    def _register(self, register: dict[str, list[dict[str, Any]]]) -> None:
        """Entities and relations of the register, under the ids that queries and answers use."""
        entities, edges = [], []
        for kind, rows in register.items():
            for row in rows:
                id_ = f"{kind}:{row['name']}"
                said = {k: v for k, v in row.items() if k not in RELATIONS[kind]}
                entities.append(EntitySource(id_, REGISTER, kind, row["name"], said))
                for name, (relation, target) in RELATIONS[kind].items():
                    ends = row.get(name, [])
                    for end in ends if isinstance(ends, list) else [ends]:
                        edges.append(Edge(id_, relation, f"{target}:{end}"))
        self.index.add_entities(entities, REGISTER)
        self.index.add_relations(edges, REGISTER)

    # ---- questions

    def ask(self, question: str, who: str) -> Reply:
        """Answer a question, remember it, and log it for review."""
        reply = self._answer(question, who)
        self.feedback.add(
            FeedbackEntry(question, reply.text, query=reply.query, session=who,
                          results=tuple((id_, 1.0) for id_ in reply.sources),
                          citations=reply.sources)
        )  # fmt: skip
        return reply

    def _answer(self, question: str, who: str) -> Reply:
        person = self._named("人员", question)
        if re.search("项目|合同", question) and person and "审批" not in question:
            return self.involvement(person)
        contract = self._named("合同", question)
        if contract and "审批" in question:
            return self.contract_approval(contract)
        trip = TRIP.search(question) or TRIP_EN.search(question)
        if trip:
            city = CITIES_EN.get(trip["city"], trip["city"])
            return self.trip_approval(person or who, city, int(trip["days"]), int(trip["cost"]))
        if re.search("这次出差|this trip", question):
            return self.last_trip(person or who)
        return self.remembered(question)

    def involvement(self, person: str) -> Reply:
        """Projects and contracts of a person, each with what it hangs together with."""
        projects = self._run("/人员[@name = $name]/inv::成员", name=person)
        contracts = self._run("/人员[@name = $name]/inv::经办人", name=person)
        lines = [f"{person}参与的项目："]
        lines += [f"- {m.attributes['name']}（{m.attributes['状态']}）" for m in projects]
        lines.append(f"{person}经办的合同：")
        for match in contracts:
            supplier = self._run("/合同[@name = $name]/rel::供应商", name=match.attributes["name"])
            names = "、".join(str(one.attributes["name"]) for one in supplier)
            lines.append(
                f"- {match.attributes['name']}，{match.attributes['金额']}元，供应商{names}"
            )
        found = (*projects, *contracts)
        return Reply("\n".join(lines), tuple(m.id for m in found), "inv::成员 | inv::经办人")

    def contract_approval(self, contract: str) -> Reply:
        """Who approves a contract, and whether its supplier may be given one."""
        (node,) = self._run("/合同[@name = $name]", name=contract)
        (supplier,) = self._run("/合同[@name = $name]/rel::供应商", name=contract)
        query = (
            '/Document[@status = "现行" and @领域 = "采购"]'
            '//Section[contains(@title, "审批权限")]//Row[@金额上限 >= $amount][1]'
        )
        (row,) = self._run(query, amount=node.attributes["金额"])
        text = (
            f"合同{contract}金额{node.attributes['金额']}元，由{row.attributes['审批人']}审批"
            f"（{' › '.join(row.path)}）。供应商{supplier.attributes['name']}评级为"
            f"{supplier.attributes['评级']}"
        )
        refused = supplier.attributes["评级"] == "丙"
        return Reply(
            text + ("，不得新签合同。" if refused else "，可以签订。"), (row.id, node.id), query
        )

    def trip_approval(self, person: str, city: str, days: int, cost: int) -> Reply:
        """The policies that a trip falls under, its limits, and who approves it."""
        policy = '/Document[@status = "现行" and @领域 = "差旅"]'
        (traveller,) = self._run("/人员[@name = $name]", name=person)
        (limit,) = self._run(
            f'{policy}//Section[contains(@title, "住宿标准")]//Row[@职级 = $level]',
            level=traveller.attributes["职级"],
        )
        approval = f'{policy}//Section[contains(@title, "审批权限")]//Row[@费用上限 >= $cost][1]'
        (row,) = self._run(approval, cost=cost)
        column = "一线城市" if city in BIG_CITIES else "其他城市"
        approver = self._approver(person, str(row.attributes["审批人"]))
        trip = self._remember_trip(person, city, days, cost, approver)
        text = (
            f"适用《差旅管理制度》：{limit.path[-1]}，{city}每晚不超过{limit.attributes[column]}元；"
            f"{row.path[-1]}，{cost}元由{row.attributes['审批人']}审批，即{approver}。"
        )
        return Reply(text, (limit.id, row.id, trip), approval)

    def _remember_trip(self, person: str, city: str, days: int, cost: int, approver: str) -> str:
        text = f"{person}去{city}出差{days}天，预计{cost}元"
        same = [m for m in self._trips() if m.text == text]
        if same:
            return str(same[0].id)
        values = {"who": person, "city": city, "days": days, "cost": cost, "approver": approver}
        change = self.memory.remember(
            {"kind": "Trip", "text": text, "attributes": {**values, "status": "待审批"}},
            reason="出差申请", author=person,
        )  # fmt: skip
        return change.added[0]

    def last_trip(self, person: str) -> Reply:
        """The approval of the trip that a person asked about last."""
        trips = [
            m for m in self.memory.trees() if m.kind == "Trip" and m.attributes["who"] == person
        ]
        if not trips:
            return Reply("还没有出差申请。")
        last = trips[-1].attributes
        return self.trip_approval(person, str(last["city"]), int(last["days"]), int(last["cost"]))

    def remembered(self, question: str) -> Reply:
        """What is known on a question as a fact, else what was said or the policies say."""
        found = recall(self.memory, question, top_k=1, kinds=FACTS, history=self._shown)
        if not found or found[0].why.get("own", 0.0) < 0.5:
            found = recall(self.memory, question, top_k=1, kinds=TEXTS, history=self._shown)
        self._shown.append(found)
        if found.candidates:
            names = "、".join(one.label for one in found.candidates)
            return Reply(f"指的是哪一个：{names}？")
        return Reply(found.text or "没有找到相关内容。", tuple(one.id for one in found))

    # ---- memory

    def tell(self, text: str, who: str) -> list[str]:
        """Remember what somebody says; returns questions where it contradicts what is known."""
        learned = learn(self.memory, text, speaker=who, conversation="审批助手", author=who)
        asked: dict[tuple[str, str], str] = {}
        for one in learned.conflicts:
            values = "，还是".join([one.fact.value, *(old.value for old in one.known)])
            key = one.fact.subject, one.fact.attribute
            asked.setdefault(key, f"{key[0]}的{key[1]}是{values}？")
        return list(asked.values())

    # ---- inside

    def _run(self, query: str, **params: Any) -> list[Any]:
        return list(self.memory.query(query, params=params))

    def _trips(self) -> list[Any]:
        return [match for match in self.memory.trees() if match.kind == "Trip"]

    def _named(self, kind: str, question: str) -> str | None:
        names = [str(match.attributes["name"]) for match in self._run(f"/{kind}")]
        return next((name for name in names if name in question), None)

    def _approver(self, person: str, role: str) -> str:
        """The person who has a role for somebody: his superior, or the first above of a rank."""
        if role == "直属上级":
            (one,) = self._run("/人员[@name = $name]/rel::上级", name=person)
            return str(one.attributes["name"])
        rank = "总监" if role == "部门总监" else role
        above = self._run(
            "/人员[@name = $name]/rel::上级{1,5}[@职级 = $rank]", name=person, rank=rank
        )
        return str(above[0].attributes["name"]) if above else role
