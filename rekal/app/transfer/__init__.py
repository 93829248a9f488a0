"""Memories of other programs into the log, and the log out into files that they read."""
