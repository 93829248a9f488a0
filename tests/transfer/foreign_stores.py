"""Small stores of other memory programs, with the tables that their shipped versions make."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

AT = datetime(2026, 3, 1, tzinfo=UTC)


def _make(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as con:
        con.executescript(script)
        con.commit()
    return path


def make_rekal_1_16(path: Path) -> Path:
    """Version 1.16: tiers, links, conversations."""
    return _make(
        path,
        """
        CREATE TABLE conversations (id TEXT PRIMARY KEY, title TEXT, project TEXT, started_at TEXT, metadata TEXT);
        CREATE TABLE conversation_links (from_id TEXT, to_id TEXT, relation TEXT, created_at TEXT,
            PRIMARY KEY (from_id, to_id, relation));
        CREATE TABLE memories (id TEXT PRIMARY KEY, content TEXT, memory_type TEXT, project TEXT,
            conversation_id TEXT,
            tags TEXT, created_at TEXT, updated_at TEXT, access_count INTEGER DEFAULT 0, last_accessed_at TEXT,
            tier TEXT DEFAULT 'durable', expires_at TEXT);
        CREATE TABLE memory_links (from_id TEXT, to_id TEXT, relation TEXT, created_at TEXT,
            PRIMARY KEY (from_id, to_id, relation));
        CREATE TABLE project_config (project TEXT, key TEXT, value TEXT, PRIMARY KEY (project, key));
        INSERT INTO conversations VALUES ('c1', 'one', 'app', '2026-03-01 09:00:00', NULL),
            ('c2', 'two', 'app', '2026-03-02 09:00:00', NULL);
        INSERT INTO conversation_links VALUES ('c2', 'c1', 'follows_up_on', '2026-03-02 09:00:00');
        INSERT INTO memories VALUES
            ('aaaaaaaaaaaaaaaa', 'Retries are three.', 'fact', 'app', 'c1', '["retry"]', '2026-03-01 09:00:00',
             '2026-03-01 09:00:00', 3, NULL, 'durable', NULL),
            ('bbbbbbbbbbbbbbbb', 'Retries are five.', 'fact', 'app', 'c2', '["retry"]', '2026-03-02 09:00:00',
             '2026-03-02 09:00:00', 0, NULL, 'durable', NULL),
            ('cccccccccccccccc', 'Deploys on Monday.', 'procedure', NULL, NULL, '[]', '2026-03-01 10:00:00',
             '2026-03-01 10:00:00', 0, NULL, 'durable', NULL),
            ('dddddddddddddddd', 'Port 8080 is taken.', 'context', NULL, 'c1', 'damaged', '2026-03-01 10:00:00',
             '2026-03-01 10:00:00', 0, NULL, 'scratch', '2026-03-01 11:00:00');
        INSERT INTO memory_links VALUES ('bbbbbbbbbbbbbbbb', 'aaaaaaaaaaaaaaaa', 'supersedes', '2026-03-02 09:00:00'),
            ('bbbbbbbbbbbbbbbb', 'cccccccccccccccc', 'related_to', '2026-03-02 09:00:00');
        """,
    )


def make_rekal_3(path: Path) -> Path:
    """Version 3: one table."""
    return _make(
        path,
        """
        CREATE TABLE memories (id TEXT PRIMARY KEY, content TEXT, project TEXT, tags TEXT, created_at TEXT,
            updated_at TEXT);
        INSERT INTO memories VALUES ('a', 'Jobs live in Postgres.', 'app', '["db"]', '2026-03-01 09:00:00',
            '2026-03-01 09:00:00');
        """,
    )


def make_mcp_memory(path: Path) -> Path:
    """mcp-memory: kinds, replaced observations, ended relations, reflections."""
    return _make(
        path,
        """
        CREATE TABLE entities (id INTEGER PRIMARY KEY, name TEXT UNIQUE, entity_type TEXT, status TEXT,
            created_at TEXT,
            updated_at TEXT);
        CREATE TABLE observations (id INTEGER PRIMARY KEY, entity_id INTEGER, content TEXT, created_at TEXT,
            similarity_flag INTEGER, kind TEXT, supersedes INTEGER, superseded_at TEXT);
        CREATE TABLE relations (id INTEGER PRIMARY KEY, from_entity INTEGER, to_entity INTEGER, relation_type TEXT,
            context TEXT, active INTEGER, ended_at TEXT, created_at TEXT);
        CREATE TABLE reflections (id INTEGER PRIMARY KEY, target_type TEXT, target_id INTEGER, author TEXT,
            content TEXT,
            mood TEXT, created_at TEXT);
        INSERT INTO entities VALUES (1, 'rekal', 'Sistema', 'activo', '2026-03-01 09:00:00', NULL),
            (2, 'DuckDB', 'Recurso', 'activo', '2026-03-01 09:00:00', NULL);
        INSERT INTO observations VALUES (1, 1, 'Stores in SQLite.', '2026-03-01 09:00:00', 0, 'decision', NULL,
            '2026-03-02'),
            (2, 1, 'Stores in DuckDB.', '2026-03-02 09:00:00', 0, 'decision', 1, NULL),
            (3, 2, 'Is columnar.', '2026-03-02 09:00:00', 0, 'generic', NULL, NULL);
        INSERT INTO relations VALUES (1, 1, 2, 'usa', NULL, 1, NULL, '2026-03-01 09:00:00'),
            (2, 2, 1, 'compite_con', 'once', 0, '2026-03-02 09:00:00', '2026-03-01 09:00:00');
        INSERT INTO reflections VALUES (1, 'entity', 1, 'sofia', 'It went well.', 'satisfaccion',
            '2026-03-02 09:00:00');
        """,
    )


def make_recall(path: Path) -> Path:
    """The Python recall: facts with their source in front, and derived cards."""
    return _make(
        path,
        """
        CREATE TABLE chunks (id INTEGER PRIMARY KEY, content TEXT, source_file TEXT, section_path TEXT,
            chunk_hash TEXT UNIQUE,
            embedding BLOB, created_at REAL, source_type TEXT DEFAULT 'ingest', fact_date TEXT);
        CREATE TABLE ingest_log (source_file TEXT PRIMARY KEY, file_hash TEXT, ingested_at REAL, chunk_count INTEGER);
        INSERT INTO chunks VALUES
            (1, 'chat.json' || char(10) || char(10) || '[2026-01-02] Ann moved to Lyon.', 'chat.json', '', 'h1',
            NULL, 1767312000,
             'ingest', '2026-01-02'),
            (2, 'Deploys happen on Mondays.', '', '', 'h2', NULL, 1767312000, 'remember:human', NULL),
            (3, '[Peer Card: Ann]', 'peer-card/Ann', '', 'h3', NULL, 1767312000, 'dream', NULL);
        """,
    )
