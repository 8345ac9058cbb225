"""Writes and recalls of a growing memory: medians, store size, and a plot.

    python benchmarks/memory_scale.py
    python benchmarks/memory_scale.py --most 100000 --plot docs/memory_growth.svg

Facts of 100 users are written into an embedded store (SQLite catalog with its vectors). At each
size, single writes without embedding and recalls are timed in CPU milliseconds of this process: a
fact remembered, one revised, a structural query, recall by words and meaning, and a structural
query right after a write, when the reader must first take the write over. Vectors are random unit
vectors of 512 dimensions from a hash of the text, so that the model's time does not count.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from llama_index_semxpath.index.embedding import Matrix, Vector, unit
from llama_index_semxpath.memory import Record, StructuredMemory

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
USERS = 100
THINGS = ("tea", "boats", "chess", "jazz", "running", "maps", "bread", "opera", "ferns", "clocks")
ROUNDS = 40
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e")


class HashEmbedder:
    """Unit vectors that stand for a text without meaning anything."""

    name = "hash-512"

    def embed_texts(self, texts: Sequence[str]) -> Matrix:
        rows = [self.embed_query(text) for text in texts]
        return np.array(rows, np.float32).reshape(len(rows), 512)

    def embed_query(self, text: str) -> Vector:
        seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
        vector = np.random.default_rng(seed).standard_normal((1, 512)).astype(np.float32)
        return unit(vector)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=100_000, help="largest memory to measure")
    parser.add_argument("--plot", type=Path, help="write an SVG of growth")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="memory-") as folder:
        memory = StructuredMemory.from_defaults(folder, embed_model=HashEmbedder())
        for size in (size for size in SIZES if size <= args.most):
            began = time.process_time()
            fill(memory, size)
            seconds = time.process_time() - began
            rows.append((size, measure(memory, size), store_bytes(Path(folder)), seconds))
            print_row(*rows[-1])
        memory.close()
    if args.plot:
        args.plot.write_text(plot([(size, times) for size, times, _, _ in rows]), "utf-8")


def fact(number: int) -> str:
    rng = random.Random(number)
    words = [f"w{rng.randrange(20_000)}" for _ in range(8)]
    return f"{rng.choice(THINGS)} in town {rng.randrange(500)}: {' '.join(words)}"


def fill(memory: StructuredMemory, size: int) -> None:
    """Writes facts, some of each user, until the memory holds so many nodes."""
    held = memory.index.catalog.count_nodes()
    each = max(0, size - held) // USERS
    for user in range(USERS):
        facts = [Record("Fact", fact(held * USERS + user * each + n)) for n in range(each)]
        with memory.change("bulk") as edit:
            id_ = f"user-{user}"
            if edit.find(id_) is None:
                edit.add(Record("User", attributes={"name": f"user {user}"}, id=id_))
            for record in facts:
                edit.add(record, id_)


def measure(memory: StructuredMemory, size: int) -> dict[str, float]:
    memory.query("count(//Fact)")
    memory.recall("warm up", top_k=5)
    known = memory.query("/User[5]/Fact[position() <= 40]").ids or ["user-0"]

    def write(n: int) -> None:
        memory.embed = False
        memory.remember(fact(10**9 + size * ROUNDS + n), f"user-{n % USERS}", kind="Fact")
        memory.embed = True

    def revise(n: int) -> None:
        memory.embed = False
        memory.revise(known[n % len(known)], {"confidence": n / 100 + size})
        memory.embed = True

    def structure(n: int) -> None:
        assert memory.query(f"/User[{n + 1}]/Fact[{n % 5 + 1}]")

    def after_write(n: int) -> float:
        write(ROUNDS + n)
        began = time.process_time()
        structure(n)
        return (time.process_time() - began) * 1000

    return {
        "write": median(write),
        "revise": median(revise),
        "query": median(structure),
        "query after a write": statistics.median(after_write(n) for n in range(ROUNDS)),
        "recall": median(lambda n: memory.recall(f"{THINGS[n % 10]} in town {n}", top_k=10)),
    }


def median(act: Callable[[int], object]) -> float:
    times = []
    for n in range(ROUNDS):
        began = time.process_time()
        act(n)
        times.append((time.process_time() - began) * 1000)
    return statistics.median(times)


def store_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def print_row(size: int, times: dict[str, float], bytes_: int, seconds: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = "  ".join(f"{name} {ms:.2f} ms" for name, ms in times.items())
    print(
        f"{size:>7,}  {told}  store {bytes_ / 1e6:.0f} MB  peak {peak:.0f} MB  fill {seconds:.1f} s"
    )
    sys.stdout.flush()


def plot(rows: Sequence[tuple[int, dict[str, float]]]) -> str:
    """Both axes logarithmic: a line of slope 1 is linear growth."""
    width, height, left, bottom = 640, 380, 60, 50
    names = list(rows[0][1])
    sizes = [np.log10(size) for size, _ in rows]
    low, high = -1.0, 2.5

    def x(size: float) -> float:
        return left + (size - sizes[0]) / (sizes[-1] - sizes[0]) * (width - left - 170)

    def y(ms: float) -> float:
        place = (np.log10(max(ms, 0.1)) - low) / (high - low)
        return height - bottom - place * (height - bottom - 20)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for ms in (0.1, 1, 10, 100):
        parts.append(
            f'<path d="M{left} {y(ms):.1f}H{width - 170}" stroke="#ddd"/>'
            f'<text x="{left - 8}" y="{y(ms) + 4:.1f}" text-anchor="end">{ms:g} ms</text>'
        )
    for size, place in zip((row[0] for row in rows), sizes, strict=True):
        parts.append(
            f'<text x="{x(place):.1f}" y="{height - 28}" text-anchor="middle">{size:,}</text>'
        )
    parts.append(
        f'<text x="{left}" y="{height - 8}">nodes in memory (both axes logarithmic)</text>'
    )
    for name, colour in zip(names, COLOURS, strict=False):
        line = " ".join(
            f"{x(place):.1f},{y(times[name]):.1f}"
            for place, (_, times) in zip(sizes, rows, strict=True)
        )
        at = y(rows[-1][1][name])
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
            f'<text x="{width - 162}" y="{at + 4:.1f}" fill="{colour}">{name}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    main()
