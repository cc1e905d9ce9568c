"""Let an option have a value or none: `--strict`, `--strict=all`."""

from __future__ import annotations

import click

#: What an option with an optional value has if it is given without one.
BARE = "bare"


class OptionalValue(click.Option):
    """An option that takes a value only as `--name=VALUE`: what follows `--name` is another argument."""


class OptionalValueCommand(click.Command):
    """A command whose `OptionalValue` options have the value `BARE` where none is given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        names = {name for param in self.params if isinstance(param, OptionalValue) for name in param.opts}
        end = args.index("--") if "--" in args else len(args)
        given = [f"{word}={BARE}" if word in names else word for word in args[:end]]
        return super().parse_args(ctx, [*given, *args[end:]])
