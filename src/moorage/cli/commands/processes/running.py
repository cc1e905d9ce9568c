"""Run one component until a signal, for every command that does.

Exit code 1 if it cannot start or loses its Lease, 2 if its kubeconfig is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from moorage.cli.options import ProcessMaker
    from moorage.cluster.components import ComponentProcess, Process

_CANNOT_GO_ON, _BAD_USAGE = 1, 2


def run_component(
    process: ProcessMaker,
    make: Callable[[Process], ComponentProcess],
    started: Callable[[Any], None] = lambda component: None,
    *refusals: type[Exception],
) -> None:
    """Run a component to its end; what it may be refused for is told in one line."""
    from moorage.cli.shared import say
    from moorage.client.kubeconfig.access import KubeconfigError
    from moorage.client.leader_election import LeadershipLost
    from moorage.cluster.components import CannotListen
    from moorage.cluster.event_loop import run_until_signal
    from moorage.cluster.kubeconfig_files import AwaitedKubeconfig, awaited_files

    known: tuple[type[Exception], ...] = (KubeconfigError, CannotListen, LeadershipLost, *refusals)

    def awaited() -> AwaitedKubeconfig[ComponentProcess]:
        files = awaited_files(process.kubeconfig)
        return AwaitedKubeconfig(lambda: make(process.make()), files, process.wait_seconds, process.component)

    try:
        run_until_signal(awaited, lambda ready: started(ready.component))
    except known as error:
        say(str(error))
        code = _BAD_USAGE if isinstance(error, KubeconfigError) else _CANNOT_GO_ON
        raise click.exceptions.Exit(code) from None
