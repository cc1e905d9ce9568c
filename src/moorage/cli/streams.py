"""What the commands have alike: gates from options, input from a pipe, colours on a terminal, complaints.

Next: `plan`.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from moorage.model.gates import GateSet


def piped_input(verb: str) -> tuple[str, ...]:
    """Standard input, if something is piped into it; /dev/null and terminals are not."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):
        mode = 0
    if stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode):
        return ("-",)
    raise click.UsageError(f"Nothing to {verb}: name files or directories, or pipe manifests in.")


def parsed_gates(given: tuple[str, ...]) -> GateSet:
    """The gates of repeated --feature-gates options."""
    from moorage.model.gates import GateError, gates_from, parse_feature_gates

    settings: dict[str, bool] = {}
    try:
        for text in given:
            settings.update(parse_feature_gates(text))
        return gates_from(settings)
    except GateError as error:
        raise click.BadParameter(str(error), param_hint="'--feature-gates'") from None


def coloured(wanted: str) -> bool:
    if wanted != "auto":
        return wanted == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def say(text: str) -> None:
    """A complaint on standard error, in one line that a terminal can be trusted with."""
    from moorage.lint.report.printable import printable

    click.echo(f"moorage: {printable(text)}", err=True)
