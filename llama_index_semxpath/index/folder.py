"""Files and folders into a store: what is new, what changed, what is gone, what cannot be read."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from llama_index_semxpath.errors import SemXPathError, SourceError
from llama_index_semxpath.index.base import SemXPathIndex
from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.codec import printable
from llama_index_semxpath.index.prepare import prepare_nodes
from llama_index_semxpath.index.rows import Source, StoredDocument
from llama_index_semxpath.index.writing import Progress, Totals, TreeSource
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.parallel import PAYS_FROM, Job, parse_many, seconds_of
from llama_index_semxpath.node_parser.registry import EXTENSIONS
from llama_index_semxpath.tree.node import TreeNode, Value

#: A larger file is refused: it is no document but a data set.
MAX_BYTES = 256 * 2**20
#: The same for formats that are text throughout; pictures and compression make the others large.
MAX_TEXT_BYTES = 32 * 2**20
_PACKED = frozenset({".docx", ".epub", ".odt", ".pdf", ".pptx", ".xlsx"})
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv"})


@dataclass(frozen=True, slots=True)
class FileError:
    """A file that was left out, and why."""

    file: str
    message: str


@dataclass(slots=True)
class IndexReport:
    """What indexing files and folders did.

    Args:
        documents: Documents of these paths that the store now holds.
        nodes: Nodes of all documents of the store.
        unchanged: Documents that were as the store had them.
        removed: Documents deleted because their file is gone.
        seconds: How long it took.
        errors: Files that were left out.
        totals: What was written, in detail.
    """

    documents: int = 0
    nodes: int = 0
    unchanged: int = 0
    removed: int = 0
    seconds: float = 0.0
    errors: list[FileError] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "documents": self.documents,
            "nodes": self.nodes,
            "unchanged": self.unchanged,
            "removed": self.removed,
            "seconds": round(self.seconds, 3),
            "errors": [{"file": e.file, "message": e.message} for e in self.errors],
        }


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to index.

    Args:
        path: Absolute path.
        doc: Id of the document that it becomes.
    """

    path: Path
    doc: str


def index_paths(
    index: SemXPathIndex,
    paths: Sequence[Path | str],
    *,
    weight: float | None = None,
    acl: Iterable[str] | None = None,
    meta: Mapping[str, Value] | None = None,
    progress: Progress | None = None,
    workers: int = 1,
) -> IndexReport:
    """Adds or refreshes files and folders.

    A file whose size and time of change are as they were is not even read; one whose bytes are as
    they were is not parsed. Documents of a folder whose file is gone are deleted. A file that
    cannot be read is reported, and the rest is indexed.

    Args:
        index: The store.
        paths: Files and folders; folders are searched for files with a known extension.
        weight: Source weight of the documents, > 0; becomes ``@weight``.
        acl: Access labels of the documents.
        meta: Further attributes of the documents.
        progress: Told what is being done.
        workers: Most processes that parse; they are started only where it pays.

    Raises:
        SourceError: A path that is not there, a folder without documents, or not one readable
            document among several.
    """
    started = time.monotonic()
    if weight is not None and weight <= 0:
        raise SourceError("a weight must be greater than 0", where=str(weight))
    stored = {document.id: document for document in index.catalog.documents()}
    files, roots = _discover([Path(path) for path in paths], stored)
    extra = _Extra(weight, None if acl is None else frozenset(acl), dict(meta or {}))
    run = _Run(index.catalog, index.options, stored, extra)
    report = IndexReport(errors=run.errors)
    report.totals = index.writer.write(run.trees(files, workers), progress)
    gone = [d.id for d in stored.values() if _is_gone(d, roots, {f.doc for f in files})]
    report.removed = index.writer.delete(gone) if gone else 0
    report.unchanged = run.unchanged + report.totals.unchanged
    report.documents = run.unchanged + report.totals.documents
    report.nodes = index.catalog.count_nodes()
    report.seconds = time.monotonic() - started
    if not report.documents and run.errors:
        first = run.errors[0]
        more = f" (and {len(run.errors) - 1} more)" if len(run.errors) > 1 else ""
        raise SourceError(f"no document could be read: {first.message}{more}", where=first.file)
    return report


@dataclass(frozen=True, slots=True)
class _Extra:
    """What the caller adds to each document."""

    weight: float | None
    acl: frozenset[str] | None
    meta: Mapping[str, Value]

    def apply(self, root: TreeNode, path: Path) -> None:
        root.attributes["source"] = str(path)
        root.attributes.update(self.meta)
        if self.weight is not None:
            root.attributes["weight"] = self.weight
        if self.acl is not None:
            root.labels = self.acl

    @property
    def mark(self) -> bytes:
        """Tells whether the caller adds the same as the last time."""
        labels = None if self.acl is None else sorted(self.acl)
        text = repr((self.weight, labels, sorted(self.meta.items(), key=lambda item: item[0])))
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


