"""Have agents' hosts call ``rekal hook``: entries in their settings, put in and taken out byte for byte.

`rekal/injection.json` in the git directory says what was inserted where. A file that somebody edited since loses
exactly our text; one that its program has written anew loses the entries whose command is ours.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from rekal import files
from rekal.errors import Refused, StoreDamaged, UsageError
from rekal.git import Repo
from rekal.install import exclude, json_text
from rekal.install.json_text import Insert
from rekal.install.manifest import Journal
from rekal.store.layout import Layout

Moment = Literal["start", "prompt", "tool", "compact", "end"]
MARK = " hook "
# By its words and not by the program's path, which changes when rekal is installed anew elsewhere.
_OURS = re.compile(r" hook (?:start|prompt|tool|compact|end) --host \w+ ")
SECONDS = 5  # a host's patience; rekal itself stops after a second and a half

# Tools that change files or run commands; a reading needs no warning.
_TOOLS = "Edit|Write|MultiEdit|NotebookEdit|Bash"


class Host(msgspec.Struct, frozen=True):
    """One program that runs agents. ``events`` are its names for our moments, ``form`` the shape of its settings.

    ``file`` is relative to the work tree: the one that is a person's own where the host has such a file.
    """

    name: str
    file: str
    form: Literal["claude", "gemini", "cursor", "copilot", "kiro", "opencode"]
    events: Mapping[Moment, str]


_CLAUDE_EVENTS: Mapping[Moment, str] = {
    "start": "SessionStart", "prompt": "UserPromptSubmit", "tool": "PreToolUse", "compact": "PreCompact",
    "end": "SessionEnd",
}  # fmt: skip

HOSTS: Mapping[str, Host] = {
    host.name: host
    for host in (
        Host("claude", ".claude/settings.local.json", "claude", _CLAUDE_EVENTS),
        Host("codex", ".codex/hooks.json", "claude", _CLAUDE_EVENTS),
        # Gemini takes no text before a tool runs.
        Host(
            "gemini", ".gemini/settings.json", "gemini",
            {"start": "SessionStart", "prompt": "BeforeAgent", "compact": "PreCompress", "end": "SessionEnd"},
        ),
        Host(
            "cursor", ".cursor/hooks.json", "cursor",
            {"start": "sessionStart", "prompt": "beforeSubmitPrompt", "tool": "preToolUse", "compact": "preCompact",
             "end": "sessionEnd"},
        ),
        # Copilot refuses a tool call whose hook fails in any way: none is put there.
        Host(
            "copilot", ".github/hooks/rekal.json", "copilot",
            {"start": "sessionStart", "prompt": "userPromptSubmitted", "compact": "preCompact", "end": "sessionEnd"},
        ),
        Host(
            "kiro", ".kiro/hooks/rekal.json", "kiro",
            {"start": "SessionStart", "prompt": "UserPromptSubmit", "compact": "PreCompact", "end": "Stop"},
        ),
        Host("opencode", ".opencode/plugins/rekal.js", "opencode", {}),
    )
}  # fmt: skip


class Touched(msgspec.Struct, frozen=True):
    """Record of what was done to one host's file. ``before`` and ``after`` are SHA-256 of its bytes; ``created``: there
    was none.
    """

    host: str
    file: str
    created: bool
    inserts: tuple[Insert, ...] = ()
    before: str = ""
    after: str = ""


class Injection(msgspec.Struct, frozen=True):
    """The record of all hosts."""

    version: int = 1
    hosts: tuple[Touched, ...] = ()


def hook_command(executable: Path, host: str, moment: str) -> str:
    """The line that a host runs. It never changes: Codex asks again for the consent of one that does.

    Without rekal, and whatever rekal says, it succeeds: some hosts drop a prompt whose hook fails.
    """
    return f"{shlex.quote(str(executable))}{MARK}{moment} --host {host} 2>/dev/null || exit 0"


def entries_for(host: Host, executable: Path) -> dict[str, Any]:
    """The entries of a host's ``hooks``, by its events. Of Kiro: the one list ``hooks``."""
    commands = {moment: hook_command(executable, host.name, moment) for moment in host.events}
    if host.form == "cursor":
        return {host.events[m]: [{"command": c, "timeout": SECONDS}] for m, c in commands.items()}
    if host.form == "copilot":
        return {host.events[m]: [{"type": "command", "bash": c, "timeoutSec": SECONDS}] for m, c in commands.items()}
    if host.form == "kiro":
        return {
            "hooks": [
                {"name": f"rekal {m}", "trigger": host.events[m], "action": {"type": "command", "command": c},
                 "timeout": SECONDS, "enabled": True}
                for m, c in commands.items()
            ]
        }  # fmt: skip
    # Gemini counts in milliseconds, the others in seconds.
    scale = 1000 if host.form == "gemini" else 1
    out: dict[str, Any] = {}
    for moment, command in commands.items():
        handler: dict[str, Any] = {"type": "command", "command": command, "timeout": SECONDS * scale}
        if host.form == "gemini":
            handler = {"name": "rekal", **handler}
        group: dict[str, Any] = {"hooks": [handler]}
        out[host.events[moment]] = [{"matcher": _TOOLS, **group} if moment == "tool" else group]
    return out


