"""The flags of kube-apiserver about its store, besides --etcd-servers: those that can be kept, and why others cannot.

A command line that was written for kube-apiserver is either obeyed or refused with the reason; nothing is ignored.
"""

from __future__ import annotations

import functools
from typing import Any

import click

from moorage.cli.options import Command

_BACKEND, _MEDIA_TYPE = "etcd3", "application/json"
_MEMORY = "every API server has all objects in memory; there is nothing to size or switch off"
_METRICS = "metrics of the store are counted as they are asked for, nothing is polled"
_WATCHED = "the connection to etcd is watched all the time, and /readyz says what is wrong at once"
_PLAIN = "objects are kept as plain JSON: let etcd's disks be encrypted"
#: Flags that are refused, with the reason.
_REFUSED = {
    "--etcd-servers-overrides": "all objects are in one etcd, since all of them share its revisions",
    "--etcd-healthcheck-timeout": _WATCHED,
    "--etcd-readycheck-timeout": _WATCHED,
    "--etcd-count-metric-poll-period": _METRICS,
    "--etcd-db-metric-poll-interval": _METRICS,
    "--default-watch-cache-size": _MEMORY,
    "--watch-cache-sizes": _MEMORY,
    "--encryption-provider-config": _PLAIN,
    "--encryption-provider-config-automatic-reload": _PLAIN,
}


def storage_options(function: Command) -> Command:
    """Add the flags; they go into the command's `etcd`. Inside of `etcd_options`, which makes it."""

    @functools.wraps(function)
    def command(*arguments: Any, compaction_interval: str, lease_reuse: int, etcd: Any, **others: Any) -> Any:
        import msgspec

        from moorage.cli.shared import duration_of

        seconds = duration_of("--etcd-compaction-interval", compaction_interval)
        if etcd is not None:
            etcd = msgspec.structs.replace(etcd, compaction_seconds=seconds, lease_reuse_seconds=lease_reuse)
        return function(*arguments, etcd=etcd, **others)

    made: Command = command
    for option in (
        click.option(
            "--lease-reuse-duration-seconds",
            "lease_reuse",
            type=click.IntRange(1),
            default=60,
            show_default=True,
            metavar="SECONDS",
            help="Events written within so many seconds share a lease of etcd.",
        ),
        click.option(
            "--etcd-compaction-interval",
            "compaction_interval",
            default="5m",
            show_default=True,
            metavar="DURATION",
            help="How often etcd's history is compacted; 0 for never, if another program does it.",
        ),
        click.option(
            "--storage-backend", hidden=True, expose_value=False, callback=_only(_BACKEND, "the only one there is")
        ),
        click.option(
            "--storage-media-type",
            hidden=True,
            expose_value=False,
            callback=_only(_MEDIA_TYPE, "the only form in which objects are kept"),
        ),
        click.option("--watch-cache", hidden=True, expose_value=False, callback=_only("true", _MEMORY)),
        *(click.option(flag, hidden=True, expose_value=False, callback=_refuse(why)) for flag, why in _REFUSED.items()),
    ):
        made = option(made)
    return made


def _only(value: str, why: str) -> Any:
    """Return a callback that takes one value only."""

    def check(context: click.Context, parameter: click.Parameter, given: str | None) -> None:
        if given is not None and given.lower() != value:
            raise click.BadParameter(f"{given!r} is not possible, {value!r} is: {why}", context, parameter)

    return check


def _refuse(why: str) -> Any:
    def check(context: click.Context, parameter: click.Parameter, given: str | None) -> None:
        if given is not None:
            raise click.UsageError(f"{parameter.opts[0]} of kube-apiserver is not possible here: {why}.", context)

    return check
