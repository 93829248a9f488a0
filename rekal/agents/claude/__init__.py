"""The adapter of Claude Code."""

from rekal.agents.contract import AgentInfo

INFO = AgentInfo(
    name="claude",
    traces=(".claude", ".config/claude"),
    instruction_file="CLAUDE.md",
    skill_folder=".claude/skills",
    environment_prefixes=("CLAUDE",),
    session_variables=("CLAUDE_CODE_SESSION_ID", "CLAUDECODE"),
    resume_command=("claude", "--resume"),
)
