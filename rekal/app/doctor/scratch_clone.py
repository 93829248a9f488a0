"""The whole way of a memory, tried in a scratch clone with a home of its own: nothing of the user's is read or changed.

A transcript with a planted key, a commit that a hook sees, the capture, the answer to a question, a push to a scratch
remote, and the receipt in a second clone. The programs are the installed ones, started as a person starts them.
"""

from __future__ import annotations

import json
import os
import random
import string
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rekal.agents.registry import describe_built_in
from rekal.app.context import App, find_executable
from rekal.app.doctor.diagnosis import CheckResult
from rekal.config import ENVIRONMENT, OTHER_VARIABLES
from rekal.errors import GitError, RekalError, StoreError
from rekal.git import find_repo
from rekal.git.plain_git import run_plain_git
from rekal.store import queries, spool
from rekal.store.layout import Layout
from rekal.store.ledger import open_ledger
from rekal.store.locks import find_holder

_SECONDS = 60.0  # of one program; starting one takes a second on a slow machine
_PATIENCE = 30.0  # seconds for the worker that the hook starts
_QUESTION = "why does the parcel counter live in a file"
_BRANCH = "scratch"


class _Scratch(msgspec.Struct, frozen=True):
    """One clone, and the environment of what runs in it."""

    root: Path
    env: Mapping[str, str]

    @property
    def layout(self) -> Layout:
        found = find_repo(self.root)
        return Layout(found.store_dir, found.private_dir)

    def git(self, *args: str) -> str:
        return run_plain_git(args, self.root, self.env, _SECONDS)

    def rekal(self, *args: str, ok: tuple[int, ...] = (0,)) -> str:
        """Run the installed program; its output. GitError, as of a step that failed, with what it said."""
        try:
            done = subprocess.run(
                [find_executable(), *args], cwd=self.root, env=dict(self.env), stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=_SECONDS, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitError(f"`rekal {args[0]}` could not be run ({type(error).__name__})") from None
        if done.returncode not in ok:
            said = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
            raise GitError(f"`rekal {args[0]}` failed: {said}")
        return done.stdout


def examine_scrubbing(app: App) -> Iterator[CheckResult]:
    """Plant keys in a text and see that the rules of this store take them out."""
    for kind, key in _plant_keys().items():
        if key in app.scrubber.text(f"export CLOUD_KEY={key}  # for the deployment"):
            yield CheckResult("scrub", "wrong", f"{kind} stays in a text", "see scrub.allow in `rekal config`")
            return
    yield CheckResult("scrub", "ok", f"{len(_plant_keys())} planted keys are taken out")


def _plant_keys() -> dict[str, str]:
    # Made when they are needed: no scanner takes this file for a leak.
    rng = random.Random(os.urandom(8))
    word = string.ascii_letters + string.digits

    def draw(alphabet: str, count: int) -> str:
        return "".join(rng.choice(alphabet) for _ in range(count - 3)) + "A7x"[:3].replace("x", "Q")

    return {
        "a key of Amazon's": "AK" + "IA" + draw(string.ascii_uppercase + "234567", 16),
        "a token of GitHub's": "gh" + "p_" + draw(word, 36),
        "a key of Slack's": "xo" + "xb-" + "".join(rng.choice(string.digits) for _ in range(12)) + "-" + draw(word, 24),
    }


def examine_scratch_clone(app: App) -> Iterator[CheckResult]:
    """Do all of it once in a scratch clone; a step that fails is named, and what rests on it is not tried."""
    with tempfile.TemporaryDirectory(prefix="rekal-doctor-", ignore_cleanup_errors=True) as directory:
        base = Path(directory).resolve()
        try:
            one = _make_clone(app, base)
            key = _plant_keys()["a token of GitHub's"]
            yield from _commit_with_session(one, key)
            yield from _send_and_take_back(one, base)
        except (RekalError, OSError) as error:
            said = error.message if isinstance(error, RekalError) else str(error)
            yield CheckResult("scratch clone", "wrong", said, "run `rekal init` again; if it stays, this is a bug")


def _make_clone(app: App, base: Path) -> _Scratch:
    one = _Scratch(base / "one", _environment(base))
    common = str(app.repo.common_dir)
    shape = (app.repo.ask("rev-parse", "--show-object-format") or "sha1").split()[0]
    bare = ("init", "--quiet", "--bare", f"--object-format={shape}", str(base / "remote.git"))
    # Shared: no object is copied. Without its files, and on a branch that has no commit yet.
    source = ("--shared", "--no-checkout", "--no-tags", "--origin", "source")
    clone = ("clone", "--quiet", *source, common, str(one.root))
    for words in (clone, bare):
        run_plain_git(words, base, one.env, _SECONDS)
    _prepare(one)
    one.git("remote", "add", "origin", str(base / "remote.git"))
    one.git("symbolic-ref", "HEAD", f"refs/heads/{_BRANCH}")
    one.git("read-tree", "--empty")
    one.rekal("init", "--hooks-only", "--backfill", "0")
    one.rekal("config", "recall.strictness", "0")  # whether it is found is tried, not whether it would be enough
    return one


def _prepare(clone: _Scratch) -> None:
    clone.git("config", "user.name", "Scratch")
    clone.git("config", "user.email", "scratch@localhost")
    clone.git("config", "commit.gpgSign", "false")
    # A directory of hooks that the user's other repositories share is not to hear of this one.
    clone.git("config", "core.hooksPath", str(clone.root / ".git" / "hooks"))


def _environment(base: Path) -> dict[str, str]:
    home = base / "home"
    home.mkdir()
    prefixes = tuple(prefix for info in describe_built_in() for prefix in info.environment_prefixes)
    agents = {name for info in describe_built_in() for name in info.session_variables}
    own = (*ENVIRONMENT, *OTHER_VARIABLES, "REKAL_INTERNAL")
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GIT_", "XDG_", *prefixes)) and name not in own and name not in agents
    }
    settings = next((p for p in (Path.home() / ".gitconfig", Path.home() / ".config/git/config") if p.is_file()), None)
    chosen = os.environ.get("GIT_CONFIG_GLOBAL") or (str(settings) if settings else None)
    return {
        **env,
        **({"GIT_CONFIG_GLOBAL": chosen} if chosen else {}),
        "HOME": str(home),
        "USERPROFILE": str(home),
        "GIT_TERMINAL_PROMPT": "0",
        "REKAL_DAEMON": "off",
        "REKAL_EMBED_ENGINE": "off",  # the model is tried by itself
        "REKAL_DATA_HOME": str(home / "rekal"),
        "REKAL_CONFIG_HOME": str(home / "settings"),
    }


