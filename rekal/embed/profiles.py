"""Model profiles: everything about an embedding model that is not in its weights.

A profile decides the vectors as much as the weights do (prefixes, pooling, window), so it is part of the model's id.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import msgspec

from rekal.embed.gguf import GgufHead
from rekal.errors import EngineError, UsageError

Pooling = Literal["mean", "cls", "last"]

PACKAGED = Path(__file__).parent / "models"
_LARGEST_WINDOW = 2048  # memory grows with the window; no chunk we embed is longer
_POOLINGS: dict[int | None, Pooling] = {1: "mean", 2: "cls", 3: "last"}


class Profile(msgspec.Struct, frozen=True):
    """Everything needed to use one model.

    ``file`` is a path, or a bare name inside the directory of packaged models. ``dim`` is what the model gives,
    ``stored_dim`` how many leading components are kept (models trained for it lose 2 % at a third of the size).
    ``max_tokens`` never exceeds the window the model was trained with. ``sha256`` pins the weights when known.
    """

    name: str
    file: str
    dim: int
    stored_dim: int
    max_tokens: int
    pooling: Pooling = "mean"
    query_prefix: str = ""
    document_prefix: str = ""
    normalise: bool = True
    sha256: str | None = None

    def at(self, path: Path) -> Profile:
        """The same profile with its weights at ``path``."""
        return msgspec.structs.replace(self, file=str(path))

    @property
    def path(self) -> Path:
        return PACKAGED / self.file  # an absolute ``file`` replaces the directory


DEFAULT = Profile(
    name="all-MiniLM-L6-v2",
    file="all-MiniLM-L6-v2-Q8_0.gguf",
    dim=384,
    stored_dim=384,
    max_tokens=512,
    sha256="b23e739b8c79c9859fa2bcd8fe729198ba265fa5df9e9c2ccc68ec4bbde8dc59",
)

_BROUGHT_BY_THE_USER = (
    Profile(
        name="nomic-embed-text-v1.5",
        file="nomic-embed-text-v1.5.Q8_0.gguf",
        dim=768,
        stored_dim=256,
        max_tokens=2048,
        query_prefix="search_query: ",
        document_prefix="search_document: ",
    ),
    Profile(
        name="embeddinggemma-300m",
        file="embeddinggemma-300m-Q8_0.gguf",
        dim=768,
        stored_dim=256,
        max_tokens=512,  # its 262,144-word vocabulary makes a window of 2,048 cost over 2 GB
        query_prefix="task: search result | query: ",
        document_prefix="title: none | text: ",
    ),
    Profile(
        name="multilingual-e5-small",
        file="multilingual-e5-small-Q8_0.gguf",
        dim=384,
        stored_dim=384,
        max_tokens=512,
        query_prefix="query: ",
        document_prefix="passage: ",
    ),
)

PROFILES: dict[str, Profile] = {profile.name: profile for profile in (DEFAULT, *_BROUGHT_BY_THE_USER)}


def from_gguf(path: Path) -> Profile:
    """Profile of any GGUF embedding model, as its own header describes it: no prefixes, all components kept."""
    head = GgufHead.read(path)
    return Profile(
        name=head.name,
        file=str(path.absolute()),
        dim=head.dim,
        stored_dim=head.dim,
        max_tokens=min(head.context, _LARGEST_WINDOW),
        pooling=_POOLINGS.get(head.pooling, "mean"),
    )


def find_profile(model: str, file: Path | None = None) -> Profile:
    """The profile called ``model``, or the one of the GGUF file at that path.

    ``file`` is where the user keeps the weights of a named profile. UsageError when ``model`` is neither.
    """
    profile = PROFILES.get(model)
    if profile is not None:
        return profile.at(file.absolute()) if file is not None else profile
    if model.endswith(".gguf"):
        return from_gguf(Path(model))
    raise UsageError(f"there is no model profile '{model}'", f"known are {', '.join(PROFILES)}, or a path to a .gguf")


def verify_weights(profile: Profile) -> str:
    """SHA-256 of the profile's weights, in hexadecimal.

    EngineError when the file is missing, is not what the profile pins, or has another shape than the profile says.
    """
    path = profile.path
    if not path.is_file():
        raise EngineError(
            f"the model file {path} of '{profile.name}' is missing",
            "reinstall rekal" if profile is DEFAULT else "say where the file is with `rekal model use`",
        )
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found == profile.sha256:
        return found  # the profile was written for these very bytes; reading 30,000 words in their head takes 100 ms
    if profile.sha256 is not None:
        raise EngineError(
            f"the model file {path} is damaged: its sha256 is {found[:12]}…, not {profile.sha256[:12]}…",
            "reinstall rekal" if profile is DEFAULT else "fetch it again",
        )
    head = GgufHead.read(path)
    if head.dim != profile.dim or head.context < profile.max_tokens:
        raise EngineError(
            f"the model file {path} has {head.dim} dimensions and a window of {head.context} tokens,"
            f" the profile '{profile.name}' wants {profile.dim} and {profile.max_tokens}"
        )
    return found
