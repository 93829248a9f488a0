"""Verbs for the programs that run agents, and for whoever takes over from one."""
