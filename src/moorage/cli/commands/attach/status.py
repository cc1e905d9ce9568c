"""Check a live installation of attach (`moorage attach status`).

Exit code: 0 if all is well, 1 if something is wrong, 2 if the cluster cannot be asked or something was not checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from moorage.attached.names import NAMESPACE
from moorage.cli.commands.attach.live import asked
from moorage.cli.options import context_option, kubeconfig_option

if TYPE_CHECKING:
    from moorage.attached.status.check import Status
    from moorage.client.http_client import HttpClient
    from moorage.pools.mirror import PoolTemplate

_FINE, _WRONG, _UNCHECKED = 0, 1, 2

namespace_option = click.option(
    "--namespace", default=NAMESPACE, show_default=True, metavar="NAMESPACE", help="Where attach is installed."
)
report_option = click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Output format; json lists every node and object.",
)


@click.command("status")
@kubeconfig_option
@context_option
@namespace_option
@click.option(
    "--pools",
    "paths",
    multiple=True,
    metavar="FILE|DIRECTORY|-",
    help="Pools of autoscalers to check besides the NodePools of the cluster: NodePools, NodeGroups, "
    "AutoScalingGroups. Repeatable.",
)
@report_option
def show_status(kubeconfig: str, context: str, namespace: str, paths: tuple[str, ...], form: str) -> int:
    """Check the cluster, what is applied and what runs, certificates, all nodes, lowered objects, and pools.

    Every problem is followed by the command that mends it. Nothing is changed.

    \b
    Try:
      moorage attach status
      moorage attach status --pools nodepools/ -o json

    \b
    Exit code: 0 nothing is wrong, 1 something is, 2 the cluster cannot be asked, or something could not be checked.
    """
    from moorage.attached.status.finding import Level

    status = _checked(kubeconfig, context, namespace, paths)
    _print(status, form)
    if status.level is Level.WRONG:
        return _WRONG
    return _UNCHECKED if status.level is Level.UNKNOWN else _FINE


def _checked(kubeconfig: str, context: str, namespace: str, paths: tuple[str, ...]) -> Status:
    from moorage.attached.status.check import check_status
    from moorage.attached.status.pool_sources import live_templates
    from moorage.attached.status.snapshot import read_snapshot

    given = _given_templates(paths)

    async def read(client: HttpClient) -> Status:
        snapshot = await read_snapshot(client, namespace)
        named = {(each.kind, each.name) for each in given}
        live = [each for each in await live_templates(client) if (each.kind, each.name) not in named]
        return check_status(snapshot, [*given, *live])

    return asked(kubeconfig, context, read)


def _given_templates(paths: tuple[str, ...]) -> list[PoolTemplate]:
    """Return the templates of --pools; exit if something cannot be read, or none is there."""
    from moorage.attached.status.pool_sources import read_templates
    from moorage.cli.shared import say
    from moorage.lint.sources import sources_of

    if not paths:
        return []
    templates, problems = read_templates(sources_of(paths))
    if not templates and not problems:
        problems = [f"{', '.join(paths)}: there is no NodePool, NodeGroup or AutoScalingGroup"]
    for problem in problems:
        say(problem)
    if problems:
        raise click.exceptions.Exit(_UNCHECKED)
    return templates


def _print(status: Status, form: str) -> None:
    import json

    from moorage.attached.status.check import status_lines
    from moorage.cli.shared import prepare_output, write_lines

    prepare_output(is_text=form == "text")
    write_lines(
        status_lines(status)
        if form == "text"
        else json.dumps(status.as_json(), indent=2, ensure_ascii=False).split("\n")
    )
