"""How the tests are spread over processes: ``pytest -n 2 --dist loadgroup``."""

from __future__ import annotations

import pytest


# First: pytest-xdist reads the groups in a hook of the same name.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keeps a file's tests in one process, and all tests of a server in one.

    Fixtures that cost seconds belong to a module; a second Milvus server on one machine does not
    come up.
    """
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        group = "milvus" if "milvus_server" in fixtures else item.nodeid.split("::")[0]
        item.add_marker(pytest.mark.xdist_group(group))
