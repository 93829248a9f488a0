"""Run a script that attacks rekal and was written for the layout of 0.1.0: ``python run_attack.py SCRIPT``.

The scripts make hostile segments with the codec's own code, under the names that it had then.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import rekal.transport
from rekal.transport import refs
from rekal.wire import frames, limits, segment


def _encode(records: Iterable[Any]) -> list[segment.Segment]:
    return list(segment.encode_segments(records))


def _decode(segments: Iterable[bytes]) -> Any:
    return segment.decode_segments(segments)


def restore_former_names() -> None:
    """Let ``rekal.transport.segment`` and its neighbours be imported from where they were in 0.1.0."""
    former = ModuleType("rekal.transport.segment")
    vars(former).update(vars(segment))
    former.encode, former.decode = _encode, _decode  # type: ignore[attr-defined]
    for name, module in (("segment", former), ("frames", frames), ("limits", limits)):
        sys.modules[f"rekal.transport.{name}"] = module
        setattr(rekal.transport, name, module)
    vars(refs)["slug"] = refs.email_slug


if __name__ == "__main__":
    script = Path(sys.argv[1])
    sys.path.insert(0, str(script.parent))
    sys.argv = [str(script)]
    restore_former_names()
    runpy.run_path(str(script), run_name="__main__")
