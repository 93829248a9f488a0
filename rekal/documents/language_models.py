"""Language models that facts are asked of: an OpenAI-compatible endpoint, or a command that reads standard input.

Both get a system text and a request, and give back a text. What goes wrong is an EngineError in one sentence, and costs
the batch at hand alone.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec

from rekal.errors import EngineError, UsageError

if TYPE_CHECKING:
    from openai import OpenAI

_INSTALL = "pip install 'git-rekal[extract]'"
_RETRIES = 3


class LanguageModel(Protocol):
    """Something that answers a request. ``name`` is what the log says of where a fact came from."""

    name: str

    def answer(self, system: str, request: str) -> str:
        """Answer one request. Raises EngineError."""
        ...


class EndpointModel:
    """A model behind an OpenAI-compatible endpoint: OpenAI's own, Ollama, llama-server and the like."""

    def __init__(
        self, model: str, base_url: str | None, api_key: str | None, schema: Mapping[str, object], seconds: float
    ) -> None:
        self.name = model
        self._schema = schema
        self.client: OpenAI = _open_client(base_url, api_key, seconds)

    def answer(self, system: str, request: str) -> str:
        """Ask for a structured answer; busy and failing endpoints are asked again, as they say they want to be."""
        from openai import APIConnectionError, APIStatusError, OpenAIError

        try:
            done = self.client.chat.completions.create(
                model=self.name,
                temperature=0,
                messages=[{"role": "system", "content": system}, {"role": "user", "content": request}],
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "facts", "strict": True, "schema": dict(self._schema)},
                },
            )
        except APIStatusError as error:
            raise EngineError(f"the model's endpoint answered {error.status_code}", "try again later") from None
        except APIConnectionError as error:
            raise EngineError(
                f"the model's endpoint cannot be reached ({_cause_of(error)})", "is it running?"
            ) from None
        except (OpenAIError, ValueError) as error:  # an answer that is cut short is no JSON
            raise EngineError(
                f"the model's endpoint answered with nonsense ({_cause_of(error)})", "try again"
            ) from None
        return _text_of(done.choices[0].message if done.choices else None)


def _text_of(message: object) -> str:
    refusal = getattr(message, "refusal", None)
    if refusal:
        raise EngineError(f"the model refused ({' '.join(str(refusal).split())[:80]})")
    content = getattr(message, "content", None)
    if not isinstance(content, str) or not content.strip():
        raise EngineError("the model's answer is empty", "try again")
    return content


def _cause_of(error: Exception) -> str:
    return " ".join(str(error.__cause__ or error).split())[:80] or type(error).__name__


def _open_client(base_url: str | None, api_key: str | None, seconds: float) -> OpenAI:
    try:
        from openai import OpenAI
    except ImportError:
        raise UsageError("facts by an endpoint need the package openai", _INSTALL) from None
    # A local server asks for no key, and the client insists on one.
    return OpenAI(base_url=base_url, api_key=api_key or "none", timeout=seconds, max_retries=_RETRIES)


class CommandModel:
    """A program that reads the request on standard input and prints the answer, such as ``claude -p``."""

    def __init__(self, command: str, env: Mapping[str, str], seconds: float) -> None:
        self._words = shlex.split(command)
        if not self._words:
            raise UsageError("the command that extracts facts is empty", "write one, such as 'claude -p'")
        self.name = self._words[0]
        self._env, self._seconds = env, seconds

    def answer(self, system: str, request: str) -> str:
        """Run the program once; both texts are its input, since programs differ in how they take a system text."""
        try:
            done = subprocess.run(
                self._words, input=f"{system}\n\n{request}\n", capture_output=True, encoding="utf-8", errors="replace",
                timeout=self._seconds, env=dict(self._env), check=False,
            )  # fmt: skip
        except FileNotFoundError:
            raise EngineError(f"there is no program {self.name}", "check the command") from None
        except subprocess.TimeoutExpired:
            raise EngineError(f"{self.name} did not answer within {self._seconds:g} s", "try again") from None
        except OSError as error:
            raise EngineError(f"{self.name} cannot be run ({error.strerror})", "check the command") from None
        if done.returncode:
            said = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1][:120]
            raise EngineError(f"{self.name} failed ({said})", "run it by hand")
        return _unwrap(done.stdout)


def _unwrap(printed: str) -> str:
    """The text in the JSON envelope that ``claude -p --output-format json`` prints; else all that was printed."""
    try:
        found = json.loads(printed)
    except (ValueError, RecursionError):
        return printed
    return str(found["result"]) if isinstance(found, dict) and isinstance(found.get("result"), str) else printed


class ModelChoice(msgspec.Struct, frozen=True):
    """Choice of a model: a command, or a model's name at an endpoint. ``seconds`` for one answer."""

    model: str | None = None
    base_url: str | None = None
    command: str | None = None
    seconds: float = 120.0


def open_model(
    choice: ModelChoice, env: Mapping[str, str], api_key: str | None, schema: Mapping[str, object]
) -> LanguageModel:
    """Open the model that was chosen. UsageError without one, and without the package that it needs."""
    if choice.command:
        return CommandModel(choice.command, env, choice.seconds)
    if choice.model:
        return EndpointModel(choice.model, choice.base_url, api_key, schema, choice.seconds)
    raise UsageError(
        "no model was chosen that takes facts out of documents",
        "set extract.model (and extract.url), or extract.command, with `rekal config`",
    )
