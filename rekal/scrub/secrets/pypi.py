"""PyPI upload tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("pypi-token", "pypi-AgE", ("pypi-AgE",), least=50, anywhere=True)
