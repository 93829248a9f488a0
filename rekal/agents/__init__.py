"""The agents whose transcripts rekal reads: a folder each, and the formats that several share."""

from rekal.agents import deprecated_paths as deprecated_paths  # registers the import paths of 0.1.0
