"""The scripts that broke 0.1.0, beside the checkout: each says today what is right.

Each makes a world of its own and prints what happened. ``right`` must be found in that, ``wrong`` must not.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.support import run_attack

pytestmark = [pytest.mark.soak, pytest.mark.shared]

_PATIENCE = 600.0  # seconds
_CHECKOUT = Path(__file__).resolve().parents[2]
_BUG = r"Traceback|unexpected error"


class Outcome(msgspec.Struct, frozen=True):
    """Patterns over the output, line by line: all of ``right``, none of ``wrong``; ``times`` counts matches of one."""

    right: tuple[str, ...]
    wrong: tuple[str, ...] = ()
    times: tuple[tuple[str, int], ...] = ()


CASES = {
    "claude-not-human": Outcome(
        (r"^human\t1 typed by a person", r"^human\t3 please also fix"), times=((r"^human\t", 2),)
    ),
    "clean-undone-by-worker": Outcome((), ("DIFF",), ((r"^\d same$", 8),)),
    # The script ends by opening the data.db that 0.1.0 set aside: there is none, since the file stays where it is.
    "corrupt-wal-drops-intact-ledger": Outcome(
        (r"^sessions   2 own", "INJECT", r"^osprey.py:1  line", "data.db is whole and kept"),
        (r"damaged-\w+$", "holds [01] sessions"),
        ((r"^sessions   2 own", 2),),
    ),
    "cursor-acp-datadir": Outcome(("why the chats limit", "why the acp limit", "why the datadir limit")),
    "forget-title-returns": Outcome((r"^forgotten: 1 turns", r"^clean$"), ("FAIL", r"left at once: \S")),
    "gbk-file-why": Outcome(tuple(rf"^{x}: {x}.py:1  line " for x in "glcu"), ("did not write",)),
    "git-clean-fdx": Outcome((r"^\.rekal$", "it was put back from the git directory")),
    "huggingface-letters-only": Outcome((), times=(("huggingface-token", 2),)),
    # What stays has no mark of its own: bare hexadecimal, a UUID, and the name (not the secret) of a LiveKit key.
    "new-token-shapes": Outcome(("leaking:",), (r"^  (?!datadog_app |railway |livekit )\w+ \[",)),
    "non-utf8-filename-poisons-spool": Outcome(
        (r"^i.py:1  line", "checkpoint rc=0", r"^INJECT"), ("InvalidInputException", r"\.json$")
    ),
    "opencode2-session-v2": Outcome(
        ("opencode   1 sources",), (), ((r"^puffin.py:1  line", 2), ("opencode: why is", 2))
    ),
    "partial-clone-lazy-fetch": Outcome(
        (r"back-fill: 0$", r"one commit: 0$", r"^recall \d+ ms fetches 0$", r"^why \d+ ms fetches 0$")
    ),
    "push-mirror-sends-memory": Outcome((r"^clean$", "would take memory"), ("FAIL",)),
    "push-signer-orphans": Outcome(
        ("not signed", r"refs/rekal/ann-example-com/"), (r"signers alive [1-9]", r"hanging signer [2-9]\d{3} ms")
    ),
    "removed-worktree-backfill": Outcome(
        tuple(rf"^{name}: {name}.txt:1  line" for name in ("wt2", "bravebird", "calmcat"))
    ),
}

ATTACKS = {
    "c1_config_live": Outcome((r"segments with the token on the remote: 0$",)),
    "c2_bad_regex": Outcome((r"turns: \['2'\] spool: 0", "is not used")),
    "d1_users": Outcome(
        ("reads data.db: False index.db: False", "under umask 000: False False", r"turns left after .*: [1-9]",
         "in process arguments: False"),
        (r"spool listing: True|run: True|vectors: \[True", r"not named: \['", r"elsewhere: \[.*rekal", "alive 0"),
    ),
    "d2_daemon_exec": Outcome((r"run by the daemon: no daemon pid",)),
    "d3_misc": Outcome(
        (r"-> \[\]$", r"^pwn: \[\]", r"^plain fetch 0", "in the way of ours", r"^20,000 refs: .* rc 0",
         r"^  PWNED: False False"),
        (r"-> \[.*refs/rekal", r"odd refs and trees: sync [1-9]"),
        (("does not|not trust this repository's owner", 4),),
    ),
    # A git that a worker starts has the worker's name until it is git: test_workers.py counts without it.
    "f3_storm": Outcome((r"workers at once [0-3], RSS together [12]?\d?\d MB; left in spool 0",)),
    "h2_forget_killed": Outcome(
        ("repeated",), (r"repeated: [^|]*\['(?!forgotten)", r"checkpoint\+index \['", r"commit's worker \['")
    ),
    "s1_cwd_import": Outcome((), ("RAN:",), ((r"^\w+ held", 4),)),
    "s2_committed_store": Outcome(
        ("refs on the attacker's remote: none", "embedding endpoint: 0"),
        (r"secret in: \['", r"mail in: \['", "HANGS", "worker idle: False"),
        ((r"^B ", 7),),
    ),
    "s3_symlinks": Outcome((), (r"(after work:|->) \{'",), ((r"^\w+ \| init rc", 18),)),
    "s4_query": Outcome(
        ("out.csv False x.db False home: \\[\\]", "was cut after 100,000 rows"),
        (r"root:x:|TIMEOUT|no limit|\['U\+",),
    ),
    "s5_hostile_datadb": Outcome((), ("evil.invalid", "quetzalcoatl"), ((r"^init 5", 2),)),
    "s6_team": Outcome(
        (r"^1 recall: INJECT", r"^ann@corp-mail.io\tann-corp-mail-io/", "not signed, unverified"),
        ("Evil Inc", "ALIEN", "POISON"),
    ),
    "s6b_why": Outcome(("^earlier report", "not signed"), ("POISON",)),
    "s6d_push_hang": Outcome((r"\(no rows\)", r"^git push: [0-9]\.\d s"), ("still busy",)),
    "s6e_clean": Outcome((r"\| 2 title:", "5 files that have no place there"), ("ALIEN",)),
    "s7_bombs": Outcome(("push after the amend",), ("TIMEOUT", r"RSS=\d{7,}K")),
    "s7c_amplify": Outcome((r"past what so few bytes can hold",), ("TIMEOUT", r"RSS=\d{7,}K", r"^100k.* \(0, \d\d")),
    "s7d_long_turn": Outcome((), ("TIMEOUT", r"recall: \(0, [2-9]\."), ((r"recall: \(0, ", 2),)),
    "s8_terminal": Outcome((r"^sync  rc 0",), (r"odd: \['", r"forged lines: \['", r"^(recall|log|status) \['")),
    "t1_terminal_text": Outcome(("INJECT",), (r"\\x07", r"\\x1b\]52", r"\\r\\n  27tn23jge7")),
}  # fmt: skip


def _environment(folder: Path) -> dict[str, str]:
    """No variable of this test run but where programs are, and the installed command."""
    folder.mkdir()
    programs = Path(sys.executable).parent
    return {
        "PATH": f"{programs}{os.pathsep}/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TMPDIR": str(folder),
        "REKAL": str(programs / "rekal"),
        "REKAL_BIN": str(programs),
        "REKAL_CASES_TMP": str(folder),
        "PYTHONPATH": str(_CHECKOUT),
    }


def _hold(outcome: Outcome, output: str) -> None:
    print(output)
    for pattern in outcome.right:
        assert re.search(pattern, output, re.MULTILINE), f"missing: {pattern}"
    for pattern in outcome.wrong:
        assert not (found := re.search(pattern, output, re.MULTILINE)), f"{pattern}: {found}"
    for pattern, count in outcome.times:
        assert len(re.findall(pattern, output, re.MULTILINE)) == count, f"not {count} times: {pattern}"


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command,
        cwd=folder.parent,
        env=_environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_PATIENCE,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.fixture
def world() -> Iterator[Path]:
    """A directory with a short name: the daemon's socket lies below it, and a socket's name has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="rk", ignore_cleanup_errors=True) as name:
        yield Path(name) / "w"


@pytest.mark.timeout(_PATIENCE + 60)
@pytest.mark.parametrize("name", sorted(CASES))
def test_the_case_has_the_right_outcome(name: str, shared: Path, world: Path) -> None:
    _hold(CASES[name], _run(["bash", str(shared / "cases" / name / "run.sh")], world))


@pytest.mark.timeout(_PATIENCE + 60)
@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_the_attack_fails(name: str, shared: Path, world: Path) -> None:
    script = shared / "cases" / "red" / f"{name}.py"

    output = _run([sys.executable, str(run_attack.__file__), str(script)], world)

    assert not (found := re.search(_BUG, output)), found and output[found.start() :][:2000]
    _hold(ATTACKS[name], output)


def test_no_script_is_left_out(shared: Path) -> None:
    cases = {path.parent.name for path in (shared / "cases").glob("*/run.sh")}
    attacks = {path.stem for path in (shared / "cases" / "red").glob("*.py")} - {"lab", "craft"}

    assert (cases, attacks) == (set(CASES), set(ATTACKS))
