"""Readers of formats that several agents share: JSON lines, SQLite, patches, times, paths."""
