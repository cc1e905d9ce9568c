"""Let an autoscaler work in a simulated cluster: the very controller that runs in a cluster."""

from collections.abc import Mapping

import msgspec

from moorage.autoscale.cluster_autoscaler.controller import ClusterAutoscalerController
from moorage.autoscale.cluster_autoscaler.priorities import CONFIG_MAP
from moorage.autoscale.controller import NodeAutoscaler, Setup
from moorage.autoscale.karpenter.controller import KarpenterController
from moorage.autoscale.options import Options
from moorage.control.framework.controller import ControllerContext
from moorage.model.kinds import KINDS, view_of
from moorage.plan.autoscaling.cost_meter import CostMeter
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.node_template import Buffer, Pool, Raw, Scaler
from moorage.schedule.config.configured_scheduler import Configuration

#: A simulation with an autoscaler goes on for so long after the last node was to come.
_REST = 60.0
AUTOSCALERS: dict[Scaler, type[NodeAutoscaler]] = {
    Scaler.KARPENTER: KarpenterController,
    Scaler.CLUSTER_AUTOSCALER: ClusterAutoscalerController,
}


class Autoscaling(msgspec.Struct, frozen=True):
    """The autoscaler of a plan, its pools and its options, and the CapacityBuffers by which it keeps room."""

    scaler: Scaler
    pools: tuple[Pool, ...]
    options: Options
    buffers: tuple[Buffer, ...] = ()
    templates: Mapping[str, Raw] = {}

    def setup(self, configuration: Configuration, features: tuple[str, ...]) -> Setup:
        """Return what the controller works with, in a cluster or a plan."""
        return Setup(self.pools, self.options, configuration, features, self.buffers, self.templates)


class Attached(msgspec.Struct, eq=False):
    """An autoscaler at work in a simulation, and what its nodes cost."""

    autoscaling: Autoscaling
    controller: NodeAutoscaler
    meter: CostMeter


def attach(simulation: Simulation, autoscaling: Autoscaling) -> Attached:
    """Start the autoscaler in a simulation in which nothing has happened yet."""
    options = autoscaling.options
    setup = autoscaling.setup(simulation.settings.configuration, tuple(simulation.kubelets.features))
    made: list[NodeAutoscaler] = []

    def make(context: ControllerContext) -> NodeAutoscaler:
        made.append(AUTOSCALERS[autoscaling.scaler](context, setup))
        return made[0]

    simulation.scheduling.tells_unschedulable = True
    delay = options.provisioning_delay + options.startup_taints_delay
    simulation.patience = max(simulation.patience, delay + _REST)
    _bring_priorities(simulation)
    simulation.controllers.start_beside(make)
    return Attached(autoscaling, made[0], CostMeter(simulation, made[0]))


def _bring_priorities(simulation: Simulation) -> None:
    """Let the cluster have the ConfigMap of the priority expander, if the input does: a plan has no others."""
    namespace, _, name = CONFIG_MAP.partition("/")
    beside = simulation.api.documents.beside
    raw = beside.find(KINDS.CONFIG_MAP, namespace, name) if beside is not None else None
    if raw is not None:
        simulation.api.put(KINDS.CONFIG_MAP, raw, view_of(raw))