def turn_on(repo: Repo, names: Sequence[str], executable: Path) -> tuple[list[str], list[str]]:
    """Write the entries of the hosts ``names``. Returns the files that hold them, and sentences on those that do not.

    A host that is on already is written anew only when its entries have changed. UsageError for an unknown host.
    """
    for name in names:
        if name not in HOSTS:
            raise UsageError(f"{name} is no host that rekal knows", f"known are {', '.join(sorted(HOSTS))}")
    done, notes = [], []
    for name in names:
        try:
            done.append(_turn_on(repo, HOSTS[name], executable))
        except Refused as error:
            notes.append(f"{HOSTS[name].file}: {error}")
        except OSError as error:
            notes.append(f"{HOSTS[name].file} cannot be written ({error.strerror})")
    return done, notes


def _turn_on(repo: Repo, host: Host, executable: Path) -> str:
    # Taken out first: entries of an earlier version differ, and two of ours would be called.
    turn_off(repo, [host.name])
    put_entries(repo, host.name, host.file, functools.partial(_with_hooks, host, executable))
    return host.file


def put_entries(repo: Repo, name: str, file: str, change: Callable[[str, bool], tuple[str, list[Insert]]]) -> None:
    """Change a settings file by ``change``, which gets its text and whether there was none; noted as ``name``.

    Raises :class:`Refused` for a file that cannot be changed and OSError for one that cannot be written.
    """
    path = repo.root / file
    if path.is_symlink() and not path.resolve().is_relative_to(repo.root.resolve()):
        raise Refused("it is a link to something outside the repository", "it was left alone")
    raw = files.read_or_empty(path)
    created = not files.name_is_taken(path)
    # The host may read it; a text inserted as UTF-8 would make it unreadable.
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Refused("it is UTF-16", "it was left alone")
    try:
        before = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("it is not UTF-8", "it was left alone") from None
    text, inserts = change(before, created)
    journal = Journal(repo)
    data = text.encode()
    touched = Touched(name, file, created, tuple(inserts), _hash(raw), _hash(data))
    # Written down first: whatever is interrupted can be undone.
    _host_save(repo, (*(one for one in read_injection(repo).hosts if one.host != name), touched))
    if created:
        exclude.add_patterns(repo, journal, exclude.exact_pattern(file))
        journal.creates(path)
    files.write_through_link(path, data)


