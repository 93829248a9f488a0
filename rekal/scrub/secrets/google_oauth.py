"""Google OAuth client secrets, access and refresh tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix, has_digit

KIND = by_prefix("google-oauth", r"(?:GOCSPX-|ya29\.|1//0)", ("GOCSPX-", "ya29.", "1//0"), least=24, check=has_digit)
