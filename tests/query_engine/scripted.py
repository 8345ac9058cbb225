"""A model that says what it is told to, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback

Script = str | Exception | Callable[[str], str]


class ScriptedModel(CustomLLM):
    """Replies by a script: texts and errors in turn, the last one for ever; or a function."""

    script: list[Any] = []  # noqa: RUF012
    window: int = 8000
    output: int = 256
    pieces: int = 7
    breaks_after: int | None = None
    asked: list[str] = []  # noqa: RUF012
    busy: int = 0
    most_busy: int = 0

    def __init__(self, *script: Script, **options: Any) -> None:
        super().__init__(script=list(script), asked=[], **options)
        self._lock = threading.Lock()

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=self.window, num_output=self.output)

    def _next(self, prompt: str) -> str:
        with self._lock:
            self.asked.append(prompt)
            said = self.script[0] if len(self.script) == 1 else self.script.pop(0)
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, str) else said(prompt)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self._next(prompt))

    @llm_completion_callback()
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> Iterator[CompletionResponse]:
        text = self._next(prompt)

        def told() -> Iterator[CompletionResponse]:
            for start in range(0, len(text), self.pieces):
                if self.breaks_after is not None and start >= self.breaks_after:
                    raise ConnectionError("the line is dead")
                piece = text[start : start + self.pieces]
                yield CompletionResponse(text=text[: start + len(piece)], delta=piece)

        return told()
