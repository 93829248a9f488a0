"""The adapter of Gemini CLI."""

from rekal.agents.contract import AgentInfo

INFO = AgentInfo(
    name="gemini",
    traces=(".gemini",),
    instruction_file="GEMINI.md",
    environment_prefixes=("GEMINI_",),
    session_variables=("GEMINI_SESSION_ID", "GEMINI_CLI"),
    resume_command=("gemini", "--resume"),
)
