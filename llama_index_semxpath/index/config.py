"""Where a store's parts are: one directory by default, servers by URL."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.access import DefaultAccess

if TYPE_CHECKING:
    from llama_index_semxpath.index.catalog import Catalog

_CATALOG = "catalog.db"
_VECTORS = "milvus.db"
_GRAPH = "graph.lbug"
_COLUMNS = "columns.bin"
_LOCK = "writer.lock"
_TENANTS = "tenants"
_NUMBERS: dict[str, Any] = {
    "patience": (int, float),
    "exact_limit": int,
    "keep_versions": (int, float),
}
_TABLES = {
    "catalog": {"url": "catalog_url", "schema": "catalog_schema"},
    "vectors": {
        "store": "vectors",
        "uri": "milvus_uri",
        "token": "milvus_token",
        "collection": "collection",
        "exact_limit": "exact_limit",
    },
    "graph": {"store": "graph"},
}


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """The parts of a store.

    Args:
        store: The directory that holds it.
        catalog_url: SQLAlchemy URL of a PostgreSQL database (``postgresql://user@host/name``) that
            holds the catalog; ``""`` keeps it in the directory, in SQLite.
        catalog_schema: Schema of the catalog's tables in that database.
        vectors: ``milvus``, or ``catalog`` for one database that holds everything: vectors are
            searched in SQL, by sqlite-vec or pgvector. ``given`` is set for a store that is given
            a LlamaIndex vector store.
        milvus_uri: A Milvus server (``http://host:19530``); ``None`` embeds Milvus Lite in the
            directory; ``""`` keeps vectors in the catalog only.
        milvus_token: Token of that server.
        collection: Milvus collection of the store.
        graph: ``ladybug`` (in the directory), ``memory``, ``none``, or the URL of a NebulaGraph
            space (``nebula://user:password@host:9669/space``, ``nebulas`` with TLS).
        default_access: Whether nodes without labels are readable while others carry some:
            ``deny`` or ``allow``.
        patience: Seconds that a writer waits for another one, and for a server, > 0.
        exact_limit: Most nodes that a query grades one by one; above, a Milvus server searches.
        keep_versions: Days that earlier versions and deleted nodes stay readable, 0 and up;
            ``inf`` keeps them until ``purge`` is called.

    Example:
        >>> StoreConfig(Path("s")).catalog.name
        'catalog.db'
    """

    store: Path
    catalog_url: str = ""
    catalog_schema: str = "semxpath"
    vectors: str = "milvus"
    milvus_uri: str | None = None
    milvus_token: str = ""
    collection: str = "semxpath"
    graph: str = "ladybug"
    default_access: DefaultAccess = "deny"
    patience: float = 30.0
    exact_limit: int = 50_000
    keep_versions: float = 90.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "store", Path(self.store))
        if self.vectors not in ("milvus", "catalog", "given"):
            raise StoreError(f"unknown vector store '{self.vectors}'", hint="use milvus or catalog")
        if self.graph not in ("ladybug", "memory", "none") and not _is_nebula(self.graph):
            raise StoreError(
                f"unknown graph store '{self.graph.partition('://')[0]}'",
                hint="use ladybug, memory, none or nebula://user:password@host:9669/space",
            )
        if not self.keep_versions >= 0:
            raise StoreError("keep_versions is a number of days, 0 and up")
        if self.default_access not in ("deny", "allow"):
            raise StoreError(
                f"unknown default access '{self.default_access}'", hint="use deny or allow"
            )

    def open_catalog(self, *, create: bool = False) -> Catalog:
        """Opens the store's catalog.

        Args:
            create: Make it when it is not there.

        Raises:
            StoreError: There is no store, or it is none of ours, or the server does not answer.
            StoreVersionError: A newer version of the package wrote it.
        """
        from llama_index_semxpath.index.catalog import Catalog

        place = self.catalog_url or self.catalog
        return Catalog(place, create=create, schema=self.catalog_schema)

    def for_tenant(self, tenant: str) -> StoreConfig:
        """The configuration of one tenant's own store, a partition apart in every back end.

        A tenant has a directory, a schema of the database, a Milvus collection and a NebulaGraph
        space of its own, so no query, filter or fault of one can reach what another keeps.

        Args:
            tenant: Name of the tenant: any text that is not empty.

        Raises:
            StoreError: The name is empty.

        Example:
            >>> StoreConfig(Path("s")).for_tenant("Acme Ltd").collection
            'semxpath_acme_ltd_c317304f'
        """
        if not tenant or not isinstance(tenant, str):
            raise StoreError("a tenant needs a name")
        # The digest keeps names apart that look alike once they are made safe for every back end.
        hash_ = blake2b(tenant.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        plain = re.sub(r"[^a-z0-9]+", "_", tenant.lower()).strip("_")[:20].strip("_")
        key = "_".join(part for part in (plain, hash_) if part)
        return replace(
            self,
            store=self.store / _TENANTS / key,
            catalog_schema=f"{self.catalog_schema}_{key}",
            collection=f"{self.collection}_{key}",
            graph=f"{self.graph}_{key}" if _is_nebula(self.graph) else self.graph,
        )

    @property
    def catalog(self) -> Path:
        """The catalog's database file."""
        return self.store / _CATALOG

    @property
    def columns(self) -> Path:
        """Snapshot of the columns, which only saves time."""
        return self.store / _COLUMNS

    @property
    def lock(self) -> Path:
        """File that the one writer locks."""
        return self.store / _LOCK

    @property
    def graph_path(self) -> Path:
        """The embedded property graph."""
        return self.store / _GRAPH

    @property
    def vectors_uri(self) -> str:
        """What Milvus is asked to open; ``""`` for no Milvus at all."""
        if self.vectors != "milvus":
            return ""
        return str(self.store / _VECTORS) if self.milvus_uri is None else self.milvus_uri

    @property
    def has_vectors(self) -> bool:
        """Whether a vector store stands beside the catalog's own cache of vectors."""
        return self.vectors != "milvus" or bool(self.vectors_uri)

    @property
    def is_lite(self) -> bool:
        """Whether Milvus is embedded."""
        uri = self.vectors_uri
        return bool(uri) and "://" not in uri

    def make_directory(self) -> None:
        """Makes the store's directory.

        Raises:
            StoreError: It cannot be made, or a file stands in its place.
        """
        try:
            self.store.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise StoreError(
                f"the store's directory cannot be made: {reason}", where=str(self.store)
            ) from None

    @classmethod
    def of(cls, store: StoreConfig | Path | str) -> StoreConfig:
        """A configuration for what a caller gives as ``store``."""
        return store if isinstance(store, StoreConfig) else cls(Path(store))

    @classmethod
    def from_file(cls, path: Path | str) -> StoreConfig:
        """Reads a TOML file.

        The file holds ``store``, ``tenant``, ``default_access`` and ``patience`` at the top,
        ``url`` and ``schema`` in ``[catalog]``, ``store``, ``uri``, ``token``, ``collection`` and
        ``exact_limit`` in ``[vectors]``, and ``store`` in ``[graph]``. A relative ``store`` is
        relative to the file.

        Raises:
            StoreError: The file cannot be read, or holds a key that means nothing.
        """
        path = Path(path)
        try:
            data = tomllib.loads(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise StoreError(
                f"the configuration cannot be read: {error}", where=str(path)
            ) from None
        values = _flatten(data, path)
        values["store"] = path.parent / str(values.get("store", ".semxpath"))
        tenant = values.pop("tenant", None)
        config = cls(**values)
        return config if tenant is None else config.for_tenant(tenant)


def _is_nebula(graph: str) -> bool:
    return graph.startswith(("nebula://", "nebulas://"))


def _flatten(data: dict[str, Any], path: Path) -> dict[str, Any]:
    known = {"tenant", *(field.name for field in fields(StoreConfig))}
    values: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, dict):
            names = _TABLES.get(key, {})
            for name, item in value.items():
                if name not in names:
                    raise StoreError(f"unknown key '{key}.{name}'", where=str(path))
                values[names[name]] = item
        elif key in known:
            values[key] = value
        else:
            raise StoreError(f"unknown key '{key}'", where=str(path))
    for key, value in values.items():
        wanted = _NUMBERS.get(key, str)
        if not isinstance(value, wanted) or isinstance(value, bool):
            kind = "number" if key in _NUMBERS else "string"
            raise StoreError(f"'{key}' must be a {kind}", where=str(path))
    return values
