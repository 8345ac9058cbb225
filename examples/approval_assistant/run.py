"""Runs the approval assistant through a day: ``python examples/approval_assistant/run.py``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from assistant import ApprovalAssistant

from llama_index_semxpath.memory.feedback_review import bad_cases, evaluation_rows, training_pairs


def main(store: Path) -> None:
    """Questions, statements and feedback of one day.

    Args:
        store: Directory of the store.
    """
    assistant = ApprovalAssistant(store)

    def ask(question: str, who: str = "张三") -> None:
        print(f"\n{who}：{question}\n助手：{assistant.ask(question, who).text}")

    def tell(text: str, who: str = "张三") -> None:
        print(f"\n{who}：{text}")
        for question in assistant.tell(text, who) or ["记下了。"]:
            print(f"助手：{question}")

    ask("张三参与了哪些项目与合同？")
    ask("合同HT-2026-002由谁审批？")
    tell("出差时我习惯住全季酒店，我不喜欢靠窗的座位")
    ask("我去北京出差，3天，预计8600元，适用哪些制度，由谁审批？")
    ask("Which policies does this trip fall under and who approves it?")
    ask("我出差平时的酒店是哪家？")
    tell("我的手机号是13800001111")
    tell("我的手机号换成了13900002222")
    ask("张三的手机号是多少？")
    ask("出差结束后多久报销？")

    print("\n出差申请：")
    for trip in assistant.memory.query('//Trip[@status = "待审批"]'):
        print(f"- {trip.text}，审批人{trip.attributes['approver']}")

    log = assistant.feedback
    last = log.entries()[-1]
    log.rate(last.id, -1, comment="答案太长")
    for entry in log.entries()[:2]:
        log.label(entry.id, "good")
    for case in bad_cases(log.entries()):
        print(f"\n待复核：{case.entry.question}（{'、'.join(case.reasons)}）")
    rows, pairs = evaluation_rows(log.entries()), training_pairs(log.entries())
    print(f"\n评测集 {len(rows)} 条，训练对 {len(pairs)} 条")
    assistant.close()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
