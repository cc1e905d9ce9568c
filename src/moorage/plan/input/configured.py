"""Make the planner of a command: with the gates, the scheduler's configuration and the live cluster it is told of."""

from collections.abc import Callable, Mapping

from moorage.model.gates import Component, GateSet, gates_from, named_values
from moorage.plan.input.live_cluster import LiveCluster, load_live
from moorage.plan.input.live_gates import gates_to_plan_with
from moorage.plan.input.reading import KnownObjects
from moorage.plan.planner import Planner, Settings
from moorage.schedule.config.configured_scheduler import Configuration

Configure = Callable[[GateSet], Configuration]


def configured_planner(
    gates: Mapping[str, bool],
    seed: int,
    namespace: str,
    configure: Configure,
    live: LiveCluster | None = None,
    known: KnownObjects | None = None,
) -> Planner:
    """Return a planner with the live cluster, if there is one, loaded. Raises GateError and what `configure` raises.

    `gates` are those of --feature-gates: a live cluster has its own, but for these. `configure` is given the
    scheduler's gates. Objects of the live cluster that are `known` are not admitted again.
    """
    switched = gates_from(gates)
    if live is None:
        return Planner(Settings(switched, seed, configure(switched), namespace or "default"))
    wanted = named_values(gates)
    found = gates_to_plan_with(live.gates, wanted)
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
