"""The catalog's tables, as a list of migrations: number ``i`` brings format ``i`` to ``i + 1``.

The SQL keeps to what SQLite and PostgreSQL share, apart from the keyword index.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

#: Marks the database as ours (``PRAGMA application_id``): "SXPC" in ASCII.
APPLICATION_ID = 0x53585043

_TABLES = """
CREATE TABLE meta (
    key TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
) STRICT;

-- One row a document. `part` is its component in the order keys of its nodes; `layout` holds the
-- spans and pages of all its nodes in document order, since an edit shifts every span behind it.
CREATE TABLE documents (
    id TEXT PRIMARY KEY NOT NULL,
    part TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    nodes INTEGER NOT NULL,
    hash BLOB NOT NULL,
    layout BLOB NOT NULL,
    weight REAL NOT NULL,
    source TEXT,
    source_size INTEGER,
    source_mtime INTEGER,
    source_hash BLOB,
    updated TEXT NOT NULL
) STRICT;
CREATE INDEX documents_source ON documents (source);

-- `labels` is what the node itself says (NULL: as its parent), `access` what is in force: a code of
-- label_sets, 0 for none. `vector` is the hash of the text that was embedded, NULL where none was.
CREATE TABLE nodes (
    pk INTEGER PRIMARY KEY NOT NULL,
    id TEXT NOT NULL UNIQUE,
    doc TEXT NOT NULL,
    parent TEXT,
    kind TEXT NOT NULL,
    order_key TEXT NOT NULL UNIQUE,
    level INTEGER,
    text TEXT NOT NULL,
    attributes TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    labels TEXT,
    access INTEGER NOT NULL,
    hash BLOB NOT NULL,
    vector BLOB
) STRICT;

CREATE TABLE label_sets (
    code INTEGER PRIMARY KEY NOT NULL,
    labels TEXT NOT NULL UNIQUE
) STRICT;

-- Relations and entities, each with the document that says so: deleting one source keeps what
-- another still supports.
CREATE TABLE edges (
    pk INTEGER PRIMARY KEY NOT NULL,
    doc TEXT NOT NULL,
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    target TEXT NOT NULL,
    properties TEXT NOT NULL,
    UNIQUE (doc, source, name, target, properties)
) STRICT;
CREATE INDEX edges_source ON edges (source);
CREATE INDEX edges_target ON edges (target);
CREATE TABLE entity_sources (
    entity TEXT NOT NULL,
    doc TEXT NOT NULL,
    label TEXT NOT NULL,
    name TEXT NOT NULL,
    properties TEXT NOT NULL,
    aliases TEXT NOT NULL,
    context TEXT NOT NULL,
    PRIMARY KEY (entity, doc)
) STRICT;
CREATE INDEX entity_sources_doc ON entity_sources (doc);
CREATE TABLE entity_merges (
    pk INTEGER PRIMARY KEY NOT NULL,
    kept TEXT NOT NULL,
    absorbed TEXT NOT NULL,
    rule TEXT NOT NULL,
    at TEXT NOT NULL,
    undone TEXT
) STRICT;

-- Embedding models and the vectors they made, by hash of the embedded text.
CREATE TABLE models (
    code INTEGER PRIMARY KEY NOT NULL,
    name TEXT NOT NULL UNIQUE,
    dimension INTEGER NOT NULL,
    probe BLOB NOT NULL
) STRICT;
CREATE TABLE vectors (
    pk INTEGER PRIMARY KEY NOT NULL,
    model INTEGER NOT NULL,
    hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (model, hash)
) STRICT;

-- What each projection still has to take over: `what` is document (all nodes of a new one), nodes,
-- removed, relations or entities; `ids` is a JSON list where some are meant. A row says "these may
-- differ from what you hold", so replaying it does no harm.
CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    target TEXT NOT NULL,
    what TEXT NOT NULL,
    doc TEXT NOT NULL,
    ids TEXT
) STRICT;
CREATE INDEX outbox_target ON outbox (target, seq);

CREATE VIRTUAL TABLE words USING fts5 (
    path, body, tokenize = 'porter unicode61 remove_diacritics 2'
);
"""

_HISTORY = """
-- `since` is the revision that made the row what it is.
ALTER TABLE nodes ADD COLUMN since INTEGER NOT NULL DEFAULT 0;
CREATE INDEX nodes_since ON nodes (since);
CREATE INDEX documents_version ON documents (version);
CREATE INDEX outbox_doc ON outbox (target, doc);

-- One row a write, numbered as the store's version; times never run backward.
CREATE TABLE revisions (
    seq INTEGER PRIMARY KEY NOT NULL,
    time TEXT NOT NULL,
    author TEXT NOT NULL,
    reason TEXT NOT NULL,
    what TEXT NOT NULL
) STRICT;
CREATE INDEX revisions_time ON revisions (time);

-- Rows as they were from one revision until another, which changed or removed them.
CREATE TABLE node_history (
    pk INTEGER PRIMARY KEY NOT NULL,
    id TEXT NOT NULL,
    doc TEXT NOT NULL,
    parent TEXT,
    kind TEXT NOT NULL,
    order_key TEXT NOT NULL,
    level INTEGER,
    text TEXT NOT NULL,
    attributes TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    labels TEXT,
    access INTEGER NOT NULL,
    vector BLOB,
    from_revision INTEGER NOT NULL,
    to_revision INTEGER NOT NULL
) STRICT;
CREATE INDEX node_history_id ON node_history (id, to_revision);
CREATE INDEX node_history_end ON node_history (to_revision);
CREATE INDEX node_history_key ON node_history (order_key);
-- States before this revision cannot be read: they were purged, or never kept.
INSERT INTO meta (key, value) SELECT 'history_from', value FROM meta WHERE key = 'version';
INSERT INTO revisions (seq, time, author, reason, what)
    SELECT CAST(value AS INTEGER), coalesce((SELECT max(updated) FROM documents),
    '1970-01-01T00:00:00+00:00'), '', '', ''
    FROM meta WHERE key = 'version';
"""

_FACTS = """
-- Relations that texts suggest: `target` is a node or entity, '' where only a name is known.
CREATE TABLE facts (
    pk INTEGER PRIMARY KEY NOT NULL,
    id TEXT NOT NULL UNIQUE,
    doc TEXT NOT NULL,
    source TEXT NOT NULL,
    relation TEXT NOT NULL,
    target TEXT NOT NULL,
    name TEXT NOT NULL,
    rule INTEGER NOT NULL,
    confidence REAL NOT NULL,
    status TEXT NOT NULL,
    evidence TEXT NOT NULL,
    decided TEXT
) STRICT;
CREATE INDEX facts_doc ON facts (doc);
"""

MIGRATIONS: tuple[str, ...] = (_TABLES, _HISTORY, _FACTS)
FORMAT = len(MIGRATIONS)


def statements(script: str) -> Iterator[str]:
    """The statements of a migration, one by one."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
