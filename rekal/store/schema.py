"""data.db, version 1.

No primary keys or indexes on the big tables: there is one writer at a time, it looks up what is there before it
appends, and DuckDB's indexes cost more at every open and insert than they save at these sizes. Uniqueness is
checked by the tests and by ``doctor``.

``pos`` is the number of the transaction that wrote a row: an index that covers position *n* lacks just the rows
with ``pos > n``. It is local; another clone numbers the same rows in its own order.
"""

from __future__ import annotations

V1 = (
    "CREATE TABLE meta (key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)",
    """CREATE TABLE sessions (
        id VARCHAR NOT NULL, agent VARCHAR NOT NULL, native_id VARCHAR NOT NULL, parent_id VARCHAR,
        forked_from VARCHAR, actor VARCHAR NOT NULL, agent_type VARCHAR, description VARCHAR, spawn_depth INTEGER,
        author_name VARCHAR NOT NULL, author_email VARCHAR NOT NULL, origin VARCHAR NOT NULL, branch VARCHAR,
        cwd VARCHAR, model VARCHAR, title VARCHAR, started_at TIMESTAMP, recorded_at TIMESTAMP NOT NULL,
        pos BIGINT NOT NULL)""",
    """CREATE TABLE turns (
        session_id VARCHAR NOT NULL, seq INTEGER NOT NULL, uid VARCHAR NOT NULL, role VARCHAR NOT NULL,
        content VARCHAR NOT NULL, occurred_at TIMESTAMP, recorded_at TIMESTAMP NOT NULL, model VARCHAR,
        pos BIGINT NOT NULL)""",
    """CREATE TABLE tool_calls (
        session_id VARCHAR NOT NULL, seq INTEGER NOT NULL, uid VARCHAR NOT NULL, turn_seq INTEGER NOT NULL,
        tool VARCHAR NOT NULL, path VARCHAR, command VARCHAR, outcome VARCHAR, excerpt VARCHAR,
        occurred_at TIMESTAMP, pos BIGINT NOT NULL)""",
    """CREATE TABLE edits (
        session_id VARCHAR NOT NULL, seq INTEGER NOT NULL, tool_call_seq INTEGER NOT NULL, path VARCHAR NOT NULL,
        line_hashes BIGINT[] NOT NULL, pos BIGINT NOT NULL)""",
    """CREATE TABLE checkpoints (
        id VARCHAR NOT NULL, git_sha VARCHAR NOT NULL, tree_sha VARCHAR, patch_id VARCHAR, parent_sha VARCHAR,
        branch VARCHAR, subject VARCHAR, author_email VARCHAR NOT NULL, committed_at TIMESTAMP,
        recorded_at TIMESTAMP NOT NULL, origin VARCHAR NOT NULL, pos BIGINT NOT NULL)""",
    """CREATE TABLE checkpoint_sessions (
        checkpoint_id VARCHAR NOT NULL, session_id VARCHAR NOT NULL, first_seq INTEGER NOT NULL,
        last_seq INTEGER NOT NULL, evidence VARCHAR NOT NULL, pos BIGINT NOT NULL)""",
    """CREATE TABLE files_touched (
        checkpoint_id VARCHAR NOT NULL, path VARCHAR NOT NULL, change VARCHAR NOT NULL, old_path VARCHAR,
        pos BIGINT NOT NULL)""",
    """CREATE TABLE rewrites (
        old_sha VARCHAR NOT NULL, new_sha VARCHAR NOT NULL, how VARCHAR NOT NULL, recorded_at TIMESTAMP NOT NULL,
        pos BIGINT NOT NULL)""",
    """CREATE TABLE memory_events (
        id VARCHAR NOT NULL, memory_id VARCHAR NOT NULL, kind VARCHAR NOT NULL, payload VARCHAR NOT NULL,
        actor VARCHAR NOT NULL, actor_type VARCHAR NOT NULL, occurred_at TIMESTAMP NOT NULL,
        recorded_at TIMESTAMP NOT NULL, source VARCHAR, origin VARCHAR NOT NULL, pos BIGINT NOT NULL)""",
    """CREATE TABLE tombstones (
        target VARCHAR NOT NULL, reason VARCHAR NOT NULL, actor VARCHAR NOT NULL, recorded_at TIMESTAMP NOT NULL,
        origin VARCHAR NOT NULL, pos BIGINT NOT NULL)""",
    # Local only from here on: never on the wire.
    # Where reading of this machine's transcripts stopped; a path of this disk means nothing elsewhere.
    """CREATE TABLE source_state (
        source VARCHAR PRIMARY KEY, agent VARCHAR NOT NULL, size BIGINT NOT NULL, mtime_ns BIGINT NOT NULL,
        "offset" BIGINT NOT NULL, prefix_hash VARCHAR NOT NULL, session_id VARCHAR, belongs BOOLEAN NOT NULL,
        skipped_bytes BIGINT NOT NULL, drift VARCHAR NOT NULL, error VARCHAR)""",
    # What this machine asked is nobody else's business.
    """CREATE TABLE recall_edges (
        id VARCHAR NOT NULL, kind VARCHAR NOT NULL, session_id VARCHAR NOT NULL, query VARCHAR,
        occurred_at TIMESTAMP NOT NULL, pos BIGINT NOT NULL)""",
    # True for this clone's view of one tip under one rule.
    """CREATE TABLE merge_verdicts (
        git_sha VARCHAR NOT NULL, target_tip VARCHAR NOT NULL, rule_version INTEGER NOT NULL, verdict VARCHAR NOT NULL,
        PRIMARY KEY (git_sha, target_tip, rule_version))""",
    # What already left this clone.
    "CREATE TABLE shipped (kind VARCHAR NOT NULL, id VARCHAR NOT NULL, segment VARCHAR NOT NULL)",
    # Up to where a teammate's ref was read.
    # `signature` is git's word on the tip: G good, B bad, N none, and so on.
    "CREATE TABLE received (ref VARCHAR PRIMARY KEY, tip VARCHAR NOT NULL, signature VARCHAR NOT NULL)",
    # What left when and where to: `audit`.
    """CREATE TABLE pushes (
        ref VARCHAR NOT NULL, tip VARCHAR NOT NULL, remote VARCHAR NOT NULL, url VARCHAR NOT NULL,
        pushed_at TIMESTAMP NOT NULL, checkpoints INTEGER NOT NULL, sessions INTEGER NOT NULL,
        bytes BIGINT NOT NULL)""",
    # Commits that got no session, and why: what `status` says about coverage.
    """CREATE TABLE uncovered_commits (
        git_sha VARCHAR PRIMARY KEY, reason VARCHAR NOT NULL, recorded_at TIMESTAMP NOT NULL)""",
)
