"""Write integrations/: plugins, extensions and snippets for agents' hosts, all from one source.

``--check`` writes nothing and fails when they are stale. The hooks are those that ``rekal inject on`` writes, with the
``rekal`` that is on the PATH; the skill is the one that ``rekal init`` installs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rekal import __version__
from rekal.install.host_hooks import HOSTS, entries_for, opencode_plugin

ROOT = Path(__file__).resolve().parents[1]
ON_PATH = Path("rekal")
WORDS = "Memory of this repository: past sessions, decisions and ruled-out approaches"
SERVER: dict[str, Any] = {"command": "rekal", "args": ["mcp"]}
COMMANDS = {
    "recall": (
        "Ask what past sessions know",
        'Run `rekal recall "$ARGUMENTS"` and answer from what it prints. INJECT: name the session and date you rely '
        "on. KNOWLEDGE: read the file it names. SILENCE: say that nothing is known, and go on without.",
    ),
    "why": (
        "Say why a line is as it is",
        "Run `rekal why $ARGUMENTS` (FILE:LINE, FILE:LINE-LINE or a commit) and explain the reason it prints, with "
        "the turn and the commit it comes from.",
    ),
    "remember": (
        "Keep a decision, a dead end or a fact",
        "Write what follows as one or two sentences that stand alone, with the reason, and run `rekal remember` with "
        "them (`rekal rule-out` for an approach that failed): $ARGUMENTS",
    ),
    "check": (
        "Hold a plan against what was decided",
        'Run `rekal check "$ARGUMENTS"`; without an argument, `git diff | rekal check -`. RULED-OUT: do not, and say '
        "why. CONSULT: weigh the rules it names. CLEAR: go on.",
    ),
    "review": (
        "Go through what waits for a person's word",
        "Run `rekal review --json`, show each proposal with its evidence in one line, and let the person decide. Never "
        "accept one yourself.",
    ),
}


def files() -> dict[str, str]:
    """All files of integrations/ by path, and the marketplace file that Claude Code looks for at the root."""
    # Long because it is a table: one entry a file.
    skill = (ROOT / "rekal" / "install" / "SKILL.md").read_text("utf-8")
    plugin = {"name": "rekal", "version": __version__, "description": WORDS, "license": "Apache-2.0"}
    market = {
        "name": "rekal",
        "owner": {"name": "rekal"},
        "plugins": [{"name": "rekal", "source": "./integrations/claude-code", "description": WORDS}],
    }
    gemini = {"name": "rekal", "version": __version__, "description": WORDS, "mcpServers": {"rekal": SERVER}}
    out = {
        ".claude-plugin/marketplace.json": _json(market),
        "integrations/claude-code/.claude-plugin/plugin.json": _json(plugin),
        "integrations/claude-code/hooks/hooks.json": _json({"hooks": entries_for(HOSTS["claude"], ON_PATH)}),
        "integrations/claude-code/.mcp.json": _json({"mcpServers": {"rekal": SERVER}}),
        "integrations/claude-code/skills/rekal/SKILL.md": skill,
        "integrations/agents/.agents/skills/rekal/SKILL.md": skill,
        "integrations/agents/.claude/skills/rekal/SKILL.md": skill,
        "integrations/gemini/gemini-extension.json": _json(gemini),
        "integrations/gemini/hooks/hooks.json": _json({"hooks": entries_for(HOSTS["gemini"], ON_PATH)}),
        "integrations/gemini/skills/rekal/SKILL.md": skill,
        "integrations/opencode/rekal.js": opencode_plugin(ON_PATH),
        "integrations/opencode/opencode.json": _json(
            {"mcp": {"rekal": {"type": "local", "command": ["rekal", "mcp"]}}}
        ),
        "integrations/codex/config.toml": '[mcp_servers.rekal]\ncommand = "rekal"\nargs = ["mcp"]\n',
        "integrations/codex/hooks.json": _json({"hooks": entries_for(HOSTS["codex"], ON_PATH)}),
        "integrations/cursor/mcp.json": _json({"mcpServers": {"rekal": SERVER}}),
        "integrations/cursor/hooks.json": _json({"version": 1, "hooks": entries_for(HOSTS["cursor"], ON_PATH)}),
        "integrations/copilot/mcp.json": _json({"mcpServers": {"rekal": SERVER}}),
        "integrations/copilot/hooks/rekal.json": _json({"version": 1, "hooks": entries_for(HOSTS["copilot"], ON_PATH)}),
        "integrations/vscode/mcp.json": _json({"servers": {"rekal": {"type": "stdio", **SERVER}}}),
        "integrations/kiro/settings/mcp.json": _json({"mcpServers": {"rekal": SERVER}}),
        "integrations/kiro/hooks/rekal.json": _json({"version": "v1", **entries_for(HOSTS["kiro"], ON_PATH)}),
        "integrations/claude-code/statusline.sh": STATUS_LINE,
    }
    for name, (words, prompt) in COMMANDS.items():
        out[f"integrations/claude-code/commands/{name}.md"] = f"---\ndescription: {words}\n---\n\n{prompt}\n"
        asked = prompt.replace("$ARGUMENTS", "{{args}}")
        out[f"integrations/gemini/commands/{name}.toml"] = (
            f"description = {json.dumps(words)}\nprompt = {json.dumps(asked)}\n"
        )
        out[f"integrations/opencode/command/{name}.md"] = f"---\ndescription: {words}\n---\n\n{prompt}\n"
    return out


STATUS_LINE = """\
#!/bin/sh
# A status line for Claude Code that shows what rekal holds here: no Python, a few stats.
# In settings.json: "statusLine": {"type": "command", "command": "sh /path/to/statusline.sh"}
dir=$(sed -n 's/.*"current_dir" *: *"\\([^"]*\\)".*/\\1/p' | head -1)
cd "${dir:-.}" 2> /dev/null || exit 0
held=$(git rev-parse --git-common-dir 2> /dev/null)/rekal
[ -d "$held/spool" ] || exit 0
waiting=$(ls "$held"/spool/*.json 2> /dev/null | wc -l)
grep -q \'"host"\' "$held/injection.json" 2> /dev/null && given=", injecting" || given=""
echo "rekal: $((waiting)) waiting$given"
"""


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def main() -> int:
    """Write the files, or compare them."""
    stale = []
    for name, text in files().items():
        path = ROOT / name
        if "--check" in sys.argv:
            stale += [name] if not path.exists() or path.read_text("utf-8") != text else []
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if stale:
        print(f"stale: {', '.join(stale)}; run scripts/write_integrations.py", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    raise SystemExit(main())
