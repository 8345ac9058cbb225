"""Fixtures of this room: servers that the tests start and stop."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path

import pytest
from postgres_server import PostgresServer, bundled_binaries, debian_binaries

_NAMES = itertools.count()


@pytest.fixture(scope="module")
def milvus_server():
    """URI of a real Milvus server, which takes about ten seconds to start.

    A second server on one machine does not come up, so test processes take turns.
    """
    milvus = pytest.importorskip("milvus")
    import fcntl

    with open(Path(tempfile.gettempdir()) / "semxpath-milvus.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = tempfile.mkdtemp(prefix="milvus-")
        server = milvus.default_server
        server.set_base_dir(folder)
        server.listen_port = 19531
        server.start()
        yield f"http://127.0.0.1:{server.listen_port}"
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def collection():
    """A name that no other test uses."""
    return f"test_{next(_NAMES)}"


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL server: Debian's, else the one that comes as a package."""
    yield from _postgres(debian_binaries() or bundled_binaries())


@pytest.fixture(scope="session")
def pgvector_server():
    """A PostgreSQL server with the extension pgvector, which comes as a package."""
    pytest.importorskip("sqlalchemy")
    yield from _postgres(bundled_binaries())


def _postgres(binaries):
    pytest.importorskip("psycopg")
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed")
    server = PostgresServer(binaries)
    yield server
    server.remove()
