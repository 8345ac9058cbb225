"""The approval assistant of ``examples/`` as a person would use it."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "approval_assistant"


class Clock:
    """A clock that goes on by a minute a look."""

    time = dt.datetime(2026, 3, 18, 9, tzinfo=dt.UTC)

    def __call__(self) -> dt.datetime:
        self.time += dt.timedelta(minutes=1)
        return self.time


@pytest.fixture(scope="module")
def assistant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    sys.path.insert(0, str(FOLDER))
    try:
        from assistant import ApprovalAssistant

        opened = ApprovalAssistant(tmp_path_factory.mktemp("approval"), clock=Clock())
        yield opened
        opened.close()
    finally:
        sys.path.remove(str(FOLDER))


def test_projects_and_contracts_of_a_person(assistant: Any) -> None:
    reply = assistant.ask("张三参与了哪些项目与合同？", "王敏")
    for name in ("灯塔项目", "海燕项目", "HT-2026-001", "HT-2026-003", "恒信科技", "蓝图设计"):
        assert name in reply.text
    assert "远山项目" not in reply.text
    assert "HT-2026-002" not in reply.text
    assert len(reply.sources) == 4


@pytest.mark.parametrize(
    ("cost", "approver"), [(4000, "李雷"), (5000, "李雷"), (8600, "王敏"), (50000, "陈静")]
)
def test_policies_and_approver_of_a_trip(assistant: Any, cost: int, approver: str) -> None:
    reply = assistant.ask(f"我去北京出差，3天，预计{cost}元，适用哪些制度，由谁审批？", "张三")
    assert "第三条 住宿标准" in reply.text
    assert "450元" in reply.text
    assert f"即{approver}" in reply.text
    again = assistant.ask("Which policies does this trip fall under and who approves it?", "张三")
    assert again.text == reply.text
    assert again.sources == reply.sources


def test_limits_depend_on_rank_and_city(assistant: Any) -> None:
    reply = assistant.ask("王敏去成都出差，2天，预计3000元，由谁审批？", "王敏")
    assert "每晚不超过600元" in reply.text
    assert "即陈静" in reply.text


def test_approval_of_a_contract(assistant: Any) -> None:
    assert "由总经理审批" in assistant.ask("合同HT-2026-002由谁审批？", "赵六").text
    assert "由部门总监审批" in assistant.ask("合同HT-2026-001由谁审批？", "赵六").text


def test_memory(assistant: Any) -> None:
    assert assistant.tell("出差时我习惯住全季酒店，我不喜欢靠窗的座位", "张三") == []
    assert "全季酒店" in assistant.ask("我出差平时的酒店是哪家？", "张三").text
    assistant.tell("我的手机号是13800001111", "张三")
    assistant.tell("我的手机号换成了13900002222", "张三")
    said = assistant.ask("张三的手机号是多少？", "李雷").text
    assert "13900002222" in said
    assert "13800001111" not in said
    assert assistant.tell("我今年30岁。我今年31岁。", "赵六") == ["赵六的age是30，还是31？"]


def test_policies_are_found_by_what_they_say(assistant: Any) -> None:
    assert "十五日内" in assistant.ask("出差结束后多久报销？", "张三").text


def test_the_whole_day_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sys.path.insert(0, str(FOLDER))
    try:
        from run import main

        main(tmp_path)
    finally:
        sys.path.remove(str(FOLDER))
    out = capsys.readouterr().out
    assert "审批人王敏" in out
    assert "待复核：出差结束后多久报销？（disliked）" in out
    assert "评测集 2 条，训练对 2 条" in out
