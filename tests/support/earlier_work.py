"""Work with every agent that was done before rekal was there, for back-fills to import again and again."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.support.app import Rekal


@dataclass(frozen=True)
class EarlierWork:
    """A repository with such work and a copy of its store from before the work was imported."""

    rekal: Rekal
    template: Path

    def restore(self) -> None:
        """Put the store back as it was."""
        layout = self.rekal.layout
        for name, place in (("store", layout.directory), ("run", layout.run)):
            shutil.rmtree(place)
            shutil.copytree(self.template / name, place)
