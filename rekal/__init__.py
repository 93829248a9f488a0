"""Memory for coding agents that lives in git."""

__version__ = "0.1.0"
