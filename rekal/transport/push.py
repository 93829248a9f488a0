"""Publishing: what may leave becomes a commit on this clone's ref, and the ref goes to the remotes that may have it.

The user's push comes first in everything: the hook has a deadline, asks nobody anything, and whatever goes wrong is one
line on stderr and waits for the next push.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from rekal.config import Transport
from rekal.errors import GitError, Refused
from rekal.git import Repo, limit_time, split_output
from rekal.model import Author
from rekal.scrub import Scrubber
from rekal.store import commit_rows
from rekal.store.database import Connection
from rekal.store.layout import Layout
from rekal.store.ledger import Ledger, open_ledger
from rekal.store.locks import hold_lock
from rekal.transport import departures, refs
from rekal.transport.departures import Claim, Held, Outgoing, anchors_of, plan_outgoing
from rekal.transport.mainline import RULE_VERSION, Mainline, Verdict, Why, find_mainline, judge_commits
from rekal.transport.refs import OwnRef, Published, own_ref, publish_segments, tip_of
from rekal.wire.segment import encode_segments

HOOK_SECONDS = 2.0
PUSH_SECONDS = 120.0


class Destination(msgspec.Struct, frozen=True):
    """One remote that memory may go to."""

    name: str
    url: str


class Pushed(msgspec.Struct, frozen=True):
    """Outcome of one push. ``left`` says that something stays for another push; ``notes`` are for the user."""

    remote: str
    ref: str
    checkpoints: int
    sessions: int
    bytes: int
    held: list[Held]
    notes: list[str]
    sent: bool
    left: bool
    memories: int = 0


class Sender(msgspec.Struct, frozen=True):
    """Everything a push needs to know of this clone. ``claims`` reads the memories that may travel from the ledger."""

    layout: Layout
    repo: Repo
    author: Author
    settings: Transport
    scrubber: Scrubber
    claims: Callable[[Connection], Sequence[Claim]] = lambda con: ()


def find_destination(sender: Sender, remote: str, url: str | None = None) -> Destination:
    """Return the remote, if memory may go there: its name was allowed, and it still is where it was then.

    ``url`` is where the user's push goes, when that is known. Raises :class:`Refused`.
    """
    settings = sender.settings
    if settings.share == "none" or not settings.remotes:
        raise Refused("sharing is off", "`rekal share REMOTE` turns it on")
    allowed = settings.remotes.get(remote)
    if allowed is None:
        named = ", ".join(sorted(settings.remotes))
        raise Refused(f"memory does not go to {remote}", f"it goes to {named}; `rekal share REMOTE` adds one")
    present = sender.repo.ask("remote", "get-url", "--push", remote)
    if present != allowed or (url is not None and url != present):
        raise Refused(f"{remote} is not where it was when sharing was turned on", f"`rekal share {remote}` confirms it")
    return Destination(remote, allowed)


def preview_push(sender: Sender, to: Destination, said: Sequence[str] = ()) -> Outgoing:
    """Return the records that a push to ``to`` would send now and those it would hold back. Changes nothing."""
    mainline = find_mainline(sender.repo, to.name, sender.settings.mainline)
    with open_ledger(sender.layout.data, read_only=True, wait=30.0) as ledger:
        claims = sender.claims(ledger.con)
        return plan_outgoing(ledger, sender.repo, mainline, sender.settings.share, sender.scrubber, said, claims)


def push_memory(
    sender: Sender,
    to: Destination,
    *,
    pushed: Mapping[str, str] | None = None,
    said: Sequence[str] = (),
    seconds: float = PUSH_SECONDS,
) -> Pushed:
    """Publish what may leave and send this clone's ref to ``to``.

    ``pushed`` is what the user's own push writes there; ``said`` are commits that the user says were merged. Raises
    :class:`GitError` when git does not manage it in time; what was published locally then leaves with the next push.
    """
    # Long because one deadline and one lock hold all steps together.
    until = time.monotonic() + seconds
    with hold_lock(sender.layout.transport_lock, wait=min(seconds, 30.0), purpose="pushing"):
        mainline = find_mainline(sender.repo, to.name, sender.settings.mainline, pushed)
        with open_ledger(sender.layout.data, read_only=True, wait=seconds) as ledger:
            claims = sender.claims(ledger.con)
            outgoing = plan_outgoing(
                ledger, sender.repo, mainline, sender.settings.share, sender.scrubber, said, claims
            )
            ref = own_ref(sender.author, ledger.meta("store_id") or "", sender.settings.namespace)
            obstacle = _obstacle(sender, ledger, mainline, to, claims)
        published, size = _publish(sender.repo, ref, outgoing)
        sent: str | None = None
        failed = None
        try:
            if not obstacle:
                sent = _send_ref(sender, ref, to, max(0.1, until - time.monotonic()), always=not pushed)
        except GitError as error:
            failed = error
        tip = published.tip if published else ""
        _note_departure(sender, mainline, outgoing, tip, _entry(ref, sent, to, outgoing, size) if sent else None)
    if failed:
        raise failed
    notes = [note for note in (published.note if published else "", obstacle) if note]
    left = bool(outgoing.held or obstacle) or _lacking(sender, ref, to)
    if not left:
        sender.layout.unsent.unlink(missing_ok=True)
    counts = len(outgoing.checkpoints), len(outgoing.sessions), size
    return Pushed(to.name, ref.name, *counts, outgoing.held, notes, bool(sent), left, outgoing.memories)


def _obstacle(
    sender: Sender, ledger: Ledger, mainline: Mainline | None, to: Destination, claims: Sequence[Claim]
) -> str:
    """Return the reason why the ref may not go to this remote as yet, in words; empty when it may."""
    if sender.settings.namespace == "heads" and not sender.repo.ask(
        "for-each-ref", "--count=1", "--format=%(refname)", f"refs/remotes/{to.name}/"
    ):
        # A host takes the first branch it gets for its default.
        return f"{to.name} has no branch yet; memory goes there with the next push"
    if len(sender.settings.remotes) > 1:
        # One ref goes to all remotes: what one of them has merged may be news to another.
        marks = departures.read_sent(ledger).marks
        told = [claim for claim in claims if any(("event", event.id) in marks for event in claim.events)]
        left = [*commit_rows.checkpoints_sent(ledger.con), *anchors_of(ledger, told)]
        verdicts = judge_commits(sender.repo, mainline, left)
        foreign = sum(not verdict.shareable for verdict in verdicts)
        if foreign:
            return f"{foreign} commits shared elsewhere are not part of {to.name}'s mainline; its memory waits for them"
    return ""


def _lacking(sender: Sender, ref: OwnRef, to: Destination) -> bool:
    """True if another remote that memory may go to does not have the ref as it is."""
    repo = sender.repo
    others = [Destination(name, url) for name, url in sender.settings.remotes.items() if name != to.name]
    there = [other for other in others if repo.ask("remote", "get-url", "--push", other.name) == other.url]
    return any(tip_of(repo, _pushed_ref(ref, other)) != tip_of(repo, ref.name) for other in there)


def _publish(repo: Repo, ref: OwnRef, outgoing: Outgoing) -> tuple[Published | None, int]:
    if outgoing.empty:
        return None, 0
    segments = list(encode_segments(outgoing.records))
    return publish_segments(repo, ref, segments), sum(len(s.data) for s in segments)


def _send_ref(sender: Sender, ref: OwnRef, to: Destination, seconds: float, *, always: bool) -> str | None:
    """Send the ref, unless (``always`` off) the remote had its tip when last seen. Returns the tip, if it was sent."""
    run, seen = sender.layout.run, _pushed_ref(ref, to)
    listed = split_output(sender.repo.run("for-each-ref", "--format=%(refname) %(objectname)", ref.name, seen))
    tips = dict(line.split(" ") for line in listed)
    tip = tips.get(ref.name)
    if tip is None or (not always and tips.get(seen) == tip):
        return None
    options = (
        "--quiet",
        "--no-verify",
        "--recurse-submodules=no",
        "--no-follow-tags",
        "--porcelain",
        *refs.lease_options(run, to.name, ref),
    )
    arguments = ("push", *options, to.name, f"{ref.name}:{ref.name}")
    quiet = sender.repo.quiet_environment()
    try:
        sender.repo.run(*arguments, timeout=seconds, env=quiet)
    except GitError as error:
        if "failed to push some refs" in error.message and (reason := _find_obstruction(sender.repo, ref, to, quiet)):
            raise GitError(reason) from None
        raise
    # What the remote has is remembered beside what fetches bring, so that the next push need not ask.
    sender.repo.run("update-ref", seen, tip)
    refs.drop_lease(run, to.name)
    return tip


def _find_obstruction(repo: Repo, ref: OwnRef, to: Destination, env: Mapping[str, str]) -> str:
    """Return a sentence about what stands in the way of our ref on the remote, and the way out; empty for nothing."""
    parent = ref.name.rpartition("/")[0]
    try:
        out = repo.run("ls-remote", to.name, parent, ref.name, timeout=10.0, env=env)
    except GitError:
        return ""  # it does not answer, so nothing is known against it
    there = {name: tip for tip, _, name in (line.partition("\t") for line in split_output(out))}
    if parent in there:  # git keeps no ref below another one
        return f"{to.name} has a ref {parent} in the way of ours; `git push {to.name} :{parent}` removes it"
    tip = there.get(ref.name)
    if tip is None or repo.ask("merge-base", "--is-ancestor", tip, ref.name) is not None:
        return ""
    name = f"{to.name} has something else under {ref.name} than this clone left there"
    return f"{name}; `rekal share {to.name} --new-clone-id` goes on under another name"


def _pushed_ref(ref: OwnRef, to: Destination) -> str:
    return f"refs/rekal-pushed/{to.name}/{ref.name.removeprefix('refs/')}"


def _entry(ref: OwnRef, tip: str, to: Destination, outgoing: Outgoing, size: int) -> commit_rows.Push:
    counts = len(outgoing.checkpoints), len(outgoing.sessions)
    return commit_rows.Push(ref.name, tip, to.name, to.url, datetime.now(UTC), *counts, size)


def _note_departure(
    sender: Sender, mainline: Mainline | None, outgoing: Outgoing, tip: str, push: commit_rows.Push | None
) -> None:
    """Record a departure in one transaction: opening the store costs more than everything written here.

    A crash before it repeats the publish, which makes the same bytes and therefore nothing new.
    """
    with (
        hold_lock(sender.layout.lock, wait=30.0, purpose="noting what left"),
        open_ledger(sender.layout.data, read_only=False, wait=30.0) as ledger,
        ledger.transaction(indexed=False),  # the index knows nothing of what was sent
    ):
        _remember_verdicts(ledger, mainline, outgoing.verdicts)
        if tip:
            commit_rows.add_sent_marks(ledger.con, outgoing.marks, tip)
        if push:
            commit_rows.record_push(ledger.con, push)


def read_pushed_refs(lines: Sequence[str]) -> dict[str, str]:
    """Read the lines of a pre-push hook: the commits that the remote's refs become, by ref, deletions left out."""
    out = {}
    for line in lines:
        parts = line.split()
        if len(parts) == 4 and set(parts[1]) != {"0"}:
            out[parts[2]] = parts[1]
    return out