def _commit_with_session(one: _Scratch, key: str) -> Iterator[CheckResult]:
    _write_transcript(Path(one.env["HOME"]), one.root, key)
    (one.root / "counter.py").write_text("COUNT = 'counter.txt'\n", encoding="utf-8")
    one.git("add", "counter.py")
    one.git("commit", "--quiet", "-m", "Keep the parcel counter in a file")
    layout = one.layout
    if not _wait_for_worker(layout):
        yield CheckResult("hooks fire", "wrong", f"the commit's hook brought no session within {_PATIENCE:.0f} s",
                      "`rekal init` writes the hooks again")  # fmt: skip
        return
    yield CheckResult("hooks fire", "ok", "a commit in a scratch clone was seen, and its session captured")
    kept = [path.name for path in layout.directory.glob("*.db") if key.encode() in path.read_bytes()]
    if kept:
        yield CheckResult("capture scrubs", "wrong", f"a planted key was stored in {', '.join(kept)}", "this is a bug")
    else:
        yield CheckResult("capture scrubs", "ok", "a planted key is in no file of the store")
    answer = json.loads(one.rekal("recall", "--json", _QUESTION, ok=(0, 1)))
    if answer["sessions"]:
        yield CheckResult("recall answers", "ok", "the session comes back when its work is asked for")
    else:
        yield CheckResult("recall answers", "wrong", f"the answer was {answer['verdict']} {answer['reason']}")


def _wait_for_worker(layout: Layout) -> bool:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        time.sleep(0.1)
        if spool.count_events(layout.spool)[0] or find_holder(layout.working_lock):
            continue
        try:
            with open_ledger(layout.data, read_only=True, wait=1.0) as ledger:
                if queries.count_rows(ledger.con).checkpoints:
                    return True
        except StoreError:
            continue
    return False


def _send_and_take_back(one: _Scratch, base: Path) -> Iterator[CheckResult]:
    push = ("push", "--quiet", "origin", f"HEAD:refs/heads/{_BRANCH}")
    one.git(*push)
    one.rekal("share", "origin", "--mainline", _BRANCH)
    one.git(*push)  # now that the commit is part of the mainline, its memory goes along
    if "refs/rekal/" not in one.git("ls-remote", "origin"):
        yield CheckResult("share", "wrong", "a push to a scratch remote took no memory along", "`rekal push` says why")
        return
    two = _Scratch(base / "two", one.env)
    one.git("clone", "--quiet", "--no-checkout", str(base / "remote.git"), str(two.root))
    _prepare(two)
    two.git("config", "user.email", "teammate@localhost")
    two.rekal("init", "--hooks-only", "--backfill", "0")
    two.rekal("share", "origin", "--receive-only")
    two.rekal("sync")
    with open_ledger(two.layout.data, read_only=True, wait=_PATIENCE) as ledger:
        came = queries.count_rows(ledger.con).foreign_sessions
    if came:
        yield CheckResult("share", "ok", "a push to a scratch remote was received by a second clone")
    else:
        yield CheckResult("share", "wrong", "what was pushed to a scratch remote did not arrive in a second clone")


def _write_transcript(home: Path, root: Path, key: str) -> None:
    """Write a session in the shape of Claude Code's transcripts."""
    session = "5c7a1c4e-0000-4000-8000-000000000001"
    folder = home / ".claude" / "projects" / "".join(c if c.isascii() and c.isalnum() else "-" for c in str(root))
    folder.mkdir(parents=True)
    said = "The parcel counter lives in a file, since a database is one more thing to run for one number."
    path, written = str(root / "counter.py"), "COUNT = 'counter.txt'\n"
    call = {"type": "tool_use", "id": "toolu_01", "name": "Write", "input": {"file_path": path, "content": written}}
    result = {"type": "tool_result", "tool_use_id": "toolu_01", "content": "File created.", "is_error": False}
    messages: list[tuple[str, object]] = [
        ("user", f"Why does the parcel counter live in a file? The token is {key}."),
        ("assistant", [{"type": "text", "text": said}]),
        ("assistant", [call]),
        ("user", [result]),
    ]
    parent = None
    with (folder / f"{session}.jsonl").open("w", encoding="utf-8") as file:
        for number, (role, content) in enumerate(messages):
            name = f"5c7a1c4e-0000-4000-8000-0000000001{number:02d}"
            record = {
                "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": str(root),
                "sessionId": session, "version": "2.1.183", "gitBranch": _BRANCH, "type": role, "uuid": name,
                "message": {"role": role, "content": content, **({"id": f"msg_{number}"} if role != "user" else {})},
                "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            }  # fmt: skip
            file.write(json.dumps(record) + "\n")
            parent = name
