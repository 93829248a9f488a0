"""Rows of data.db behind ``why`` and ``report``: edits of a line, turns behind a commit, words around them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from rekal.model import LOCAL, Evidence, Role, writes_whole
from rekal.plain_text import replace_surrogates
from rekal.store.database import Connection, with_zone


class LineEdit(msgspec.Struct, frozen=True):
    """One edit: its place in a session, and how often it wrote each of the lines asked for."""

    session_id: str
    turn_seq: int
    call_seq: int
    path: str
    at: datetime | None
    whole: bool
    keys: Mapping[int, int]

    @property
    def order(self) -> tuple[float, str, int]:
        """Sort key: earlier edits before later ones, those without a time first."""
        return (self.at.timestamp() if self.at else 0.0, self.session_id, self.call_seq)


class TurnRange(msgspec.Struct, frozen=True):
    """Turns of one session that led to a commit; ``git_sha`` is the commit under which that was recorded."""

    git_sha: str
    session_id: str
    first_seq: int
    last_seq: int
    evidence: Evidence


class SessionOrigin(msgspec.Struct, frozen=True):
    """Author and origin of a session; ``signatures`` are git's letters for the tips of the refs it may be from."""

    agent: str
    author_name: str
    author_email: str
    origin: str
    signatures: tuple[str, ...]


class Quote(msgspec.Struct, frozen=True):
    """Words of one turn."""

    session_id: str
    seq: int
    role: Role
    occurred_at: datetime | None
    text: str


def select_line_edits(
    con: Connection, keys: Collection[int], paths: Collection[str], sessions: Collection[str], dropped_bits: int
) -> dict[int, list[LineEdit]]:
    """Edits of ``paths``, or by ``sessions`` of any path, by the ``keys`` of lines they wrote; in order of time.

    A key is a line's hash without its lower ``dropped_bits`` bits.
    """
    rows = con.execute(
        f"""WITH k AS (
                SELECT session_id, tool_call_seq, path, unnest(line_hashes) >> {dropped_bits} AS key FROM edits
                WHERE path IN (SELECT unnest($paths::VARCHAR[])) OR session_id IN (SELECT unnest($sessions::VARCHAR[])))
            SELECT k.session_id, c.turn_seq, k.tool_call_seq, k.path, any_value(c.occurred_at), any_value(c.tool),
                   list(k.key)
            FROM k JOIN (SELECT unnest($keys::BIGINT[]) AS key) w ON w.key = k.key
            JOIN tool_calls c ON c.session_id = k.session_id AND c.seq = k.tool_call_seq
            GROUP BY k.session_id, c.turn_seq, k.tool_call_seq, k.path""",
        {"paths": sorted(paths), "sessions": sorted(sessions), "keys": sorted(keys)},
    ).fetchall()
    found: dict[int, list[LineEdit]] = defaultdict(list)
    edits = [
        LineEdit(session, max(turn, 0), call, path, with_zone(at), writes_whole(tool), Counter(wrote))
        for session, turn, call, path, at, tool, wrote in rows
    ]
    for edit in sorted(edits, key=lambda e: e.order):
        for key in edit.keys:
            found[key].append(edit)
    return dict(found)


def select_former_names(con: Connection, paths: Iterable[str]) -> set[str]:
    """Return ``paths``, as they are stored, and every name that recorded commits renamed them from."""
    rows = con.execute(
        """WITH RECURSIVE names(path) AS (
               SELECT unnest($paths::VARCHAR[])
               UNION SELECT f.old_path FROM names JOIN files_touched f ON f.path = names.path
               WHERE f.old_path IS NOT NULL)
           SELECT path FROM names""",
        {"paths": sorted(set(map(replace_surrogates, paths)))},
    ).fetchall()
    return {str(row[0]) for row in rows}


def select_turn_ranges(con: Connection, shas: Sequence[str], *, backwards: bool) -> dict[str, list[TurnRange]]:
    """Turns recorded under each commit or its kin, by commit; commits without any are left out.

    Kin are the commits it was made from by a rewrite (``backwards``), else those it became.
    """
    from_, to = ("r.new_sha", "r.old_sha") if backwards else ("r.old_sha", "r.new_sha")
    # The commit's own record comes first: it is closer than a rewritten ancestor's.
    rows = con.execute(
        f"""WITH RECURSIVE kin(root, sha) AS (
                SELECT sha, sha FROM (SELECT unnest(?::VARCHAR[]) AS sha)
                UNION SELECT kin.root, {to} FROM kin JOIN rewrites r ON {from_} = kin.sha)
            SELECT kin.root, c.git_sha, k.session_id, k.first_seq, k.last_seq, k.evidence
            FROM kin JOIN checkpoints c ON c.git_sha = kin.sha JOIN checkpoint_sessions k ON k.checkpoint_id = c.id
            ORDER BY kin.root, kin.sha = kin.root DESC, c.git_sha, k.session_id, k.first_seq""",
        [list(shas)],
    ).fetchall()
    found: dict[str, list[TurnRange]] = defaultdict(list)
    for root, sha, session, first, last, evidence in rows:
        found[str(root)].append(TurnRange(sha, session, first, last, evidence))
    return dict(found)


