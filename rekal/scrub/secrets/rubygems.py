"""RubyGems keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("rubygems-key", "rubygems_", ("rubygems_",), least=48, body="[a-f0-9]")
