"""``rekal completion``."""

from __future__ import annotations

import click

from rekal.agents import registry
from rekal.cli.completion_scripts import SCRIPTS, VerbWords
from rekal.cli.main import Verbs
from rekal.cli.output import print_block
from rekal.cli.verb_table import HIDDEN, VERBS
from rekal.config import HELP


@click.command("completion")
@click.argument("shell", type=click.Choice(sorted(SCRIPTS)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes verbs, options and values in a shell.

    \b
    bash:  rekal completion bash > ~/.local/share/bash-completion/completions/rekal
    zsh:   rekal completion zsh > a directory of $fpath, as _rekal
    fish:  rekal completion fish > ~/.config/fish/completions/rekal.fish
    """
    root = ctx.find_root().command
    assert isinstance(root, Verbs)
    verbs = []
    for name in VERBS:
        found = None if name in HIDDEN else root.get_command(ctx, name)
        if found is not None:
            options = [one for p in found.params if isinstance(p, click.Option) and not p.hidden for one in p.opts]
            values = {
                option: tuple(str(choice) for choice in p.type.choices)
                for p in found.params
                if isinstance(p, click.Option) and isinstance(p.type, click.Choice)
                for option in p.opts
            }
            values |= {"--agent": tuple(registry.agent_names())} if "--agent" in options else {}
            words = [str(c) for p in found.params if isinstance(p.type, click.Choice) for c in p.type.choices]
            plain = tuple(words) if any(isinstance(p, click.Argument) for p in found.params) else ()
            plain = tuple(HELP) if name == "config" else tuple(VERBS) if name == "help" else plain
            verbs.append(VerbWords(name, VERBS[name][1], tuple(sorted(options)), values, plain))
    print_block(SCRIPTS[shell](verbs))
