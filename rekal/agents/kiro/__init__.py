"""The adapter of Kiro: its command line and its editor."""

from rekal.agents.contract import AgentInfo

INFO = AgentInfo(
    name="kiro",
    traces=(".kiro",),
    instruction_file=".kiro/steering/rekal.md",
    environment_prefixes=("KIRO_",),
)
