"""NVIDIA model API keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("nvidia-key", "nvapi-", ("nvapi-",), least=40)
