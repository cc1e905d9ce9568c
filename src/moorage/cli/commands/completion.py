"""Print a shell's completion script (`moorage completion`), and answer what it asks (`moorage __complete`)."""

from __future__ import annotations

import contextlib

import click

from moorage.cli.completion import complete
from moorage.cli.completion_scripts import SCRIPTS, answer, answer_bash, answer_kubectl, split_line


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
def command(shell: str) -> None:
    """Print a script that completes commands, options, files, nodes, pods, workloads, contexts, gates and more.

    \b
    Try it in this shell:
      source <(moorage completion bash)
      source <(moorage completion zsh)
      moorage completion fish | source

    \b
    For good:
      moorage completion bash > ~/.local/share/bash-completion/completions/moorage
      moorage completion zsh > "${fpath[1]}/_moorage"
      moorage completion fish > ~/.config/fish/completions/moorage.fish
    """
    click.echo(SCRIPTS[shell], nl=False)


class _Verbatim(click.Command):
    """A command that parses nothing: its words are those of another command line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params["words"] = list(args)
        return []


@click.command("__complete", cls=_Verbatim, hidden=True, add_help_option=False)
@click.pass_context
def complete_word(ctx: click.Context, words: list[str]) -> None:
    """Answer a script: `bash LINE POINT SEEN`, or `zsh|fish|kubectl WORD... INCOMPLETE`; an error is no answer."""
    root = ctx.find_root()
    lines: list[str] = []
    with contextlib.suppress(Exception):  # in the middle of a user's line there is no place for complaints
        if words[0] == "bash":
            given, incomplete, quote = split_line(words[1], int(words[2]))
            choices = complete(root.command, "moorage", given[1:], incomplete)
            lines = list(answer_bash(choices, incomplete, quote, words[3]))
        elif words[0] == "kubectl":
            lines = list(answer_kubectl(complete(root.command, "moorage", words[1:-1], words[-1])))
        else:
            lines = list(answer(complete(root.command, "moorage", words[1:-1], words[-1])))
    click.echo("".join(f"{line}\n" for line in lines), nl=False)
