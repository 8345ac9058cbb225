from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core import Document

from llama_index_semxpath.index import SemXPathIndex, StoreConfig

HANDBOOK = """# 员工手册

## 第二章 工作时间

### 第五条 加班

加班须经主管批准。

## 第三章 假期

### 第五条 年假

员工每年享有年假，天数见下表。

| 级别 | 年假天数 |
| --- | --- |
| 初级 | 10 |
| 高级 | 15 |

### 第六条 病假

病假须提交医院证明，三天以内由主管批准。
"""
MANUAL = """# Pump Manual

## 1 Install

Bolt the pump to a level base. Fill the tank before the first start.

### 1.1 Tools

- Wrench, 12 mm
- Oil can

## 2 Maintenance

### 2.1 Change the oil

Stop the pump, open the drain plug and let the old oil run out. Fill in two litres of oil.

```
pump stop
pump drain --all
```

### 2.2 Noise

A loud pump has air in the pipe. Open the valve until water comes without bubbles.
"""
SECRET = """# Board

The head earns 90 credits a month. Salaries are secret.
"""


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SemXPathIndex]:
    folder: Path = tmp_path_factory.mktemp("ask") / "store"
    documents = [
        Document(text=HANDBOOK, doc_id="handbook.md", metadata={"department": "人事部"}),
        Document(text=MANUAL, doc_id="manual.md", metadata={"department": "Service"}),
    ]
    config = StoreConfig(folder, milvus_uri="", graph="none")
    with SemXPathIndex.from_documents(documents, store=config) as built:
        yield built


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SemXPathIndex]:
    folder: Path = tmp_path_factory.mktemp("guarded") / "store"
    documents = [
        Document(text=MANUAL, doc_id="manual.md", metadata={"acl": ["staff"]}),
        Document(text=SECRET, doc_id="board.md", metadata={"acl": ["board"]}),
    ]
    config = StoreConfig(folder, milvus_uri="", graph="none")
    with SemXPathIndex.from_documents(documents, store=config) as built:
        yield built
