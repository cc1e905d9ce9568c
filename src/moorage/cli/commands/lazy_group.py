"""Group commands each of which is imported when it is named, so that the others cost no time."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping


def lazy_group(package: str, commands: Mapping[str, str]) -> type[click.Group]:
    """Return a class of groups with these commands: by name, the module in the package and the function in it."""

    class LazyGroup(click.Group):
        def list_commands(self, ctx: click.Context) -> list[str]:
            return list(commands)

        def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
            if name not in commands:
                return None
            module, _, attribute = commands[name].partition(":")
            command: click.Command = getattr(importlib.import_module(f"{package}.{module}"), attribute)
            return command

    return LazyGroup
