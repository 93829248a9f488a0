"""Repositories with every kind of hook that people have, and ways to see what ran and what changed."""

from __future__ import annotations

import json
import os
import re
import select
import stat
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rekal.git import Repo, find_repo

NAMES = ("post-commit", "post-merge", "post-rewrite", "pre-push")
VOLATILE = ("objects", "logs", "refs", "index", "HEAD", "COMMIT_EDITMSG", "ORIG_HEAD", "worktrees")


def git(directory: Path, *args: str, code: int = 0, env: dict[str, str] | None = None) -> str:
    """Run the real git; its output and messages together. Fails unless it exits with ``code``."""
    done = subprocess.run(
        ["git", *args],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=60,
        env={**os.environ, **(env or {})},
        check=False,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


def commit(directory: Path, name: str = "work.txt") -> str:
    """Change a file, commit it, and return the new commit."""
    with (directory / name).open("a", encoding="utf-8") as out:
        out.write("line\n")
    git(directory, "add", name)
    git(directory, "commit", "-q", "-m", f"change {name}")
    return git(directory, "rev-parse", "HEAD").strip()


def script(path: Path, text: str) -> None:
    """Write an executable."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def listing(*roots: Path) -> dict[str, tuple[int, bytes | str]]:
    """Every file, link and directory below ``roots`` with its mode and bytes; git's own bookkeeping left out."""
    seen: dict[str, tuple[int, bytes | str]] = {}
    for root in roots:
        for path in sorted(root.rglob("*")):
            inside = path.relative_to(root).parts
            ours = inside[:2] == (".git", "rekal") and path.name not in NAMES
            if ".rekal" in inside or ours or (inside[0] == ".git" and len(inside) > 1 and inside[1] in VOLATILE):
                continue
            mode = path.lstat().st_mode
            content: bytes | str = str(path.readlink()) if path.is_symlink() else ""
            seen[str(path)] = (mode, path.read_bytes() if stat.S_ISREG(mode) else content)
    return seen


def events(root: Path, kind: str | None = None) -> list[dict[str, object]]:
    """The spool's events, all whole lines of JSON, oldest first; of one kind if named."""
    paths = sorted(
        (find_repo(root).private_dir / "spool").iterdir(), key=lambda p: (p.name.split("-")[0], p.stat().st_mtime_ns)
    )
    found = [json.loads(path.read_text("utf-8")) for path in paths]
    for path, event in zip(paths, found, strict=True):
        assert re.fullmatch(rf"{event['at']}-\d+-{event['kind']}\.json", path.name), path
    return [event for event in found if kind in (None, event["kind"])]


def _as_if_there(line: str) -> str:
    """What a call says, with the work tree that it is for as its directory: it runs in a directory of rekal's own."""
    words, directory, *rest = line.split("|")
    found = re.fullmatch(r"-C (.*?) (_worker|push .*)", words)
    assert found, line
    assert directory.endswith("/rekal"), line
    return "|".join((found[2], str(Path(found[1]).resolve()), *rest))


class Stub:
    """An executable in place of rekal that says on a pipe how it was called, and keeps what it read."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "re kal's"  # a space and a quote: paths have them
        self._pipe = directory / "calls"
        self.stdin = directory / "stdin"
        os.mkfifo(self._pipe)
        self._fd = os.open(self._pipe, os.O_RDWR | os.O_NONBLOCK)
        self._rest = ""
        script(
            self.path,
            "#!/bin/sh\n"
            f'[ "$3" = _worker ] || cat > "{self.stdin}"\n'
            'echo "$*|$(pwd -P)|${GIT_DIR-}${GIT_INDEX_FILE-}${GIT_WORK_TREE-}|${REKAL_INTERNAL-}" > '
            f'"{self._pipe}"\n',
        )

    def calls(self, count: int) -> list[str]:
        """Wait until ``count`` calls came in; more, or fewer within the time, fail."""
        end = time.monotonic() + 20
        while self._rest.count("\n") < count:
            ready, _, _ = select.select([self._fd], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"only {self._rest!r}"
            self._rest += os.read(self._fd, 65536).decode()
        lines, self._rest = self._rest.splitlines(), ""
        assert len(lines) == count, lines
        return [_as_if_there(line) for line in lines]

    def close(self) -> None:
        """Let go of the pipe."""
        os.close(self._fd)


@dataclass
class Layout:
    """A repository with foreign hooks. ``runs`` names those that must run, of the four that rekal installs too."""

    root: Path
    log: Path
    runs: tuple[str, ...] = NAMES
    extra: tuple[Path, ...] = ()
    record: str = field(init=False)

    def __post_init__(self) -> None:
        self.record = f'for a; do printf "|%s" "$a" >> "{self.log}"; done; echo >> "{self.log}"; cat >> "{self.log}"\n'

    def foreign(self, name: str) -> str:
        """Shell lines that log a hook's name, arguments and standard input."""
        return f'printf "%s" {name} >> "{self.log}"\n{self.record}'

    def by_own_name(self) -> str:
        """The same for a script that knows its name only from $0."""
        return f'printf "%s" "$(basename "$0")" >> "{self.log}"\n{self.record}'

    @property
    def repo(self) -> Repo:
        return find_repo(self.root)

    def logged(self) -> list[str]:
        """What foreign hooks wrote since the last call."""
        text = self.log.read_text("utf-8") if self.log.exists() else ""
        self.log.unlink(missing_ok=True)
        return text.splitlines()

    def snapshot(self) -> tuple[dict[str, tuple[int, bytes | str]], str, str]:
        """Everything that installing and removing must leave as it was."""
        return listing(self.root, *self.extra), git(self.root, "config", "-l"), git(self.root, "status", "--short")


def none(layout: Layout) -> None:
    """No hooks but git's samples."""
    layout.runs = ()


def plain(layout: Layout) -> None:
    """Hand-written sh scripts that go by their own name."""
    for name in NAMES:
        script(layout.root / ".git/hooks" / name, "#!/bin/sh -e\n" + layout.by_own_name())


def bash(layout: Layout) -> None:
    """The same in bash, one script under four names by links."""
    script(layout.root / ".git/dispatch", "#!/usr/bin/env bash\nset -euo pipefail\n" + layout.by_own_name())
    for name in NAMES:
        (layout.root / ".git/hooks" / name).symlink_to("../dispatch")


def other(layout: Layout) -> None:
    """Scripts in a language that cannot be sourced."""
    for name in NAMES:
        body = f"import sys\nwith open({str(layout.log)!r}, 'a') as f:\n"
        body += f"    f.write('|'.join([{name!r}, *sys.argv[1:]]) + '\\n' + sys.stdin.read())\n"
        script(layout.root / ".git/hooks" / name, "#!/usr/bin/env python3\n" + body)


HUSKY = (
    '#!/usr/bin/env sh\nname=$(basename "$0")\nuser=$(dirname "$(dirname "$0")")/$name\n'
    '[ -f "$user" ] || exit 0\nsh -e "$user" "$@"\nexit $?\n'
)


def husky_generate(root: Path) -> None:
    """What husky writes when it is installed: a dispatcher for every hook, in a directory git ignores."""
    generated = root / ".husky" / "_"
    generated.mkdir(parents=True, exist_ok=True)
    (generated / ".gitignore").write_text("*", "utf-8")
    (generated / "h").write_text(HUSKY, "utf-8")
    for name in (*NAMES, "pre-commit"):
        path = generated / name
        path.write_text('#!/usr/bin/env sh\n. "$(dirname "$0")/h"', "utf-8")
        path.chmod(0o755)


def husky(layout: Layout) -> None:
    """Husky 9, with user hooks of our names."""
    for name in NAMES:
        (layout.root / ".husky").mkdir(exist_ok=True)
        (layout.root / ".husky" / name).write_text(layout.foreign(name), "utf-8")
    husky_generate(layout.root)
    git(layout.root, "config", "core.hooksPath", ".husky/_")
    git(layout.root, "add", ".husky")


def husky_free(layout: Layout) -> None:
    """Husky 9, whose user hooks have other names."""
    husky(layout)
    for name in NAMES:
        git(layout.root, "rm", "-q", "-f", f".husky/{name}")
    (layout.root / ".husky").mkdir(exist_ok=True)
    husky_generate(layout.root)
    (layout.root / ".husky" / "pre-commit").write_text(layout.foreign("pre-commit"), "utf-8")
    git(layout.root, "add", ".husky")
    layout.runs = ("pre-commit",)


def lefthook_generate(layout: Layout) -> None:
    """What lefthook writes: a script with its name in it and the hook's name baked in."""
    for name in NAMES:
        text = f'#!/bin/sh\nif [ "$LEFTHOOK" = 0 ]; then exit 0; fi\ncall_lefthook()\n{{\n{layout.foreign(name)}}}\n'
        script(layout.root / ".git/hooks" / name, text + 'call_lefthook "$@"\n')


def pre_commit_generate(layout: Layout, name: str) -> None:
    """What pre-commit writes: bash, finds its directory from $0, runs a ``.legacy`` hook beside it."""
    text = (
        "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\n"
        'HERE="$(cd "$(dirname "$0")" && pwd)"\n'
        '[ -z "${PRE_COMMIT_RUNNING_LEGACY-}" ] || { echo bug >&2; exit 1; }\n'
        f'if [ -x "$HERE/{name}.legacy" ]; then lines=$(cat && echo x); lines=${{lines%x}}; printf "%s" "$lines" | '
        f'PRE_COMMIT_RUNNING_LEGACY=1 "$HERE/{name}.legacy" "$@" || exit; fi\n'
    )
    script(layout.root / ".git/hooks" / name, text + layout.foreign(name))


def pre_commit(layout: Layout) -> None:
    """The pre-commit tool, installed before us."""
    for name in NAMES:
        pre_commit_generate(layout, name)


def global_path(layout: Layout) -> None:
    """core.hooksPath in the user's own settings."""
    shared = layout.root.parent / "my hooks"
    for name in NAMES:
        script(shared / name, "#!/bin/sh\n" + layout.by_own_name())
    git(layout.root, "config", "--global", "core.hooksPath", str(shared))
    layout.extra = (shared,)


def relative_path(layout: Layout) -> None:
    """core.hooksPath names a tracked directory that has no hook of ours."""
    script(layout.root / ".githooks/pre-commit", "#!/bin/sh\n" + layout.by_own_name())
    git(layout.root, "config", "core.hooksPath", ".githooks")
    git(layout.root, "add", ".githooks")
    layout.runs = ("pre-commit",)


LAYOUTS: dict[str, Callable[[Layout], None]] = {
    "none": none,
    "plain": plain,
    "bash": bash,
    "python": other,
    "husky": husky,
    "husky-free": husky_free,
    "lefthook": lefthook_generate,
    "pre-commit": pre_commit,
    "global-path": global_path,
    "relative-path": relative_path,
}
