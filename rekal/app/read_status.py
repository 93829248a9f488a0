"""The state of the store and its use by week: what it holds, what was skipped, what waits, what is wrong."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rekal.app.context import App, find_executable, list_unused_patterns
from rekal.app.resources import count_embedded
from rekal.git import split_output
from rekal.index.freshness import read_position
from rekal.index.vectors import Progress
from rekal.install.hooks import list_unhooked_trees, read_hooks
from rekal.store import queries, spool
from rekal.store.ledger import Ledger, open_ledger
from rekal.store.locks import find_holder
from rekal.store.source_state import SourceState, SourceSummary, read_states, summarise_sources
from rekal.store.usage_log import UseCount, WeekCounts, count_weeks, read_uses

UNSEEN = "the hooks did not see it: made where they are not, or while they were off"
_TOO_LONG = 600.0  # seconds of one step: the longest that was measured took two minutes
_LOOKED_AT = 5000  # commits of HEAD, newest first


class CommitCoverage(msgspec.Struct, frozen=True):
    """Commits since there is a store: with a session, without, and why not."""

    linked: int
    unlinked: int
    reasons: dict[str, int]


class StoreStatus(msgspec.Struct, frozen=True):
    """State of the store: ``status --json``. ``index_behind`` counts ledger transactions the index lacks; -1: no index.

    ``vectors`` is null when embedding is switched off. ``shared_settings`` says what the settings file of the checkout
    changes.
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
    coverage: CommitCoverage
    sources: list[SourceSummary]
    hooks: list[str]
    problems: list[str]
    shared_settings: list[str]


def read_status(app: App) -> StoreStatus:
    """Read the state of the store. Raises the errors of :func:`rekal.store.ledger.open_ledger`."""
    with open_ledger(app.layout.data, read_only=True) as ledger:
        counts = queries.count_rows(ledger.con)
        covered = read_position(app.layout.index)
        waiting, broken = spool.count_events(app.layout.spool)
        return StoreStatus(
            store=str(app.layout.directory),
            enabled=app.config.enabled,
            sessions=counts.own_sessions,
            teammates_sessions=counts.foreign_sessions,
            turns=counts.turns,
            checkpoints=counts.checkpoints,
            data_bytes=_size_of(app, "data.db"),
            index_bytes=_size_of(app, "index.db"),
            index_behind=-1 if covered is None else ledger.position() - covered,
            vectors=count_embedded(app),
            spool_waiting=waiting,
            coverage=_cover_commits(app, ledger, waiting),
            sources=summarise_sources(ledger.con),
            hooks=[f"{hook.name}: {hook.status}" for hook in read_hooks(app.repo, find_executable())],
            problems=[
                *_list_problems(app, covered is None and counts.turns > 0, broken),
                *list_unhooked_trees(app.repo),
                *_list_unread(app, read_states(ledger.con)),
            ],
            shared_settings=list(app.settings.changes),
        )


def _size_of(app: App, name: str) -> int:
    path = app.layout.directory / name
    return path.stat().st_size if path.exists() else 0


def _cover_commits(app: App, ledger: Ledger, waiting: int) -> CommitCoverage:
    reasons = queries.count_uncovered_commits(ledger.con)
    # While events wait, the commits that they announce are not missing.
    if not waiting and (unseen := _count_unseen(app, ledger)):
        reasons[UNSEEN] = unseen
    return CommitCoverage(queries.count_linked_commits(ledger.con), sum(reasons.values()), reasons)


def _count_unseen(app: App, ledger: Ledger) -> int:
    """Count the user's own commits on HEAD, made since there is a store, that no hook announced."""
    since, email = ledger.meta("created_at"), app.author.email
    listed = app.repo.ask(
        "log", "--no-merges", f"--since={since}", f"-n{_LOOKED_AT}", "--format=%H%x00%ae", "HEAD", "--"
    )
    own = [sha for sha, _, by in (row.partition("\0") for row in split_output(listed)) if by == email]
    return queries.count_unannounced(ledger.con, own)


