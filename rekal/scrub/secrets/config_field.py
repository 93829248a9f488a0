"""Settings with a secret name in YAML, INI, TOML, headers and code."""

from __future__ import annotations

from rekal.scrub.secrets.kind import Kind
from rekal.scrub.secrets.named import HINTS, by_form

KIND = Kind("config-field", HINTS, by_form("config"))
