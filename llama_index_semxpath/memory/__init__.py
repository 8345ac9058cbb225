"""Agent memory with an address: trees that are written, revised, recalled and never lost."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Heavy parts load when a name is first used.
_LAZY = {
    "AttributeSpec": "facts",
    "Change": "changes",
    "DecayPolicy": "decay",
    "Diff": "changes",
    "Fact": "facts",
    "FactSchema": "facts",
    "FeedbackEntry": "feedback",
    "FeedbackLog": "feedback",
    "KindSpec": "kinds",
    "MemoryView": "views",
    "Recall": "recalled",
    "Record": "records",
    "SemXPathChatEngine": "chat",
    "SemXPathMemoryBlock": "block",
    "StructuredMemory": "store",
    "WritingPolicy": "writing",
    "known_facts": "writing",
    "learn": "writing",
    "remember_facts": "writing",
}

__all__ = sorted(_LAZY)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
