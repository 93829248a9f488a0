"""Docker Hub personal and organisation tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("dockerhub-token", "dckr_(?:pat|oat)_", ("dckr_",), least=24, anywhere=True)
