"""Keys of model providers and of the tools around them."""

from __future__ import annotations

from rekal.scrub.regex import Regex
from rekal.scrub.secrets.kind import by_prefix, has_digit, looks_drawn

# Between the signs of a key lies at least one long part; `sk-` alone also begins names of styles and of languages.
_LONG_PART = Regex(r"[A-Za-z0-9]{16}")


def _is_key(token: str) -> bool:
    return has_digit(token) and _LONG_PART.search(token) is not None


KINDS = (
    by_prefix("anthropic-key", r"sk-ant-(?:[a-z]+\d\d-)?", ("sk-ant-",), least=24, anywhere=True),
    by_prefix("groq-key", "gsk_", ("gsk_",), least=40, body="[A-Za-z0-9]"),
    by_prefix(
        "huggingface-token",
        "(?:hf|api_org)_",
        ("hf_", "api_org_"),
        least=30,
        body="[A-Za-z0-9]",
        check=looks_drawn,
    ),
    by_prefix("langsmith-key", "(?:lsv2_(?:pt|sk)_|[sp]k-lf-)", ("lsv2_", "sk-lf-", "pk-lf-"), least=32),
    by_prefix("nvidia-key", "nvapi-", ("nvapi-",), least=40),
    by_prefix("openrouter-key", "sk-or-(?:v1-)?", ("sk-or-",), least=32, body="[A-Za-z0-9]"),
    by_prefix("perplexity-key", "pplx-", ("pplx-",), least=40, body="[A-Za-z0-9]"),
    by_prefix("replicate-token", "r8_", ("r8_",), least=37, body="[A-Za-z0-9]"),
    by_prefix("xai-key", "xai-", ("xai-",), least=60, body="[A-Za-z0-9]"),
    # After all other keys that begin with sk-.
    by_prefix("openai-key", "sk-(?:proj-|svcacct-|admin-|None-)?", ("sk-",), least=20, check=_is_key),
)
