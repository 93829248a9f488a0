"""The adapter of OpenCode."""

from rekal.agents.contract import AgentInfo

INFO = AgentInfo(
    name="opencode",
    traces=(".local/share/opencode",),
    environment_prefixes=("OPENCODE",),
    session_variables=("OPENCODE",),
    resume_command=("opencode", "--session"),
)
