"""The agents whose transcripts rekal reads: a folder each, and the formats that several share."""

from rekal.agents.deprecated_paths import register_old_modules

register_old_modules()
