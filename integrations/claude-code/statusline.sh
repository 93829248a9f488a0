#!/bin/sh
# A status line for Claude Code that shows what rekal holds here: no Python, a few stats.
# In settings.json: "statusLine": {"type": "command", "command": "sh /path/to/statusline.sh"}
dir=$(sed -n 's/.*"current_dir" *: *"\([^"]*\)".*/\1/p' | head -1)
cd "${dir:-.}" 2> /dev/null || exit 0
held=$(git rev-parse --git-common-dir 2> /dev/null)/rekal
[ -d "$held/spool" ] || exit 0
waiting=$(ls "$held"/spool/*.json 2> /dev/null | wc -l)
grep -q '"host"' "$held/injection.json" 2> /dev/null && given=", injecting" || given=""
echo "rekal: $((waiting)) waiting$given"
