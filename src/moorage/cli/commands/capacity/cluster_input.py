"""Read the cluster that a question about capacity is about: files, directories, standard input or a live cluster."""

from __future__ import annotations

import os
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import click

from moorage.cli.options import (
    config_option,
    context_option,
    gates_option,
    live_kubeconfig_option,
    namespace_option,
)
from moorage.cli.shared import (
    complain_of_unreadable,
    given_options,
    is_piped,
    make_planner,
    piped_input,
    refuse_empty,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from moorage.plan.planner import Planner
    from moorage.pools.reading import Pools

Command = TypeVar("Command", bound="Callable[..., Any]")


class ClusterOptions(NamedTuple):
    """The options that say which cluster a question is about, and how it is planned."""

    kubeconfig: str | None
    context: str
    namespace: str
    gates: tuple[str, ...]
    config: str | None
    seed: int


def cluster_options(seed_help: str = "Seed of nodes with equal scores.") -> Callable[[Command], Command]:
    """Return a decorator that adds these options to a command, which gets them as `cluster`."""

    def decorate(function: Command) -> Command:
        @wraps(function)
        def command(*arguments: Any, **options: Any) -> Any:
            taken = {name: options.pop(name) for name in ClusterOptions._fields}
            return function(*arguments, cluster=ClusterOptions(**taken), **options)

        decorated: Any = click.option("--seed", type=int, default=0, show_default=True, help=seed_help)(command)
        for option in (config_option, gates_option, namespace_option, context_option, live_kubeconfig_option):
            decorated = option(decorated)
        return cast("Command", decorated)

    return decorate


def split_inputs(words: tuple[str, ...], is_choice: Callable[[str], bool]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words that are files, and those that are choices: `zone=a` is one, unless there is such a file."""
    choices = tuple(word for word in words if is_choice(word) and not Path(word).exists())
    return tuple(word for word in words if word not in choices), choices


def read_planner(
    paths: tuple[str, ...],
    cluster: ClusterOptions,
    *,
    allows_empty: bool = False,
    verb: str = "plan",
    reads_pools: bool = False,
) -> Planner:
    """Return a planner that has read files, standard input or a live cluster. Raises UsageError; exits without any."""
    from moorage.lint.sources import sources_of

    kubeconfig = cluster.kubeconfig
    if not paths and kubeconfig is None:
        if is_piped() or not os.environ.get("KUBECONFIG"):
            paths = piped_input(verb)
        else:
            kubeconfig = ""
    rest = cluster.context, (), cluster.namespace, cluster.gates, cluster.config, cluster.seed
    planner = make_planner(kubeconfig, *rest, reads_pools=reads_pools)
    planner.load(sources_of(paths), announces_updates=kubeconfig is None)
    refuse_empty(planner.inventory, paths, allows_empty=allows_empty or kubeconfig is not None)
    complain_of_unreadable(planner.inventory.notes)
    return planner


def pools_of_input(planner: Planner) -> Pools:
    """Return the pools among the objects of the input, of which there need not be any."""
    from moorage.plan.pools.reading import read_pool_sources

    return read_pool_sources((), planner.inventory)


def options_again(names: Collection[str]) -> list[str]:
    """Return the words of the command line that give these options the values that they have now."""
    context = click.get_current_context()
    parameters = {name: option.name for option in context.command.params for name in option.opts}
    words: list[str] = []
    for name in given_options(*names):
        value = context.params.get(parameters.get(name) or "")
        for one in value if isinstance(value, tuple) else (value,):
            words += [name, str(one)]
    return words
