"""The adapters of Copilot: its command line and its panel in VS Code."""

from rekal.agents.contract import AgentInfo

INFO = AgentInfo(
    name="copilot",
    adapters=("cli", "vscode"),
    traces=(".copilot",),
    instruction_file=".github/copilot-instructions.md",
    environment_prefixes=("COPILOT_",),
    session_variables=("COPILOT_AGENT_SESSION_ID",),
    resume_command=("copilot", "--resume"),
)
