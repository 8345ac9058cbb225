"""The LlamaIndex property graph store over NebulaGraph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
        tls: ``nebula3.Config.SSL_config`` for TLS; ``None`` without.
        partitions: Partitions of a new space, 1 and up.
        replicas: Copies of each partition, odd.

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
        tls: Any = None,
        partitions: int = 10,
        replicas: int = 1,
    ) -> None:
        options = NebulaOptions(addresses, user, password, space, timeout, tls=tls)
        super().__init__(NebulaGraph(options, partitions=partitions, replicas=replicas))
