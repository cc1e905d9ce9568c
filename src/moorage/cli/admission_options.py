"""Define --enable-admission-plugins, which `moorage up` and `moorage apiserver` share."""

from __future__ import annotations

from collections.abc import Iterable

import click

admission_plugins_option = click.option(
    "--enable-admission-plugins",
    "plugins",
    multiple=True,
    metavar="PLUGIN,...",
    help=(
        "Also run these admission plugins. TaintNodesByCondition: nodes begin as not ready, until the node lifecycle "
        "controller has seen them. StorageObjectInUseProtection: volumes and claims are kept while in use, until the "
        "protection controllers release them. ServiceAccount: pods get a volume with the token of their service "
        "account, which must exist. Repeatable."
    ),
)


def chosen_plugins(lists: Iterable[str]) -> frozenset[str]:
    """Return the plugins of `--enable-admission-plugins`. Raises click.BadParameter for other names."""
    from moorage.cluster.admission_plugins import OPTIONAL_PLUGINS

    names = frozenset(word.strip() for text in lists for word in text.split(",") if word.strip())
    if unknown := sorted(names.difference(OPTIONAL_PLUGINS)):
        possible = ", ".join(OPTIONAL_PLUGINS)
        raise click.BadParameter(f"{unknown[0]!r} is not one of {possible}", param_hint="'--enable-admission-plugins'")
    return names
