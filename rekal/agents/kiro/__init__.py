"""The adapter of Kiro: its command line and its editor."""
