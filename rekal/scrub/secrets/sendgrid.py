"""SendGrid keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("sendgrid-key", r"SG\.[A-Za-z0-9_\-]{16,32}\.", ("SG.",), least=32)
