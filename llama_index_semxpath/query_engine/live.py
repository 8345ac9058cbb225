"""An answer while it streams."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import fields

from llama_index_semxpath.query_engine.compose import Composition, Written
from llama_index_semxpath.query_engine.verify import complete


class LiveAnswer:
    """An answer while it streams: what is whole is verified and shown, the rest waits."""

    def __init__(self, composition: Composition, written: Written) -> None:
        self._composition = composition
        self._written = written
        self._checker = composition.checker()
        self._waiting = ""
        self.raw = ""
        self.problem: Exception | None = None

    def add(self, delta: str) -> str:
        """What can be shown after the next piece."""
        self.raw += delta
        self._waiting += delta
        ready = complete(self._waiting)
        if not ready:
            return ""
        whole, self._waiting = self._waiting[:ready], self._waiting[ready:]
        return self._checker.add(whole)

    def end(self) -> Generator[str, None, None]:
        """The rest of the answer; the sources' own words where the model gave nothing."""
        shown = bool(self._checker.checked.text.strip())
        if self.problem is None and self._waiting.strip():
            rest = self._checker.add(self._waiting)
            if rest:
                shown = True
                yield rest
        if not shown:
            what = "answered nothing" if self.problem is None else f"failed: {self.problem}"
            final = self._composition.extract(f"the model {what}" if self._asked else "")
            yield final.text
        else:
            if self.problem is not None:
                yield " …"
            final = self._composition.judge(self._checker.checked, final=True)
            if self.problem is not None:
                final.notes.append(f"the model broke off: {self.problem}")
                final.confidence = round(final.confidence / 2, 3)
        for one in fields(Written):
            setattr(self._written, one.name, getattr(final, one.name))

    @property
    def _asked(self) -> bool:
        return bool(self.raw) or self.problem is not None
