"""The LlamaIndex property graph store over NebulaGraph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from llama_index_semxpath.index.graph_model import Link
from llama_index_semxpath.index.graph_nebula import NebulaGraph
from llama_index_semxpath.index.graph_store import GraphPropertyGraphStore
from llama_index_semxpath.index.nebula_client import Address, NebulaOptions


class SemXPathNebulaStore(GraphPropertyGraphStore):
    """A ``PropertyGraphStore`` in a space of NebulaGraph 3, for a ``PropertyGraphIndex`` as usual.

    Ids, labels, relation names and property keys may be of any characters and length. Writes are
    multi-row and repeatable; NebulaGraph has no transactions, so a write that broke off is mended
    by repeating it.

    Args:
        addresses: ``(host, port)`` of each graph service.
        user: User name.
        password: Password.
        space: The space, made when it is missing; one for each tenant.
        timeout: Seconds to wait for an answer, > 0.
        sessions: Sessions at a time, 1 and up; more threads wait.
        tls: ``nebula3.Config.SSL_config`` for TLS; ``None`` without.
        partitions: Partitions of a new space, 1 and up.
        replicas: Copies of each partition, odd.
        create: Make the space when it is missing.

    Raises:
        StoreError: The server does not answer, or refuses.
        StoreVersionError: The space is not one of ours, or the server is of another version.
    """

    def __init__(
        self,
        addresses: Sequence[Address],
        *,
        user: str = "root",
        password: str = "nebula",
        space: str = "semxpath",
        timeout: float = 30.0,
        sessions: int = 16,
        tls: Any = None,
        partitions: int = 10,
        replicas: int = 1,
        create: bool = True,
    ) -> None:
        options = NebulaOptions(
            addresses, user, password, space, timeout, sessions=sessions, tls=tls
        )
        self._nebula = NebulaGraph(options, create=create, partitions=partitions, replicas=replicas)
        super().__init__(self._nebula)

    def _links_at(self, ids: Iterable[str] | None, names: Sequence[str] | None) -> list[Link]:
        """The links at nodes, whichever end they are: one statement for each step of a walk."""
        if ids is None:
            return super()._links_at(ids, names)
        return self._nebula.links(sorted(ids), "both", names=names)