def has_patch_ids(con: Connection) -> bool:
    """True if any checkpoint has a patch-id: computing one costs git a diff."""
    return con.execute("SELECT 1 FROM checkpoints WHERE patch_id IS NOT NULL LIMIT 1").fetchone() is not None


def select_file_mentions(
    con: Connection, session_id: str, first: int, last: int, names: Collection[str]
) -> tuple[int | None, int]:
    """Return (last turn, edits) of turns ``first`` to ``last`` of a session for a file with these names.

    The turn is that of the last call on the file, or whose command names it; None without one.
    """
    # Commands name files relative to where they run: only the last part can be compared.
    bases = sorted({name.rsplit("/", 1)[-1] for name in names})
    row = con.execute(
        """SELECT max(c.turn_seq) FILTER (list_contains($names::VARCHAR[], c.path)
                      OR len(list_filter($bases::VARCHAR[], lambda b: contains(coalesce(c.command, ''), b))) > 0),
                  count(e.seq)
           FROM tool_calls c LEFT JOIN edits e ON e.session_id = c.session_id AND e.tool_call_seq = c.seq
               AND list_contains($names::VARCHAR[], e.path)
           WHERE c.session_id = $session AND greatest(c.turn_seq, 0) BETWEEN $first AND $last""",
        {"names": sorted(names), "bases": bases, "session": session_id, "first": first, "last": last},
    ).fetchone()
    turn, edits = row or (None, 0)
    return (None if turn is None else max(int(turn), 0)), int(edits)


def select_last_edit(con: Connection, turns: TurnRange) -> tuple[int, int]:
    """Return (last turn, count) of the edits in ``turns`` of files of their commit; the turn is -1 without one."""
    row = con.execute(
        """SELECT max(c.turn_seq), count(*) FROM edits e
           JOIN tool_calls c ON c.session_id = e.session_id AND c.seq = e.tool_call_seq
           WHERE e.session_id = ? AND c.turn_seq BETWEEN ? AND ? AND e.path IN (
               SELECT f.path FROM files_touched f JOIN checkpoints k ON k.id = f.checkpoint_id
               WHERE k.git_sha = ?)""",
        [turns.session_id, turns.first_seq, turns.last_seq, turns.git_sha],
    ).fetchone()
    return (int(row[0]), int(row[1])) if row and row[1] else (-1, 0)


def select_session_origins(con: Connection, sessions: Collection[str]) -> dict[str, SessionOrigin]:
    """Agent, author and origin of each of these sessions by id; those that are not stored are left out."""
    rows = con.execute(
        """SELECT s.id, s.agent, s.author_name, s.author_email, s.origin,
                  list(DISTINCT r.signature) FILTER (r.signature IS NOT NULL)
           FROM sessions s LEFT JOIN received r
             -- A ref's name ends with the clone, as the origin does, which may begin with a mark.
             ON s.origin <> $local AND ends_with(r.ref, '/' || split_part(s.origin, ':', -1))
           WHERE s.id IN (SELECT unnest($sessions::VARCHAR[]))
           GROUP BY s.id, s.agent, s.author_name, s.author_email, s.origin""",
        {"local": LOCAL, "sessions": sorted(sessions)},
    ).fetchall()
    return {str(row[0]): SessionOrigin(row[1], row[2], row[3], row[4], tuple(sorted(row[5] or ()))) for row in rows}


