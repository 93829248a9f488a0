#!/bin/sh
# A status line for Claude Code that shows what rekal holds here: no Python, a few stats.
# In settings.json: "statusLine": {"type": "command", "command": "sh /path/to/statusline.sh"}
dir=$(sed -n 's/.*"current_dir" *: *"\([^"]*\)".*/\1/p' | head -1)
cd "${dir:-.}" 2> /dev/null || exit 0
while [ ! -d .rekal ] && [ "$PWD" != / ]; do cd ..; done
[ -d .rekal ] || exit 0
waiting=$(ls .rekal/spool/*.json 2> /dev/null | wc -l)
[ -f .rekal/run/injection.json ] && given=", injecting" || given=""
echo "rekal: $((waiting)) waiting$given"
