"""GitHub fine-grained personal access tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("github-fine-grained", "github_pat_", ("github_pat_",), least=82, body="[A-Za-z0-9_]", anywhere=True)
