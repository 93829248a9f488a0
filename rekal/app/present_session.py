"""The session that an agent is in, for hosts that do not name it: by the transcript that was written to last."""

from __future__ import annotations

from rekal.app.context import App
from rekal.capture.read_sources import find_changed_sources, read_source
from rekal.errors import NotInitialised
from rekal.store.ledger import open_ledger
from rekal.store.source_state import SourceState, read_states


def find_present_session(app: App, agent: str, since: float) -> str | None:
    """Id of the session of this repository that ``agent`` wrote to last, not before ``since`` (seconds since 1970).

    A transcript that no capture has read yet is read here; nothing is stored. None without one.
    """
    job = app.job()
    sources = [
        (adapter, source)
        for adapter, source in find_changed_sources(job, {})  # oldest first
        # A database has a counter in place of a time, and is looked into whenever it is there.
        if source.agent == agent and ("#" in source.key or source.mtime_ns >= since * 1e9)
    ]
    if not sources:
        return None
    states = _read_captured(app)
    for adapter, source in reversed(sources):
        state = states.get(source.key)
        if state is not None and state.session_id is not None and state.belongs:
            return state.session_id
        for session in read_source(job, adapter, source, None).sessions:
            if session.parent_id is None:  # a subagent's caller is the one who remembers
                return session.id
    return None


def _read_captured(app: App) -> dict[str, SourceState]:
    try:
        with open_ledger(app.layout.data, read_only=True) as ledger:
            return read_states(ledger.con)
    except NotInitialised:
        return {}
