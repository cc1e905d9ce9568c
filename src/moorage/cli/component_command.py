"""A component's command, run to its end: why it could not start or go on is told in one line.

In: what makes the component. Out: nothing, or an exit code: 2 for a kubeconfig that is of no use, 1 for everything
else that a user can mend.
"""

from collections.abc import Callable
from typing import TypeVar

import click

from moorage.cli.shared import say
from moorage.client.election.elector import LeadershipLost
from moorage.client.kubeconfig.access import KubeconfigError
from moorage.cluster.component_process import CannotListen, ComponentProcess
from moorage.cluster.event_loop import run_until_signal

_CANNOT_GO_ON, _BAD_USAGE = 1, 2
C = TypeVar("C", bound=ComponentProcess)


def run_component(
    make: Callable[[], C],
    started: Callable[[C], None] = lambda component: None,
    refusals: tuple[type[Exception], ...] = (),
) -> None:
    """`refusals` are what the component itself may end with, besides what all may."""
    ends: tuple[type[Exception], ...] = (CannotListen, LeadershipLost, *refusals)
    try:
        run_until_signal(make, started)
    except KubeconfigError as error:
        say(str(error))
        raise click.exceptions.Exit(_BAD_USAGE) from None
    except ends as error:
        say(str(error))
        raise click.exceptions.Exit(_CANNOT_GO_ON) from None
