"""The adapters of Copilot: its command line and its panel in VS Code."""
