"""A ref of ours that is replaced or blocked on the remote is named, and there is a way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import git
from tests.support.app import Rekal
from tests.transport.test_push import on, session


@pytest.mark.parametrize("how", ["replaced", "in the way"])
def test_a_blocked_ref_is_named_and_a_new_name_goes_on(rekal: Rekal, remote: Path, how: str) -> None:
    session(rekal, "queue")
    git(rekal.root, "push", "-q", "origin", "main")
    assert rekal("push").code == 0
    (ours,) = (name for name in on(remote) if name.startswith("refs/rekal/"))
    git(remote, "update-ref", "-d", ours)
    blocked = ours if how == "replaced" else ours.rpartition("/")[0]
    git(remote, "update-ref", blocked, "refs/heads/main")
    session(rekal, "lock", 60)
    git(rekal.root, "push", "-q", "origin", "main")

    done = rekal("push")

    assert done.code != 0
    if how == "replaced":
        assert f"has something else under {ours}" in done.err
        assert rekal("share", "origin", "--new-clone-id").code == 0
    else:
        assert f"`git push origin :{blocked}` removes it" in done.err
        git(rekal.root, "push", "-q", "origin", f":{blocked}")
    assert rekal("push").code == 0
    mine = {name for name in on(remote) if "/" in name.removeprefix("refs/rekal/")}
    assert len(mine) == (2 if how == "replaced" else 1)
