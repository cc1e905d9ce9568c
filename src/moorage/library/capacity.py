"""Answer questions about capacity from Python: the cheapest mix, what a value costs, a loss does, and who can go."""

from moorage.capacity.curving.curve import Curve, play_curve
from moorage.capacity.curving.taint_axis import taint_axis
from moorage.capacity.curving.workload_axes import share_axis, threshold_axis
from moorage.capacity.fitting.answer import FitOptions, answer
from moorage.capacity.fitting.fit import Unpriced
from moorage.capacity.fitting.report import FitReport
from moorage.capacity.fitting.survival import read_survival
from moorage.capacity.losing.loss import Loss, lost_nodes, play_loss
from moorage.capacity.node_choice import NoSuchNodes, parse_choice
from moorage.capacity.raised_value import parse_value
from moorage.capacity.reclaiming.reclaim import Reclaim, Reclaimer
from moorage.library.manifests import Gates, Manifests, MoorageError, as_moorage_errors, gates_of, sources_from
from moorage.library.pools import pools_from
from moorage.plan.node_changes import ChangeError
from moorage.plan.planner import Planner, Settings
from moorage.plan.pools.reading import read_pool_sources
from moorage.pools.prices import Prices

__all__ = ["Curve", "FitReport", "Loss", "Reclaim", "curve", "fit", "lose", "reclaim"]


def fit(
    manifests: Manifests,
    pools: Manifests,
    *,
    gates: Gates | None = None,
    namespace: str = "default",
    seed: int = 0,
    max_cost: float | None = None,
    survive: str | int | None = None,
    keep_existing: bool = False,
    headroom: float = 0.0,
    explain: bool = False,
) -> FitReport:
    """Return the cheapest mix of nodes on which everything runs, as `moorage capacity fit` does. Raises MoorageError.

    `pools` are paths or texts with pools and instance types; `survive` is zone, pool or a number of nodes.
    """
    planner = Planner(Settings(gates_of(gates), seed, namespace=namespace))
    planner.load(sources_from(manifests))
    read = pools_from(pools, planner.inventory)
    with as_moorage_errors(Unpriced, ValueError):
        losses = read_survival(str(survive)) if survive is not None else None
        options = FitOptions(max_cost, losses, keep_existing, headroom, explain, seed)
        return answer(planner, read, options)[0]


def lose(
    manifests: Manifests,
    *choices: str,
    value: str = "",
    gates: Gates | None = None,
    namespace: str = "default",
    seed: int = 0,
) -> Loss:
    """Lose the nodes of these choices (`zone=a`, `pool=spot`, `node=n1`, `LABEL=VALUE`). Raises MoorageError.

    With `value` (`KEY=VALUE[:EFFECT]`) the nodes stay, and a taint of theirs gets this value.
    """
    if not choices:
        raise MoorageError("nothing to lose: name zone=NAME, pool=NAME, node=NAME or LABEL=VALUE")
    planner = Planner(Settings(gates_of(gates), seed, namespace=namespace))
    planner.load(sources_from(manifests))
    with as_moorage_errors(ChangeError, NoSuchNodes):
        simulation = planner.build()
        before = planner.plan(simulation)
        nodes = lost_nodes(simulation, [parse_choice(choice) for choice in choices])
        raised = parse_value(value) if value else None
        return play_loss(planner, simulation, before, nodes, raised, " ".join(choices)).loss


def curve(
    manifests: Manifests,
    key: str,
    *choices: str,
    workloads: tuple[str, ...] = (),
    share: bool = False,
    operator: str = "",
    toleration: str = "",
    effect: str = "",
    values: tuple[str, ...] = (),
    pools: Manifests | None = None,
    fits: bool = False,
    gates: Gates | None = None,
    namespace: str = "default",
    seed: int = 0,
) -> Curve:
    """Play each value of a taint at which something changes, as `moorage capacity curve` does. Raises MoorageError.

    With `workloads` it is the threshold of their tolerations, with `share` how many pods accept the taint. `fits` finds
    the cheapest mix of nodes of the pools for each.
    """
    planner = Planner(Settings(gates_of(gates), seed, namespace=namespace))
    planner.load(sources_from(manifests))
    read = pools_from(pools, planner.inventory) if pools is not None else read_pool_sources((), planner.inventory)
    with as_moorage_errors(ChangeError, NoSuchNodes, Unpriced):
        simulation = planner.build()
        before = planner.plan(simulation)
        if share:
            axis = share_axis(simulation, planner.inventory, key, workloads, toleration)
        elif workloads:
            axis = threshold_axis(simulation, planner.inventory, key, workloads, operator, read.pools, values)
        else:
            axis = taint_axis(simulation, key, [parse_choice(choice) for choice in choices], effect, values)
        prices = Prices(read.pools) if read.pools else None
        return play_curve(planner, simulation, before, axis, prices, mixed=read if fits else None)


def reclaim(
    manifests: Manifests,
    *choices: str,
    most: int | None = None,
    pools: Manifests | None = None,
    gates: Gates | None = None,
    namespace: str = "default",
    seed: int = 0,
) -> Reclaim:
    """Return which of the chosen nodes can go, as `moorage capacity reclaim` does; of all nodes without a choice.

    Raises MoorageError.
    """
    planner = Planner(Settings(gates_of(gates), seed, namespace=namespace))
    planner.load(sources_from(manifests))
    read = pools_from(pools, planner.inventory) if pools is not None else read_pool_sources((), planner.inventory)
    with as_moorage_errors(NoSuchNodes):
        simulation = planner.build()
        before = planner.plan(simulation)
        nodes = lost_nodes(simulation, [parse_choice(choice) for choice in choices])
        return Reclaimer(planner, simulation, before, read.pools).reclaim(nodes, most)
