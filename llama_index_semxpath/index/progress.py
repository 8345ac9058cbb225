"""A progress bar on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llama_index_semxpath.index.writing import Progress


@contextmanager
def bar(label: str) -> Iterator[Progress]:
    """A bar that counts documents and names the other work beside it.

    Args:
        label: What is being done.
    """
    from tqdm import tqdm

    counts: dict[str, int] = {}
    with tqdm(desc=label, unit=" documents") as shown:

        def tell(what: str, count: int) -> None:
            if what == "documents":
                shown.update(count)
                return
            counts[what] = counts.get(what, 0) + count
            shown.set_postfix(counts)

        yield tell