def _with_hooks(host: Host, executable: Path, before: str, created: bool) -> tuple[str, list[Insert]]:
    if host.form == "opencode":
        if not created:
            raise Refused("it is there already and is not rekal's", "remove it first")
        return opencode_plugin(executable), []
    entries = entries_for(host, executable)
    if created or not before.strip():
        heads: dict[str, dict[str, Any]] = {
            "cursor": {"version": 1}, "copilot": {"version": 1}, "kiro": {"version": "v1"},
        }  # fmt: skip
        head = heads.get(host.form, {})
        body = entries if host.form == "kiro" else {"hooks": entries}
        text = json.dumps(head | body, indent=2) + "\n"
        return (text, []) if created else (before + text, [Insert(len(before), text)])
    # Places count in characters of the text without its byte order mark, which is put back at the end.
    text, inserts = before.removeprefix("\ufeff"), []
    if host.form == "kiro":
        inserts = json_text.add_entries(text, ["hooks"], entries["hooks"])
        return _bom(before) + json_text.apply_inserts(text, inserts), inserts
    held = json_text.read_json(text)
    if not isinstance(held, dict) or "hooks" not in held:
        inserts = json_text.add_entries(text, ["hooks"], entries)
        return _bom(before) + json_text.apply_inserts(text, inserts), inserts
    for event, items in entries.items():
        one = json_text.add_entries(text, ["hooks", event], items)
        text, inserts = json_text.apply_inserts(text, one), [*inserts, *one]
    return _bom(before) + text, inserts


def _bom(text: str) -> str:
    return "\ufeff" if text.startswith("\ufeff") else ""


def opencode_plugin(executable: Path) -> str:
    """The plugin file: OpenCode has no shell hooks."""
    template = Path(__file__).with_name("opencode_plugin.js").read_text("utf-8")
    return template.replace('"@REKAL@"', json.dumps(str(executable)))


