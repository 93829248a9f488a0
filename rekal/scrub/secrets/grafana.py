"""Grafana service account and cloud tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("grafana-token", "gl(?:sa|c)_", ("gl",), least=32, body="[A-Za-z0-9_+/=]")
