"""Entry point of ``rekal`` and ``git-rekal``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. The only place that turns what went wrong into a sentence and an exit code."""
    from rekal.cli.main import run

    sys.exit(run())


if __name__ == "__main__":
    main()