def turn_off(repo: Repo, names: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Take the hooks of these hosts, or of all, out again. Returns the files changed, and notes on what was left."""
    return take_out_entries(repo, names or list(HOSTS))


def take_out_entries(repo: Repo, names: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Take out what is noted under ``names``, or all of it, the last first. Returns files and notes, as above."""
    record = read_injection(repo)
    done, notes = [], []
    journal = Journal(repo)
    # What was put in last comes out first, so that a file with two entries of ours is as it was between them.
    for one in reversed(record.hosts):
        if names and one.host not in names:
            continue
        together = [other for other in read_injection(repo).hosts if other.file == one.file]
        raw = files.read_or_empty(repo.root / one.file)
        untouched = _hash(raw) in {other.after for other in together}
        note = _take_out(repo, one, journal, alone=len(together) == 1)
        if note:
            notes.append(note)
        else:
            done.append(one.file)
            _host_save(repo, _without(repo, one, untouched=untouched))
    journal.prune()
    return done, notes


def _without(repo: Repo, gone: Touched, *, untouched: bool) -> tuple[Touched, ...]:
    """The record without one entry; a file that it made, and nobody changed, belongs to the other entry in it now."""
    left = [one for one in read_injection(repo).hosts if one.host != gone.host]
    path = repo.root / gone.file
    if gone.created and untouched and path.is_file():
        after = _hash(path.read_bytes())
        own = {"created": True, "after": after}
        left = [msgspec.structs.replace(one, **own) if one.file == gone.file else one for one in left]
    return tuple(left)


def _take_out(repo: Repo, one: Touched, journal: Journal, *, alone: bool) -> str:
    path = repo.root / one.file
    files.remove_unfinished(path)
    raw = files.read_or_empty(path)
    pattern = exclude.exact_pattern(one.file)
    # By the hash of what we wrote: only a file that nobody touched since is removed.
    if one.created and (not files.name_is_taken(path) or _hash(raw) == one.after):
        path.unlink(missing_ok=True)
        journal.forget(path)
        exclude.drop_pattern(repo, journal, pattern)
        return ""
    text = raw.decode("utf-8", "surrogateescape")
    remove = json_text.remove_inserts if one.file.endswith((".json", ".js")) else json_text.remove_texts
    after = remove(text, one.inserts) if one.inserts else None
    # The host has written the file anew, so that our text does not stand there word for word.
    if after is None and one.host not in HOSTS and one.file.endswith(".json"):
        after = _without_ours(text, _without_server)
    elif after is None and MARK in text:
        after = _without_ours(text, _pruned)
        if after is None:
            return f"{one.file} has rekal's entries and is no JSON any more; take them out by hand"
    if after is not None and after != text:
        files.write_through_link(path, after.encode("utf-8", "surrogateescape"))
    if one.created and alone:  # somebody wrote into it: it is theirs now
        journal.forget(path)
        exclude.drop_pattern(repo, journal, pattern)
    return ""


def _without_ours(text: str, prune: Callable[[Any], Any]) -> str | None:
    """The JSON of ``text`` written anew without what ``prune`` leaves out; None when it is none."""
    try:
        value = prune(json_text.read_json(text))
    except Refused:
        return None
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _pruned(value: Any) -> Any:
    if isinstance(value, list):
        kept = [(item, _pruned(item)) for item in value if not _runs_rekal(item)]
        # A group of handlers that held ours alone goes with them.
        return [new for old, new in kept if not (isinstance(old, dict) and old.get("hooks") and not new.get("hooks"))]
    if isinstance(value, dict):
        pruned = {name: _pruned(item) for name, item in value.items()}
        return {name: item for name, item in pruned.items() if not (item == [] and value[name] != [])}
    return value


def _without_server(value: Any) -> Any:
    """Settings without the server called ``rekal``, whatever their key for servers is."""
    if not isinstance(value, dict):
        return value
    out = {}
    for key, held in value.items():
        ours = key in ("mcpServers", "servers", "mcp") and isinstance(held, dict) and "rekal" in held
        left = {name: one for name, one in held.items() if name != "rekal"} if ours else held
        if not ours or left:
            out[key] = left
    return out


def _runs_rekal(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    action = item.get("action")
    commands = [item.get("command"), item.get("bash"), action.get("command") if isinstance(action, dict) else None]
    return any(isinstance(command, str) and _OURS.search(command) for command in commands)


def hosts_state(repo: Repo) -> dict[str, str]:
    """State of each host: ``on``, ``off``, or ``changed`` when its file no longer holds all that was put in."""
    record = {one.host: one for one in read_injection(repo).hosts}
    out = {}
    for name in HOSTS:
        one = record.get(name)
        if one is None:
            out[name] = "off"
            continue
        text = files.read_or_empty(repo.root / one.file).decode("utf-8", "replace")
        whole = MARK in text or (HOSTS[name].form == "opencode" and "rekal" in text)
        # A file without JSON is a plugin's program text, which only has to be there.
        held = all(insert.text in text for insert in one.inserts) and (
            json_text.is_json(text) or not text.startswith("{")
        )
        out[name] = "on" if whole and held else "changed"
    return out


def read_injection(repo: Repo) -> Injection:
    """Record of what is on in this clone. StoreDamaged for a record that cannot be read."""
    data = files.read_or_empty(_host_record(repo))
    if not data:
        return Injection()
    try:
        return msgspec.json.decode(data, type=Injection)
    except msgspec.DecodeError:
        raise StoreDamaged(
            f"{_host_record(repo)} is not readable", "remove it, then run `rekal inject on` again"
        ) from None


def _host_record(repo: Repo) -> Path:
    return Layout(repo.store_dir, repo.private_dir).injection


def _host_save(repo: Repo, hosts: tuple[Touched, ...]) -> None:
    path = _host_record(repo)
    # `clean` removes the directory first and must not bring it back.
    if not path.parent.is_dir():
        return
    if hosts:
        files.write_through_link(path, msgspec.json.encode(Injection(hosts=hosts)))
    else:
        path.unlink(missing_ok=True)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
