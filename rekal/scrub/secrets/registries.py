"""Tokens of package registries."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix, looks_drawn

KINDS = (
    by_prefix("crates-token", "cio", ("cio",), least=32, body="[A-Za-z0-9]", check=looks_drawn),
    by_prefix("dockerhub-token", "dckr_(?:pat|oat)_", ("dckr_",), least=24, anywhere=True),
    by_prefix("npm-token", "npm_", ("npm_",), least=36, body="[A-Za-z0-9]", check=looks_drawn),
    by_prefix("nuget-key", "oy2", ("oy2",), least=43, body="[a-z0-9]"),
    by_prefix("pypi-token", "pypi-AgE", ("pypi-AgE",), least=50, anywhere=True),
    by_prefix("rubygems-key", "rubygems_", ("rubygems_",), least=48, body="[a-f0-9]"),
)
