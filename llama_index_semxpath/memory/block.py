"""A LlamaIndex memory block over a structured memory, for ``Memory(memory_blocks=[…])``."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock

from llama_index_semxpath.memory.prompts import as_data
from llama_index_semxpath.memory.records import Record
from llama_index_semxpath.memory.store import StructuredMemory
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.tokens import token_counter

_NAME = "semxpath_memory"


class SemXPathMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory of a conversation: keeps what leaves the short-term memory, recalls by need.

    What is recalled goes into the prompt as data: markup in it is escaped, so that no remembered
    text can close the element it stands in.

    Args:
        memory: The structured memory.
        principal: Labels of the user, who reads and writes nothing but their own.
        token_limit: Most tokens of what is recalled, 1 and up.
        speaker: Name of the user, for facts about them.
        llm: An LLM that finds facts beside the rules; ``None`` asks no LLM.
        learn: Whether facts are extracted; else turns are kept as they are.

    Example:
        >>> import asyncio, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> memory = StructuredMemory.from_defaults(folder.name, embed=False)
        >>> block = SemXPathMemoryBlock(memory=memory, speaker="Rio")
        >>> asyncio.run(block.aput([ChatMessage("I am allergic to <nuts>.")]))
        >>> text = asyncio.run(block.aget([ChatMessage("What about nuts?")]))
        >>> "allergic to &lt;nuts&gt;" in text
        True
        >>> memory.close(); folder.cleanup()
    """

    name: str = Field(default=_NAME, description="Name of the block.")
    description: str | None = Field(
        default="What is known from earlier conversations.", description="What the block holds."
    )
    priority: int = Field(default=1, description="0 is never truncated; 1 is truncated last.", ge=0)
    memory: StructuredMemory = Field(description="The structured memory.", exclude=True)
    principal: list[str] | None = Field(default=None, description="Labels of the user.")
    token_limit: int = Field(default=1_000, description="Most tokens of what is recalled.", ge=1)
    speaker: str = Field(default="", description="Name of the user.")
    llm: Any = Field(default=None, description="Finds facts beside the rules.", exclude=True)
    learn: bool = Field(default=True, description="Whether facts are extracted.")

    @classmethod
    def class_name(cls) -> str:
        """Name of the class."""
        return "SemXPathMemoryBlock"

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        question = _last_question(messages or [])
        if not question:
            return ""
        found = await self.memory.arecall(
            question, budget=self.token_limit, principal=self.principal
        )
        return as_data(found.text)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        said = [message for message in messages if (message.content or "").strip()]
        if said:
            await asyncio.to_thread(self._keep, said)

    def _keep(self, messages: list[ChatMessage]) -> None:
        session = str(messages[0].additional_kwargs.get("session_id") or "")
        if self.learn:
            self.memory.learn(
                messages,
                session=session,
                speaker=self.speaker,
                llm=self.llm,
                principal=self.principal,
            )
            return
        with self.memory.change("conversation", principal=self.principal) as edit:
            labels = None if self.principal is None else frozenset(self.principal)
            for message in messages:
                values = {"role": str(message.role.value), "session": session or None}
                edit.add(Record("Turn", message.content or "", values, labels=labels))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The content without its last lines, until so many tokens are saved."""
        count = token_counter(ParseOptions())
        lines = content.splitlines()
        wanted = count(content) - tokens_to_truncate
        while lines and count("\n".join(lines)) > wanted:
            lines.pop()
        return "\n".join(lines) or None


def _last_question(messages: list[ChatMessage]) -> str:
    for message in reversed(messages):
        if message.role.value == "user" and (message.content or "").strip():
            return message.content or ""
    return ""
