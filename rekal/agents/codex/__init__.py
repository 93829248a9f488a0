"""The adapter of Codex."""

from rekal.agents.contract import AgentInfo

INFO = AgentInfo(
    name="codex",
    traces=(".codex",),
    environment_prefixes=("CODEX_",),
    session_variables=("CODEX_THREAD_ID", "CODEX_SANDBOX"),
    resume_command=("codex", "resume"),
)
