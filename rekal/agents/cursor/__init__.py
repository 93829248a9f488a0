"""The adapter of Cursor: its command line, its editor and its transcripts."""

from rekal.agents.contract import AgentInfo

INFO = AgentInfo(
    name="cursor",
    traces=(".cursor",),
    environment_prefixes=("CURSOR_",),
    session_variables=("CURSOR_AGENT",),
    resume_command=("cursor-agent", "--resume"),
)