def select_signatures(con: Connection, origins: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Git's letters for the signatures of the refs that records of these origins came with."""
    rows = con.execute(
        """SELECT o.origin, list(DISTINCT r.signature)
           FROM (SELECT unnest($origins::VARCHAR[]) AS origin) o
           JOIN received r ON ends_with(r.ref, '/' || split_part(o.origin, ':', -1))
           GROUP BY o.origin""",
        {"origins": sorted(origins)},
    ).fetchall()
    return {str(origin): tuple(sorted(letters)) for origin, letters in rows}


class WordsAround(msgspec.Struct, frozen=True):
    """The words of an agent from a prompt to the next.

    ``first`` to ``last`` are the turns of one edit: from behind the commit before it to its own. ``edited_later``: more
    was edited behind them.
    """

    turns: list[Quote]
    first: int
    last: int
    edited_later: bool


def select_last_prompts(con: Connection, session_id: str, turn_seq: int, most: int) -> list[Quote]:
    """The last things that people said at or before a turn, newest first: in the session, else in the one it copies."""
    rows = con.execute(
        """SELECT session_id, seq, role, occurred_at, content FROM turns
           WHERE session_id = ? AND seq <= ? AND role IN ('human', 'steering') ORDER BY seq DESC LIMIT ?""",
        [session_id, turn_seq, most],
    ).fetchall()
    # A resumed or forked copy holds only the turns after the two parted.
    rows = (
        rows
        or con.execute(
            """SELECT t.session_id, t.seq, t.role, t.occurred_at, t.content
           FROM sessions s JOIN turns t ON t.session_id = s.forked_from
           JOIN turns e ON e.session_id = s.id AND e.seq = $seq
           WHERE s.id = $id AND t.role IN ('human', 'steering') AND t.occurred_at <= e.occurred_at
           ORDER BY t.seq DESC LIMIT $most""",
            {"id": session_id, "seq": turn_seq, "most": most},
        ).fetchall()
    )
    return [_quote(row) for row in rows]


def select_turn_before(con: Connection, session_id: str, turn_seq: int) -> Quote | None:
    """The agent's last turn before this one."""
    row = con.execute(
        """SELECT session_id, seq, role, occurred_at, content FROM turns
           WHERE session_id = ? AND seq < ? AND role = 'assistant' ORDER BY seq DESC LIMIT 1""",
        [session_id, turn_seq],
    ).fetchone()
    return None if row is None else _quote(row)


def select_words_around(con: Connection, session_id: str, start: int, turn_seq: int) -> WordsAround:
    """The agent's turns from ``start``, a prompt, to the next prompt: at most 80, those nearest to ``turn_seq``."""
    bounds = con.execute(
        r"""WITH e AS (SELECT coalesce(min(seq), 2147483647) AS stop FROM turns
                      WHERE session_id = $id AND seq > $seq AND role = 'human'),
                c AS (SELECT turn_seq AS seq FROM tool_calls, e
                      WHERE session_id = $id AND turn_seq BETWEEN $start AND e.stop - 1
                        AND coalesce(outcome, 'ok') <> 'error' AND contains(command, 'git')
                        AND regexp_matches(command, '\bgit\b[^|;&]*\bcommit\b'))
           SELECT e.stop, (SELECT max(seq) FROM c WHERE seq < $seq), (SELECT min(seq) FROM c WHERE seq >= $seq)
           FROM e""",
        {"id": session_id, "seq": turn_seq, "start": start},
    ).fetchone()
    stop, before, commit = bounds or (2147483647, None, None)
    last = turn_seq if commit is None else int(commit)
    rows = con.execute(
        """SELECT session_id, seq, role, occurred_at, content FROM turns
           WHERE session_id = $id AND role = 'assistant' AND seq >= $start AND seq < $stop
           ORDER BY abs(seq - $seq), seq LIMIT 80""",
        {"id": session_id, "seq": turn_seq, "start": start, "stop": stop},
    ).fetchall()
    closing = con.execute(
        """SELECT session_id, seq, role, occurred_at, content FROM turns
           WHERE session_id = $id AND role = 'assistant' AND seq >= $start AND seq < $stop ORDER BY seq DESC LIMIT 1""",
        {"id": session_id, "start": start, "stop": stop},
    ).fetchall()
    later = con.execute(
        """SELECT 1 FROM edits e JOIN tool_calls c ON c.session_id = e.session_id AND c.seq = e.tool_call_seq
           WHERE e.session_id = ? AND c.turn_seq > ? AND c.turn_seq < ? LIMIT 1""",
        [session_id, last, stop],
    ).fetchone()
    quotes = {int(row[1]): _quote(row) for row in (*rows, *closing)}
    first = start if before is None else int(before) + 1
    return WordsAround([quotes[seq] for seq in sorted(quotes)], first, last, later is not None)


def select_edited_paths(con: Connection, session_id: str, turn_seq: int) -> list[str]:
    """The files that a turn's tools wrote, sorted."""
    rows = con.execute(
        """SELECT DISTINCT e.path FROM edits e
           JOIN tool_calls c ON c.session_id = e.session_id AND c.seq = e.tool_call_seq
           WHERE e.session_id = ? AND c.turn_seq = ? ORDER BY e.path""",
        [session_id, turn_seq],
    ).fetchall()
    return [str(row[0]) for row in rows]


def _quote(row: tuple[str, int, Role, datetime | None, str]) -> Quote:
    return Quote(row[0], row[1], row[2], with_zone(row[3]), row[4])
