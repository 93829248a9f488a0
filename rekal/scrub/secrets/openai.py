"""OpenAI user, project, service account and admin keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix, looks_mixed

KIND = by_prefix("openai-key", "sk-(?:proj-|svcacct-|admin-|None-)?", ("sk-",), least=32, check=looks_mixed)
