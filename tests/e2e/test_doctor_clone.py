"""The doctor's scratch clone: the installed program, a commit, its hook, a push and a receipt."""

from __future__ import annotations

from tests.support.installed_rekal import Live


def test_the_whole_way_is_gone_once(live: Live) -> None:
    before = live.git("for-each-ref"), live.git("status", "--porcelain")
    done = live("doctor", code=None)
    for name in ("hooks fire", "capture scrubs", "recall answers", "share"):
        assert f"ok      {name} " in done.out, done.out
    assert (live.git("for-each-ref"), live.git("status", "--porcelain")) == before, "nothing of the repository changes"


def test_hooks_that_do_nothing_are_told(live: Live) -> None:
    """With git told to pass over all hooks, as a user's settings may, the commit is seen by nobody."""
    live.git("config", "--global", "core.hooksPath", "/dev/null")
    done = live("doctor", code=1)
    assert "hooks" in done.out and "/dev/null" in done.out, done.out
