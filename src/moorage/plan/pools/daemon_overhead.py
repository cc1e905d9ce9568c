"""Say which DaemonSet pods a new node would get, by the DaemonSet controller's own rule and as they are admitted.

Kubernetes: Karpenter's daemon overhead, and Cluster Autoscaler's pending DaemonSet pods of a template node.
"""

from typing import NamedTuple

from moorage.admit.admission import Rejected
from moorage.columns.resources import Amounts, pod_requests
from moorage.control.daemon_set.controller import daemon_pods
from moorage.lint.policies.admission import admit_with_policies
from moorage.match.daemon_pods import DaemonTemplate
from moorage.model.gates import Component
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.config.default_profile import program_cache
from moorage.serve.access.component_users import maker_of_pods

_PLACEHOLDER = "new-node"


class Daemon(NamedTuple):
    """A DaemonSet: its key, its rule of nodes, and a pod of it as the API server stores it."""

    key: str
    template: DaemonTemplate
    pod: Pod

    @property
    def requests(self) -> Amounts:
        """What a pod of it takes of its node, in the units of the scheduler."""
        return pod_requests(self.pod.spec)


def daemons_of(simulation: Simulation) -> list[Daemon]:
    """Return the DaemonSets of a cluster; those whose pods the API server refuses take no room."""
    gates = simulation.settings.gates_of(Component.CONTROLLER_MANAGER)
    programs = program_cache(gates, simulation.evaluations)
    chain, user = simulation.api.registry.admission, maker_of_pods(KINDS.DAEMON_SET.name)
    found: list[Daemon] = []
    for daemon_set in simulation.world.all(KINDS.DAEMON_SET):
        if daemon_set.view.metadata.deletionTimestamp is not None:
            continue
        [raw] = daemon_pods(daemon_set, "", [_PLACEHOLDER])
        document = {"apiVersion": "v1", "kind": "Pod", **raw}
        document["metadata"] = {**raw["metadata"], "name": _PLACEHOLDER, "namespace": daemon_set.namespace}
        result = admit_with_policies(chain, document, user=user).result
        if not isinstance(result, Rejected) and isinstance(result.view, Pod):
            spec = daemon_set.view.spec.template.spec
            found.append(Daemon(daemon_set.key, DaemonTemplate(spec, gates, programs), result.view))
    return found


def daemons_on(daemons: list[Daemon], node: Node) -> list[Daemon]:
    """Return those that run on a node."""
    return [daemon for daemon in daemons if daemon.template.fits(node).should_run]
