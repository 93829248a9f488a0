"""``rekal status``."""

from __future__ import annotations

import click
import msgspec

from rekal.app.context import App, here
from rekal.app.vectors import vectors_known
from rekal.cli.output import emit_json, json_option
from rekal.errors import FOUND, STORE_UNUSABLE, StoreError
from rekal.index.freshness import read_position
from rekal.index.vectors import Progress
from rekal.store import spool
from rekal.store.ledger import Ledger, open_ledger
from rekal.store.source_state import SourceSummary, summarise_sources

RESTORE = (
    "data.db is damaged: the next capture moves it aside and captures again the transcripts still on this machine; "
    "to keep older sessions put back a backup of data.db first, teammates' come back with `rekal sync`"
)

UNSEEN = "the hooks did not see it: made where they are not, or while they were off"
_LOOKED_AT = 5000  # commits of HEAD, newest first


class Coverage(msgspec.Struct, frozen=True):
    """Commits since there is a store: with a session, without, and why not."""

    linked: int
    unlinked: int
    reasons: dict[str, int]


class StatusAnswer(msgspec.Struct, frozen=True):
    """What ``status --json`` prints. ``index_behind`` counts ledger transactions the index lacks; -1: no index.

    ``vectors`` is null when embedding is switched off.
    """

    store: str
    enabled: bool
    sessions: int
    teammates_sessions: int
    turns: int
    checkpoints: int
    data_bytes: int
    index_bytes: int
    index_behind: int
    vectors: Progress | None
    spool_waiting: int
    coverage: Coverage
    sources: list[SourceSummary]
    hooks: list[str]
    problems: list[str]


@click.command("status")
@json_option
def command(as_json: bool) -> int:
    """How the store is: what it holds, what was skipped, what waits, what is wrong."""
    app = here()
    app.require_store()
    try:
        with open_ledger(app.layout.data, read_only=True) as ledger:
            answer = _status(app, ledger)
    except StoreError as error:
        click.echo(f"rekal: {error.message}", err=True)
        click.echo(f"rekal: {RESTORE if 'damaged' in error.message else error.hint}", err=True)
        return STORE_UNUSABLE
    if as_json:
        emit_json(answer)
    else:
        _print(answer)
    return FOUND


def _status(app: App, ledger: Ledger) -> StatusAnswer:
    counts = ledger.con.execute(
        """SELECT count(*) FILTER (origin = 'local'), count(*) FILTER (origin <> 'local'),
                  (SELECT count(*) FROM turns), (SELECT count(*) FROM checkpoints) FROM sessions"""
    ).fetchone()
    local, foreign, turns, checkpoints = counts or (0, 0, 0, 0)
    covered = read_position(app.layout.index)
    waiting, broken = spool.count_events(app.layout.spool)
    return StatusAnswer(
        store=str(app.layout.directory),
        enabled=app.config.enabled,
        sessions=local,
        teammates_sessions=foreign,
        turns=turns,
        checkpoints=checkpoints,
        data_bytes=_size(app, "data.db"),
        index_bytes=_size(app, "index.db"),
        index_behind=-1 if covered is None else ledger.position() - covered,
        vectors=vectors_known(app),
        spool_waiting=waiting,
        coverage=_coverage(app, ledger, waiting),
        sources=summarise_sources(ledger.con),
        hooks=_hooks(app),
        problems=_problems(app, covered is None and turns > 0, broken),
    )


def _size(app: App, name: str) -> int:
    path = app.layout.directory / name
    return path.stat().st_size if path.exists() else 0


def _coverage(app: App, ledger: Ledger, waiting: int) -> Coverage:
    rows = ledger.con.execute(
        "SELECT reason, count(*) FROM uncovered_commits GROUP BY reason ORDER BY reason"
    ).fetchall()
    linked = ledger.con.execute("SELECT count(DISTINCT git_sha) FROM checkpoints WHERE origin = 'local'").fetchone()
    reasons = {str(reason): int(count) for reason, count in rows}
    # While events wait, what they announce is not missing.
    if not waiting and (unseen := _unseen(app, ledger)):
        reasons[UNSEEN] = unseen
    return Coverage(int(linked[0]) if linked else 0, sum(reasons.values()), reasons)


def _unseen(app: App, ledger: Ledger) -> int:
    """How many of the user's own commits on HEAD, made since there is a store, no hook announced."""
    since, email = ledger.meta("created_at"), app.repo.author().email
    listed = app.repo.ask(
        "log", "--no-merges", f"--since={since}", f"-n{_LOOKED_AT}", "--format=%H%x00%ae", "HEAD", "--"
    )
    own = [sha for sha, _, by in (row.partition("\0") for row in (listed or "").splitlines()) if by == email]
    row = ledger.con.execute(
        """SELECT count(*) FROM (SELECT unnest(?::VARCHAR[]) AS sha)
           WHERE sha NOT IN (SELECT git_sha FROM checkpoints UNION ALL SELECT git_sha FROM uncovered_commits
                             UNION ALL SELECT new_sha FROM rewrites)""",
        [own],
    ).fetchone()
    return int(row[0]) if row else 0


def _hooks(app: App) -> list[str]:
    from rekal.cli.verbs.init import executable
    from rekal.install.hooks import read_hooks

    return [f"{hook.name}: {hook.status}" for hook in read_hooks(app.repo, executable())]


def _problems(app: App, lacks_index: bool, broken_events: int) -> list[str]:
    problems = list(app.settings.warnings)
    if broken_events:
        problems.append(f"{broken_events} unreadable events lie in {app.layout.spool / 'broken'}")
    if lacks_index:
        problems.append("there is no index: run `rekal index`")
    if app.layout.log.exists():
        last = app.layout.log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
        problems.extend(f"worker: {line}" for line in last)
    return problems


def _print(a: StatusAnswer) -> None:
    click.echo(f"store      {a.store}" + ("" if a.enabled else "  (disabled by configuration)"))
    click.echo(f"sessions   {a.sessions} own, {a.teammates_sessions} from teammates, {a.turns} turns")
    done = f"{a.coverage.linked} linked, {a.coverage.unlinked} without a session"
    click.echo(f"commits    {done}")
    for reason, count in a.coverage.reasons.items():
        click.echo(f"           {count}: {reason}")
    missing = "missing" if a.turns else "nothing to index yet"
    behind = {-1: missing, 0: "current"}.get(a.index_behind, f"{a.index_behind} captures behind")
    click.echo(f"index      {behind}")
    click.echo(f"vectors    {f'{a.vectors.done:,} of {a.vectors.total:,}' if a.vectors else 'off'}")
    click.echo(f"disk       data.db {a.data_bytes / 1e6:.1f} MB, index.db {a.index_bytes / 1e6:.1f} MB")
    click.echo(f"waiting    {a.spool_waiting} events")
    click.echo(f"hooks      {', '.join(a.hooks)}")
    for s in a.sources:
        extra = f", {s.skipped_bytes} bytes skipped" if s.skipped_bytes else ""
        extra += f", {s.unreadable} unreadable" if s.unreadable else ""
        click.echo(f"{s.agent:<10} {s.sources} sources{extra}")
        if s.drift:
            known = ", ".join(f"{kind} ×{count}" for kind, count in sorted(s.drift.items())[:6])
            more = f" and {len(s.drift) - 6} more" if len(s.drift) > 6 else ""
            click.echo(f"           record types this version does not know: {known}{more}")
    for problem in a.problems:
        click.echo(f"! {problem}")