def _list_unread(app: App, states: Mapping[str, SourceState]) -> list[str]:
    """One sentence for each agent whose folders have newer files of this repository than anything that was read."""
    if not app.config.enabled:
        return []
    from rekal.capture.unread_files import find_unread_files  # it loads all adapters

    return [
        f"{agent}: {paths[0]}{f' and {len(paths) - 1} more' if len(paths) > 1 else ''} names this repository, is newer "
        f"than anything read of {agent}, and is of a kind that this version does not know"
        for agent, paths in find_unread_files(app.job(), states).items()
    ]


def _list_problems(app: App, lacks_index: bool, broken_events: int) -> list[str]:
    problems = [*app.settings.warnings, *list_unused_patterns(app)]
    if broken_events:
        names = spool.list_set_aside(app.layout.spool)
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        problems.append(
            f"events that could not be worked on lie in {app.layout.spool / 'broken'}: {', '.join(names[:3])}{more}"
        )
    if lacks_index:
        problems.append("there is no index: run `rekal index`")
    for lock in (app.layout.lock, app.layout.index_lock):
        holder = find_holder(lock)
        if holder and (holder.stopped or holder.seconds > _TOO_LONG):
            state = "is stopped" if holder.stopped else f"has been at it for {holder.seconds / 60:.0f} minutes"
            problems.append(
                f"process {holder.pid} ({holder.purpose}) {state}: `kill -9 {holder.pid}` ends it, and the next worker "
                "does its work again"
            )
    if app.layout.log.exists():
        last = app.layout.log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
        problems.extend(f"worker: {line}" for line in last)
    return problems


class WeekStats(msgspec.Struct, frozen=True):
    """One week, or all of them. ``week`` is ISO 8601 (2026-W49), ``total`` for the sum.

    ``sessions`` (by agent in ``agents``), ``turns`` and linked ``commits`` are of the week they are dated. ``verdicts``
    counts recalls, ``printed`` the tokens that they printed; ``injected`` counts what agents got unasked, by moment,
    with ``injected_tokens``; ``opened`` counts sessions opened with `show` and captured since. A token is four
    characters.
    """

    week: str
    sessions: int
    turns: int
    commits: int
    agents: dict[str, int]
    verdicts: dict[str, int]
    printed: int
    injected: dict[str, int]
    injected_tokens: int
    opened: int


class UsageStats(msgspec.Struct, frozen=True):
    """Weeks with anything in them, newest first, and the sum of those: ``stats --json``."""

    weeks: list[WeekStats]
    total: WeekStats


def read_stats(app: App, limit: int) -> UsageStats:
    """Read the newest ``limit`` weeks; -1: all. Raises the errors of :func:`rekal.store.ledger.open_ledger`."""
    with open_ledger(app.layout.data, read_only=True) as ledger:
        held = {one.week: one for one in count_weeks(ledger.con)}
    uses: dict[str, list[UseCount]] = {}
    for use in read_uses(app.layout.usage):
        uses.setdefault(use.week, []).append(use)
    weeks = sorted({*held, *uses}, reverse=True)
    if limit >= 0:
        weeks = weeks[:limit]
    stats = [_join_week(held.get(week, WeekCounts(week)), uses.get(week, [])) for week in weeks]
    return UsageStats(stats, _add_up(stats))


def _join_week(held: WeekCounts, uses: list[UseCount]) -> WeekStats:
    recalls = [use for use in uses if use.kind == "recall"]
    given = [use for use in uses if use.kind == "inject"]
    return WeekStats(
        held.week, held.sessions, held.turns, held.commits, held.agents,
        {use.name: use.count for use in recalls}, sum(use.tokens for use in recalls),
        {use.name: use.count for use in given}, sum(use.tokens for use in given), held.opened,
    )  # fmt: skip


def _add_up(weeks: list[WeekStats]) -> WeekStats:
    return WeekStats(
        "total", sum(w.sessions for w in weeks), sum(w.turns for w in weeks), sum(w.commits for w in weeks),
        _add_counts([w.agents for w in weeks]), _add_counts([w.verdicts for w in weeks]),
        sum(w.printed for w in weeks), _add_counts([w.injected for w in weeks]),
        sum(w.injected_tokens for w in weeks), sum(w.opened for w in weeks),
    )  # fmt: skip


def _add_counts(counts: list[dict[str, int]]) -> dict[str, int]:
    out: dict[str, int] = {}
    for one in counts:
        for name, count in one.items():
            out[name] = out.get(name, 0) + count
    return dict(sorted(out.items()))