class _Run:
    """Reads the files in their order, keeping account."""

    def __init__(
        self,
        catalog: Catalog,
        options: ParseOptions,
        stored: Mapping[str, StoredDocument],
        extra: _Extra,
    ) -> None:
        self._catalog = catalog
        self._options = options
        self._stored = stored
        self._extra = extra
        self.errors: list[FileError] = []
        self.unchanged = 0

    def trees(self, files: Sequence[FoundFile], workers: int) -> Iterator[TreeSource]:
        """Trees of the files that the store does not have as they are."""
        jobs = self._jobs(files)
        for job, nodes in parse_many(jobs, self._options, workers=self._useful(files, workers)):
            path, source = job.tag
            try:
                if isinstance(nodes, SemXPathError):
                    raise nodes
                self._extra.apply(nodes[0], path)
                tree = TreeSource(nodes, source, prepare_nodes(nodes))
            except SemXPathError as error:
                self.errors.append(FileError(str(path), error.message))
                continue
            yield tree

    def _jobs(self, files: Iterable[FoundFile]) -> Iterator[Job[tuple[Path, Source]]]:
        for file in files:
            try:
                job = self._read(file)
            except SemXPathError as error:
                self.errors.append(FileError(str(file.path), error.message))
                continue
            if job is None:
                self.unchanged += 1
            else:
                yield job

    def _useful(self, files: Iterable[FoundFile], workers: int) -> int:
        """Processes that pay: one, where all new files together are parsed in a few seconds."""
        if workers < 2:
            return 1
        new = [file for file in files if file.doc not in self._stored]
        spent = sum(seconds_of(file.path.name, _size(file.path)) for file in new)
        return min(workers, len(new)) if spent >= PAYS_FROM else 1

    def _read(self, file: FoundFile) -> Job[tuple[Path, Source]] | None:
        """A file that is to be parsed, ``None`` where the store has it already."""
        known = self._stored.get(file.doc)
        old = None if known is None else known.source
        stat = self._stat(file)
        mark = self._extra.mark
        if old is not None and (old.size, old.mtime) == stat and old.hash[16:] == mark:
            return None
        data = self._bytes(file.path)
        hash_ = blake2b(data, digest_size=16).digest() + mark
        source = Source(str(file.path), *stat, hash_)
        if old is not None and old.hash == hash_:
            with self._catalog.write() as writer:
                writer.touch_source(file.doc, source)
            return None
        return Job(data, file.path.name, file.doc, (file.path, source))

    def _stat(self, file: FoundFile) -> tuple[int, int]:
        try:
            stat = file.path.stat()
        except OSError as error:
            raise _unreadable(file.path, error) from None
        packed = file.path.suffix.lower() in _PACKED
        limit = MAX_BYTES if packed else min(MAX_BYTES, MAX_TEXT_BYTES)
        if stat.st_size > limit:
            raise SourceError(
                f"the file has {stat.st_size >> 20} MiB, more than {limit >> 20}",
                where=str(file.path),
                hint="split it into documents",
            )
        return stat.st_size, stat.st_mtime_ns

    def _bytes(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:
            raise _unreadable(path, error) from None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _unreadable(path: Path, error: OSError) -> SourceError:
    reason = error.strerror or type(error).__name__
    return SourceError(f"cannot read the file: {reason}", where=str(path))


def _discover(
    paths: Sequence[Path], stored: Mapping[str, StoredDocument]
) -> tuple[list[FoundFile], list[str]]:
    """The files to index, and the folders whose missing files count as removed."""
    files: dict[str, FoundFile] = {}
    roots: list[str] = []
    for path in paths:
        shown = printable(str(path))
        if not path.exists():
            raise SourceError("no such file or folder", where=shown)
        root = path.resolve()
        if not root.is_dir():
            _add(files, root, root.name, root.parent, stored)
            continue
        found = list(_walk(root))
        if not found:
            raise SourceError(
                "the folder holds no documents", where=shown,
                hint=f"known extensions: {', '.join(sorted(EXTENSIONS))}",
            )  # fmt: skip
        roots.append(str(root) + os.sep)
        for file in found:
            relative = file.relative_to(root).as_posix()
            _add(files, file, f"{root.name}/{relative}", root, stored)
    return list(files.values()), roots


def _add(
    files: dict[str, FoundFile],
    path: Path,
    doc: str,
    root: Path,
    stored: Mapping[str, StoredDocument],
) -> None:
    """Gives the file a document id that no other file has."""

    def taken(id_: str) -> bool:
        known = stored.get(id_)
        elsewhere = known is not None and known.source is not None
        if elsewhere and known is not None and known.source is not None:
            return known.source.path != str(path)
        return id_ in files and files[id_].path != path

    if taken(doc):
        mark = blake2b(str(root).encode("utf-8", "surrogateescape"), digest_size=3).hexdigest()
        name, slash, rest = doc.partition("/")
        doc = f"{name}~{mark}{slash}{rest}"
    files[doc] = FoundFile(path, doc)


def _walk(root: Path) -> Iterator[Path]:
    """Files with a known extension, in order of their paths; hidden ones are left out."""
    for folder, names, files in os.walk(root):
        names[:] = sorted(n for n in names if n[0] != "." and n not in _SKIPPED_FOLDERS)
        for name in sorted(files):
            if name[0] != "." and os.path.splitext(name)[1].lower() in EXTENSIONS:
                yield Path(folder) / name


def _is_gone(document: StoredDocument, roots: Sequence[str], seen: set[str]) -> bool:
    """Whether a document came from one of the folders, and its file is there no more."""
    if document.source is None or document.id in seen:
        return False
    path = document.source.path
    return any(path.startswith(root) for root in roots) and not os.path.exists(path)
