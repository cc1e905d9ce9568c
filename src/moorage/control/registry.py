"""Which controllers there are: one row each, in the order in which they are listed.

In: a name. Out: how the controller is made, and whether it runs unless told otherwise. Kubernetes: the controller
descriptors of kube-controller-manager, `--controllers`.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import NamedTuple

from moorage.control.framework.controller import Controller
from moorage.model.gates import GateSet
from moorage.telemetry.metrics import Metrics


class ControllerContext(NamedTuple):
    """What a controller may be made of.

    `simulates_storage`: there is no real storage, so that volumes of every provisioner are simulated.
    """

    gates: GateSet
    metrics: Metrics
    random: Callable[[], float]
    simulates_storage: bool = False


class Row(NamedTuple):
    """One controller: its module and class, found when it is made, so that what does not run is not imported."""

    name: str
    module: str
    factory: str

    def make(self, surroundings: ControllerContext) -> Controller:
        make: Callable[[ControllerContext], Controller] = getattr(import_module(self.module), self.factory)
        return make(surroundings)


CONTROLLERS: tuple[Row, ...] = (
    Row("node-lifecycle-controller", "moorage.control.node_lifecycle.controller", "make_node_lifecycle"),
    Row("pod-garbage-collector-controller", "moorage.control.pod_garbage", "make_pod_garbage"),
    Row("taint-eviction-controller", "moorage.control.taint_eviction.controller", "make_taint_eviction"),
    Row("replicaset-controller", "moorage.control.replica_set.controller", "make_replica_set"),
    Row("deployment-controller", "moorage.control.deployment.controller", "make_deployment"),
    Row("daemonset-controller", "moorage.control.daemon_set.controller", "make_daemon_set"),
    Row("statefulset-controller", "moorage.control.stateful_set.controller", "make_stateful_set"),
    Row("job-controller", "moorage.control.job.controller", "make_job"),
    Row("cronjob-controller", "moorage.control.cron_job.controller", "make_cron_job"),
    Row("ttl-after-finished-controller", "moorage.control.job.time_to_live", "make_time_to_live"),
    Row("persistentvolume-binder-controller", "moorage.control.volumes.controller", "make_persistent_volume_binder"),
    Row("ephemeral-volume-controller", "moorage.control.volumes.ephemeral", "make_ephemeral_volumes"),
    Row("persistentvolumeclaim-protection-controller", "moorage.control.volumes.protection", "make_claim_protection"),
    Row("persistentvolume-protection-controller", "moorage.control.volumes.protection", "make_volume_protection"),
    Row("namespace-controller", "moorage.control.namespace.controller", "make_namespace"),
    Row("garbage-collector-controller", "moorage.control.garbage.controller", "make_garbage_collector"),
    Row("disruption-controller", "moorage.control.disruption.controller", "make_disruption"),
    Row("serviceaccount-controller", "moorage.control.service_accounts", "make_service_account"),
)


class UnknownController(ValueError):
    """A name in `--controllers` that no controller has."""


def chosen(selection: Iterable[str]) -> tuple[Row, ...]:
    """The controllers that `--controllers` asks for: `*` for all, `name` for one, `-name` for all but it."""
    known = {row.name for row in CONTROLLERS}
    wanted: set[str] = set()
    for word in selection:
        name = word.removeprefix("-")
        if name not in known and word != "*":
            listed = ", ".join(sorted(known))
            raise UnknownController(f'"{name}" is not in the list of known controllers: {listed}')
        if word == "*":
            wanted |= known
    for word in selection:
        if word.startswith("-"):
            wanted.discard(word[1:])
        elif word != "*":
            wanted.add(word)
    return tuple(row for row in CONTROLLERS if row.name in wanted)
