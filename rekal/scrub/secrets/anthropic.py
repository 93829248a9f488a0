"""Anthropic API, admin and OAuth keys."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix("anthropic-key", r"sk-ant-(?:[a-z]+\d\d-)?", ("sk-ant-",), least=24, anywhere=True)
