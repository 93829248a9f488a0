"""Completion scripts for shells. All words stand in the script: a Tab starts git for branches, and never rekal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

_BRANCHES = "git for-each-ref --format='%(refname:short)' refs/heads refs/remotes 2>/dev/null"


class VerbWords(msgspec.Struct, frozen=True):
    """Words behind a verb: its options, the values of some of them, and those that stand alone."""

    name: str
    help: str
    options: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]
    words: tuple[str, ...]


def _bash_script(verbs: Sequence[VerbWords]) -> str:
    cases = []
    for verb in verbs:
        values = "".join(f'    "{verb.name} {o}") w="{" ".join(v)}" ;;\n' for o, v in sorted(verb.values.items()))
        if "--branch" in verb.options:
            values += f'    "{verb.name} --branch") w="$({_BRANCHES})" ;;\n'
        cases.append(values)
    options = "".join(f'    {verb.name}) o="{" ".join((*verb.options, "--help"))}" ;;\n' for verb in verbs)
    words = "".join(f'    {verb.name}) w="{" ".join(verb.words)}" ;;\n' for verb in verbs if verb.words)
    return f"""# Completion of rekal for bash: written by `rekal completion bash`.
_rekal() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} verb=${{COMP_WORDS[1]}} w= o=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(verb.name for verb in verbs)}" -- "$cur"))
    return
  fi
  case "$verb $prev" in
{"".join(cases)}    *" --file") COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  if [ -n "$w" ]; then COMPREPLY=($(compgen -W "$w" -- "$cur")); return; fi
  case "$cur" in
  -*)
    case "$verb" in
{options}    esac
    COMPREPLY=($(compgen -W "$o" -- "$cur")) ;;
  *)
    case "$verb" in
    why|log) COMPREPLY=($(compgen -f -- "$cur")); return ;;
{words}    esac
    COMPREPLY=($(compgen -W "$w" -- "$cur")) ;;
  esac
}}
complete -o default -F _rekal rekal git-rekal
"""


def _zsh_script(verbs: Sequence[VerbWords]) -> str:
    listed = "\n".join(f"    '{verb.name}:{_quoted(verb.help)}'" for verb in verbs)
    cases = "\n".join(
        f"    {verb.name}) compadd -- {' '.join((*verb.words, *verb.options, '--help'))} ;;" for verb in verbs
    )
    values = "\n".join(
        f'    "{verb.name} {option}") compadd -- {" ".join(found)}; return ;;'
        for verb in verbs
        for option, found in sorted(verb.values.items())
    )
    return f"""#compdef rekal git-rekal
# Completion of rekal for zsh: written by `rekal completion zsh`.
_rekal() {{
  local -a verbs
  verbs=(
{listed}
  )
  if (( CURRENT == 2 )); then _describe verb verbs; return; fi
  case "$words[2] $words[CURRENT-1]" in
{values}
    *" --branch") compadd -- ${{(f)"$({_BRANCHES})"}}; return ;;
    *" --file") _files; return ;;
  esac
  case "$words[2]" in
    why|log) _files ;|
{cases}
  esac
}}
_rekal "$@"
"""


def _fish_script(verbs: Sequence[VerbWords]) -> str:
    out = ["# Completion of rekal for fish: written by `rekal completion fish`.", "complete -c rekal -f"]
    for verb in verbs:
        out.append(f"complete -c rekal -n __fish_use_subcommand -a {verb.name} -d '{_quoted(verb.help)}'")
        seen = f"complete -c rekal -n '__fish_seen_subcommand_from {verb.name}'"
        if verb.words:
            out.append(f"{seen} -a '{' '.join(verb.words)}'")
        for option in verb.options:
            if not option.startswith("--"):
                out.append(f"{seen} -s {option[1:]}")
                continue
            more = f" -x -a '{' '.join(verb.values[option])}'" if option in verb.values else ""
            more = f' -x -a "({_BRANCHES})"' if option == "--branch" else more
            out.append(f"{seen} -l {option[2:]}{' -r -F' if option == '--file' else more}")
    out.append("complete -c rekal -n '__fish_seen_subcommand_from why log' -F")
    return "\n".join(out) + "\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "").replace("'", "").replace(":", " ").replace("`", "")


SCRIPTS: dict[str, Callable[[Sequence[VerbWords]], str]] = {
    "bash": _bash_script,
    "zsh": _zsh_script,
    "fish": _fish_script,
}