def check_pushed_refs(sender: Sender, remote: str, url: str, lines: Sequence[str]) -> None:
    """Raise :class:`Refused` when a push of the user's takes memory to a remote that memory may not go to.

    ``lines`` are those of a pre-push hook: local ref and commit, then the remote's.
    """
    rows = [line.split() for line in lines]
    sent = [row for row in rows if len(row) == 4 and set(row[1]) != {"0"}]  # a deletion takes nothing there
    ours = sorted({name for row in sent for name in (row[0], row[2]) if _is_memory_ref(name)})
    if not ours:
        return
    try:
        find_destination(sender, remote, url)
    except Refused as error:
        more = f" and {len(ours) - 1} more" if len(ours) > 1 else ""
        allow = f", or allow it with `rekal share {remote}`" if remote != url else ""
        hint = f"push branches and tags by name (`git push {remote} 'refs/tags/*' main`){allow}"
        raise Refused(f"this push would take memory ({ours[0]}{more}) along, and {error.message}", hint) from None


def push_from_hook(sender: Sender, remote: str, url: str, lines: Sequence[str]) -> str:
    """The pre-push hook: send what may leave within :data:`HOOK_SECONDS`. Returns a line for stderr, or nothing.

    A remote that memory does not go to is the normal case of a second remote, said once in one line.
    """
    try:
        to = find_destination(sender, remote, url)
        # One limit around all that git does: a limit inside that is longer would leave nothing to send with.
        with limit_time(HOOK_SECONDS):
            done = push_memory(sender, to, pushed=read_pushed_refs(lines), seconds=HOOK_SECONDS)
    except Refused as error:
        return str(error)
    except GitError as error:
        return f"memory was not sent ({error.message}); it goes with the next push"
    return "; ".join(done.notes)


def _remember_verdicts(ledger: Ledger, mainline: Mainline | None, verdicts: Sequence[Verdict]) -> None:
    """Keep verdicts for this tip. Inside a transaction. A *no* is asked again when the tip moves."""
    if mainline is None:
        return
    names = {one.git_sha: one.why.name for one in verdicts if one.why is not Why.NO_MAINLINE}
    commit_rows.save_verdict_names(ledger.con, mainline.tip, RULE_VERSION, names)


# A branch of the user's may begin with rekal/, too; ours are named by a person and a clone.
_HEAD = re.compile(r"refs/heads/rekal/[a-z0-9-]+/[0-9a-z]{10}")


def _is_memory_ref(name: str) -> bool:
    """True if a ref of this name holds memory: this clone's, a teammate's, or a note of where a remote is."""
    return name.startswith(("refs/rekal/", "refs/rekal-remote/", "refs/rekal-pushed/")) or bool(_HEAD.fullmatch(name))
