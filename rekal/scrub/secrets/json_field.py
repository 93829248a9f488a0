"""Fields with a quoted secret name, as in JSON and in code."""

from __future__ import annotations

from rekal.scrub.secrets.kind import Kind
from rekal.scrub.secrets.named import HINTS, by_form

KIND = Kind("json-field", HINTS, by_form("json"))
