"""A push to a scratch ref of each remote that memory may go to, taken back at once."""

from __future__ import annotations

from collections.abc import Iterator

from rekal import ids
from rekal.app.context import App
from rekal.app.doctor.diagnosis import CheckResult
from rekal.errors import GitError

_SECONDS = 20.0


def examine_remotes(app: App) -> Iterator[CheckResult]:
    """Push an empty commit to a ref of no other use on every remote that memory is sent to, and take it back."""
    transport = app.config.transport
    if transport.share == "none" or not transport.remotes:
        for name in transport.remotes:
            yield _reach_remote(app, name)
        if not transport.remotes:
            yield CheckResult("remote", "ok", "memory stays here: sharing is off")
        return
    # Beside the refs that teammates fetch, so that nobody takes it for memory; a host that lets one through lets both.
    start = "refs/heads/rekal-doctor/" if transport.namespace == "heads" else "refs/rekal-doctor/"
    for name in transport.remotes:
        yield _push_and_take_back(app, name, start + ids.ulid().lower())


def _reach_remote(app: App, name: str) -> CheckResult:
    try:
        app.repo.run("ls-remote", name, "HEAD", timeout=_SECONDS, env=app.repo.quiet_environment())
    except GitError as error:
        return CheckResult("remote", "wrong", f"{name}: {error.message}", f"`git ls-remote {name}` shows why")
    return CheckResult("remote", "ok", f"{name} answers; memory is received from it and none is sent")


def _push_and_take_back(app: App, name: str, ref: str) -> CheckResult:
    repo, env = app.repo, app.repo.quiet_environment()
    said = {
        f"GIT_{role}_{what}": "rekal-doctor@localhost" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    tree = repo.run("mktree", stdin=b"").strip()
    commit = repo.run("commit-tree", tree, "-m", "rekal doctor", "--no-gpg-sign", env=said).strip()
    try:
        repo.run("push", "--quiet", name, f"{commit}:{ref}", timeout=_SECONDS, env=env)
    except GitError as error:
        return CheckResult(
            "remote", "wrong", f"{name}: {error.message}", f"`git ls-remote {name}` shows whether it answers"
        )
    try:
        repo.run("push", "--quiet", name, f":{ref}", timeout=_SECONDS, env=env)
    except GitError as error:
        return CheckResult("remote", "note", f"{name} takes memory, but not away: {error.message}",
                       f"`git push {name} :{ref}` removes the scratch ref")  # fmt: skip
    return CheckResult("remote", "ok", f"{name} took a scratch ref and gave it up again")
