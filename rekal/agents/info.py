"""The facts about an agent that are not its transcripts: one record in each agent's folder."""

from __future__ import annotations

import msgspec


class AgentInfo(msgspec.Struct, frozen=True):
    """An agent as the rest of rekal knows it. Paths are relative: traces to the home directory, files to the work tree.

    ``adapters`` are modules with an ``ADAPTER``, inside the agent's folder. ``traces`` are directories whose presence
    means that the agent is used on this machine. ``instruction_file`` is what it reads at its start, ``skill_folder``
    where it looks for skills (empty: nowhere). ``environment_prefixes`` begin the variables that its adapter and its
    host set or read; ``session_variables`` are set by the host for what it runs, those with ``ID`` name its session.
    ``resume_command`` goes before a session's own id to go on with it (empty: there is no such command).
    """

    name: str
    adapters: tuple[str, ...] = ("adapter",)
    traces: tuple[str, ...] = ()
    instruction_file: str = "AGENTS.md"  # most newer agents read it
    skill_folder: str = ""
    environment_prefixes: tuple[str, ...] = ()
    session_variables: tuple[str, ...] = ()
    resume_command: tuple[str, ...] = ()
