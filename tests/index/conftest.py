"""Fixtures of this room: a Milvus server that the tests start and stop."""

from __future__ import annotations

import itertools
import shutil
import tempfile

import pytest

_NAMES = itertools.count()


@pytest.fixture(scope="session")
def milvus_server():
    """URI of a real Milvus server, which starts once and takes about ten seconds to."""
    milvus = pytest.importorskip("milvus")
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
