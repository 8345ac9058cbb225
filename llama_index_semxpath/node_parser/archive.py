"""Zipped office formats and XML, opened without trust: sizes, entities and links are bounded."""

from __future__ import annotations

import io
import posixpath
import zipfile
from typing import TYPE_CHECKING

from llama_index_semxpath.errors import SourceError

if TYPE_CHECKING:
    from lxml import etree

#: Most bytes that one member of an archive may unpack to.
MAX_MEMBER = 256 * 1024 * 1024
#: Most members that an archive may hold.
MAX_MEMBERS = 20_000
#: A member that unpacks to more than this and by more than ``MAX_RATIO`` is a bomb.
_SUSPICIOUS = 16 * 1024 * 1024
MAX_RATIO = 200
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_READ = 1024 * 1024


class Archive:
    """A zip file whose members are read within limits.

    Args:
        data: The file.
        format: Name of the format, for errors.

    Raises:
        SourceError: The file is no zip archive, is protected by a password, or is a bomb.
    """

    def __init__(self, data: bytes, format: str) -> None:  # noqa: A002 - the word of the registry
        self.format = format
        if data[:8] == _OLE:
            raise SourceError(
                f"the {format} file is protected by a password or of the format before 2007",
                hint="save it without a password in the current format",
            )
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            infos = self._zip.infolist()
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
            raise self.broken("it is no zip archive") from None
        if len(infos) > MAX_MEMBERS:
            raise SourceError(
                f"the {format} file holds {len(infos):,} parts", hint="this looks like a zip bomb"
            )
        self._members = {info.filename: info for info in infos}

    def broken(self, reason: str) -> SourceError:
        """The error for a file that is not what its extension says."""
        return SourceError(
            f"cannot read the {self.format} file: {reason}",
            hint="open it in its own program and save it again",
        )

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def names(self) -> list[str]:
        """Names of all members."""
        return list(self._members)

    def read(self, name: str) -> bytes:
        """One member, unpacked.

        Raises:
            SourceError: There is no such member, it is encrypted, damaged or too large.
        """
        info = self._members.get(name)
        if info is None:
            raise self.broken(f"it has no part {name}")
        if info.flag_bits & 0x1:
            raise SourceError(
                f"the {self.format} file is encrypted", hint="save it without a password"
            )
        limit = MAX_MEMBER
        if info.file_size > _SUSPICIOUS:
            limit = min(limit, max(_SUSPICIOUS, info.compress_size * MAX_RATIO))
        out = io.BytesIO()
        try:
            with self._zip.open(info) as stream:
                # The size that the archive declares may lie: count what comes out.
                while chunk := stream.read(_READ):
                    out.write(chunk)
                    if out.tell() > limit:
                        raise SourceError(
                            f"{name} in the {self.format} file unpacks to more than "
                            f"{limit // 1_000_000} MB",
                            hint="this looks like a zip bomb",
                        )
        except SourceError:
            raise
        except Exception:  # zlib, lzma, zipfile and struct all raise their own
            raise self.broken(f"its part {name} is damaged") from None
        return out.getvalue()

    def stream(self, name: str) -> io.BytesIO:
        """One member as a file, unpacked."""
        return io.BytesIO(self.read(name))

    def xml(self, name: str) -> etree._Element:
        """One member as parsed XML."""
        return parse_xml(self.read(name), f"{name} in the {self.format} file")

    def optional_xml(self, name: str) -> etree._Element | None:
        """One member as parsed XML, or ``None`` when the archive has no such member."""
        return self.xml(name) if name in self else None


def parse_xml(data: bytes, what: str) -> etree._Element:
    """Root element of an XML document, read without entities, DTDs or network.

    Args:
        data: The document.
        what: What it is, for errors.

    Raises:
        SourceError: It is not well-formed, nests deeper than 256 levels, or declares entities.

    Example:
        >>> parse_xml(b"<a><b/></a>", "the file").tag
        'a'
    """
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        reason = getattr(error, "msg", None) or str(error)
        if "depth" in reason.lower():
            reason = "it nests deeper than 256 levels"
        raise SourceError(
            f"cannot read {what}: {reason[:200]}", hint="check that it is well-formed XML"
        ) from None
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and next(dtd.iterentities(), None) is not None:
        raise SourceError(
            f"{what} declares entities", hint="entities are refused; write the text itself"
        )
    return root


def relations(archive: Archive, part: str) -> dict[str, tuple[str, str]]:
    """Relations of a part of an Open XML file: id to (type, target inside the archive).

    External targets are left out: links are never followed.
    """
    folder, name = posixpath.split(part)
    root = archive.optional_xml(f"{folder}/_rels/{name}.rels" if folder else f"_rels/{name}.rels")
    out: dict[str, tuple[str, str]] = {}
    if root is None:
        return out
    for item in root:
        if item.get("TargetMode") == "External":
            continue
        target = item.get("Target") or ""
        path = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
        kind = (item.get("Type") or "").rpartition("/")[2]
        out[item.get("Id") or path] = (kind, posixpath.normpath(path))
    return out
