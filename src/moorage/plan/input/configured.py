"""Make the planner of a command: with the gates, the scheduler's configuration and the live cluster it is told of."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from moorage.model.gates import GATES, Component, GateSet, gates_from, named_values
from moorage.plan.input.admitted.known_objects import KnownObjects
from moorage.plan.input.live_cluster import LiveCluster, load_live
from moorage.plan.input.live_gates import gates_to_plan_with, skew_notes
from moorage.plan.planner import Planner, Settings
from moorage.schedule.config.configured_scheduler import Configuration


def _values(gates: GateSet) -> dict[str, bool]:
    return {gate.name: gates.enabled(gate) for gate in GATES}


Configure = Callable[[GateSet], Configuration]


def configured_planner(
    gates: Mapping[str, bool],
    seed: int,
    namespace: str,
    configure: Configure,
    live: LiveCluster | None = None,
    known: KnownObjects | None = None,
    only: Mapping[Component, Mapping[str, bool]] = MappingProxyType({}),
) -> Planner:
    """Return a planner with the live cluster, if there is one, loaded. Raises GateError and what `configure` raises.

    `gates` are those of --feature-gates: a live cluster has its own, but for these; `only` those of single components.
    `configure` is given the scheduler's gates. Objects of the live cluster that are `known` are not admitted again.
    """
    gates_from(gates)
    if live is None:
        found = {component: gates_from({**gates, **only.get(component, {})}) for component in Component}
        others = found if only else {}
        configuration = configure(found[Component.SCHEDULER])
        planner = Planner(Settings(found[Component.API_SERVER], seed, configuration, namespace or "default", others))
        planner.inventory.notes += skew_notes({component: _values(switched) for component, switched in others.items()})
        return planner
    wanted = named_values(gates)
    found = gates_to_plan_with(live.gates, wanted, only)
    settings = Settings(
        found[Component.API_SERVER],
        seed,
        configure(found[Component.SCHEDULER]),
        namespace or live.namespace,
        others=found,
    )
    planner = Planner(settings)
    load_live(planner, live, wanted, known)
    return planner
