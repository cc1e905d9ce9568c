"""Complete the last word of a command line: subcommands, options and their values."""

from __future__ import annotations

import click

from moorage.cli.completion.values import Choice, choices_of


def complete(root: click.Command, program: str, words: list[str], incomplete: str) -> list[Choice]:
    """Return what may stand for the incomplete word after the given words."""
    found_context = _context(root, program, words)
    if found_context is None:
        return []
    context, rest_are_arguments = found_context
    option, equals, value = incomplete.partition("=")
    if equals and option.startswith("--") and not rest_are_arguments:
        found = _option(context, option)
        if found is None or found.is_flag:
            return []
        return [
            choice if choice.kind else choice._replace(value=f"{option}={choice.value}")
            for choice in choices_of(found, context, value)
        ]
    if not rest_are_arguments:
        if words and (waiting := _option(context, words[-1])) is not None and not waiting.is_flag:
            return choices_of(waiting, context, incomplete)
        if incomplete.startswith("-") and incomplete != "-":
            return _options(context, incomplete)
    found_words = _arguments(context, incomplete)
    return found_words or ([] if rest_are_arguments else _options(context, incomplete))


def _context(root: click.Command, program: str, words: list[str]) -> tuple[click.Context, bool] | None:
    """Return the innermost command's context, and whether only arguments follow; None if there is no such command."""
    command, name, parent, rest = root, program, None, list(words)
    while True:
        context = command.make_context(name, [], parent=parent, resilient_parsing=True)
        position = _first_argument(context, rest)
        if not isinstance(command, click.Group) or position >= len(rest):
            break
        below = command.get_command(context, rest[position])
        if below is None:
            return None
        command, name, parent, rest = below, rest[position], context, rest[position + 1 :]
    waiting = _option(context, rest[-1]) if rest else None
    given = rest[:-1] if waiting is not None and not waiting.is_flag else rest
    context = command.make_context(name, list(given), parent=parent, resilient_parsing=True)
    return context, "--" in given


def _first_argument(context: click.Context, words: list[str]) -> int:
    """Return the position of the first word that is neither an option nor an option's value."""
    position = 0
    while position < len(words) and words[position].startswith("-"):
        option = _option(context, words[position])
        position += 2 if option is not None and not option.is_flag else 1
    return position


def _option(context: click.Context, name: str) -> click.Option | None:
    """Return the option of that name which takes a value or is a flag."""
    for param in context.command.get_params(context):
        if isinstance(param, click.Option) and name in (*param.opts, *param.secondary_opts):
            return param
    return None


def _options(context: click.Context, incomplete: str) -> list[Choice]:
    """Return the options that are not given yet, or may be given again."""
    from click.core import ParameterSource

    found = []
    for param in context.command.get_params(context):
        if not isinstance(param, click.Option) or param.hidden:
            continue
        given = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if given and not param.multiple:
            continue
        names = [name for name in (*param.opts, *param.secondary_opts) if name.startswith(incomplete)]
        long = [name for name in names if name.startswith("--")]
        text = " ".join((param.help or "").split())
        found += [Choice(name, text) for name in long or names]
    return found


def _arguments(context: click.Context, incomplete: str) -> list[Choice]:
    command = context.command
    if isinstance(command, click.Group):
        return [Choice(str(item.value), item.help or "") for item in command.shell_complete(context, incomplete)]
    for param in command.get_params(context):
        if isinstance(param, click.Argument) and (param.nargs == -1 or not context.params.get(param.name or "")):
            return choices_of(param, context, incomplete)
    return []
