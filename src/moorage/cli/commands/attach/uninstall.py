"""Say how attach leaves a cluster (`moorage attach uninstall`).

Exit code: 0 if the next step is safe or nothing is left, 1 if something is in the way, 2 if it could not be looked at.
"""

from __future__ import annotations

import click

from moorage.cli.commands.attach.live import asked
from moorage.cli.commands.attach.status import namespace_option, report_option
from moorage.cli.options import all_option, context_option, kubeconfig_option

_SAFE, _BLOCKED, _UNREAD = 0, 1, 2


@click.command("uninstall")
@kubeconfig_option
@context_option
@namespace_option
@report_option
@all_option
def show_way_back(kubeconfig: str, context: str, namespace: str, form: str, everything: bool) -> int:
    """Say in which stage a cluster is on its way back, and print the commands of the next one if that is safe.

    Nothing is changed by this command, and no command that it prints changes a pod or a pod template: owners do that
    with their next release. The mirror of nodes stays until no object and no pod is lowered.

    \b
    Try:
      moorage attach uninstall
      moorage attach uninstall -o json

    \b
    Exit code: 0 the next step is safe, or nothing is left; 1 something is in the way; 2 not everything could be read.
    """
    import json

    from moorage.attached.status.snapshot import read_snapshot
    from moorage.attached.uninstall.report import way_back_lines
    from moorage.attached.uninstall.stages import way_back
    from moorage.cli.shared import prepare_output, write_lines

    found = way_back(asked(kubeconfig, context, lambda client: read_snapshot(client, namespace)))
    prepare_output(is_text=form == "text")
    if form == "json":
        write_lines(json.dumps(found.as_json(), indent=2, ensure_ascii=False).split("\n"))
    else:
        write_lines(way_back_lines(found, shows_all=everything))
    if found.unread:
        return _UNREAD
    return _BLOCKED if found.blocked else _SAFE
