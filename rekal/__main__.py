"""Entry point of ``rekal`` and ``git-rekal``."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line. The only place that turns what went wrong into a sentence and an exit code."""
    from rekal.daemon.client import hand_over_recall, is_started_worker
    from rekal.store.worker_turn import take_turn_early

    if is_started_worker() and not take_turn_early():
        return  # another one waits already, and finds what this one was started for
    gc.set_threshold(60_000)  # one look for cycles among what the modules made takes 7 ms of a short command
    from rekal.cli.verb_table import VERBS
    from rekal.daemon.hook_client import hand_over_hook

    code = hand_over_hook()
    if code is None:
        code = hand_over_recall(VERBS)
    if code is None:
        from rekal.cli.main import run_command_line

        code = run_command_line()
    gc.freeze()  # the interpreter looks for cycles as it ends: a tenth of a short command, and the memory goes anyway
    sys.exit(code)


if __name__ == "__main__":
    if not sys.flags.safe_path:  # `python -m rekal` puts the current directory first: any module's name may stand in it
        del sys.path[0]
    main()
