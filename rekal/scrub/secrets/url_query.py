"""URL query parameters whose name says secret."""

from __future__ import annotations

from rekal.scrub.secrets.kind import Kind
from rekal.scrub.secrets.named import HINTS, by_form

KIND = Kind("url-query", HINTS, by_form("query"))
