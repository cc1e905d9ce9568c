"""`moorage.plan` and `moorage.explain`: where pods land and why, as objects."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from moorage.library.manifests import (
    Gates,
    Manifests,
    MoorageError,
    as_moorage_errors,
    gates_of,
    named_gates,
    sources_from,
)
from moorage.model.gates import Component, GateSet
from moorage.plan import node_changes
from moorage.plan.departures import Departure, EvictionLoop
from moorage.plan.explain.daemon_set import DaemonExplanation, explain_daemon_set
from moorage.plan.explain.explanation import Explanation, explain_pod
from moorage.plan.explain.target import TargetError, daemon_set_named, find_target
from moorage.plan.input.inventory import Note
from moorage.plan.input.live_cluster import NoLiveCluster, load_live, read_live_cluster
from moorage.plan.input.live_gates import gates_to_plan_with
from moorage.plan.outcome import FailedLine, NodeLine, Preempted, is_trouble
from moorage.plan.planner import Planner, Settings
from moorage.plan.pod_lines import PodLine, State
from moorage.plan.rollout import Rollout
from moorage.plan.what_if import Changes, Difference
from moorage.schedule.config.configuration import load_configuration
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION, Configuration, ConfigurationError


class Plan(msgspec.Struct, frozen=True):
    """Where every pod lands. With changes: where it lands after them, and `difference` says what they did.

    `pods` has every pod exactly once, with its `state` (a `moorage.State`): pods of the input, those that controllers
    made, and those that were refused. `failed` are workloads of whose pods the API server refuses some, `preempted`
    pods that had to go, `evicted` those that taints evict without any change, `loops` the workloads of which that
    never ends, `notes` remarks on the input. `rejected` and `unreadable` count objects and sources that are not part of
    the plan. `headroom` has for each workload how many more of its pods fit, if that was asked for; `no_headroom` why
    that cannot be told of others.
    """

    pods: tuple[PodLine, ...]
    nodes: tuple[NodeLine, ...]
    failed: tuple[FailedLine, ...]
    preempted: tuple[Preempted, ...]
    evicted: tuple[Departure, ...]
    loops: tuple[EvictionLoop, ...]
    notes: tuple[Note, ...]
    difference: Difference | None
    rollout: Rollout | None
    rejected: int
    unreadable: int
    headroom: dict[str, int]
    no_headroom: dict[str, str]
    _asked: "_Asked"

    @property
    def pending(self) -> tuple[PodLine, ...]:
        """The pods that wait for a node; each has a `reason` and a `message`."""
        return self.of_state(State.PENDING)

    def of_state(self, state: State) -> tuple[PodLine, ...]:
        return tuple(pod for pod in self.pods if pod.state is state)

    @property
    def is_complete(self) -> bool:
        """True if every pod runs somewhere and stays there, nothing was refused, and the rollout completes."""
        stops = self.rollout is not None and not self.rollout.completes
        return not (self.failed or self.rejected or self.unreadable or stops or any(map(is_trouble, self.pods)))

    def node_of(self, pod: str) -> str:
        """Return the node of a pod, `name` or `namespace/name`; empty if it is on none. Raises MoorageError."""
        named = [line for line in self.pods if pod in (line.key, line.name) and line.state is not State.REFUSED]
        # A StatefulSet's pod that was evicted and the one that replaces it have the same name.
        lines = [line for line in named if line.is_present] or named[:1]
        if len(lines) != 1:
            raise MoorageError(f"there {'are several pods' if lines else 'is no pod'} {pod!r} in the plan")
        return lines[0].node

    def explain(self, target: str, *, node: str = "") -> Explanation | DaemonExplanation:
        """Explain one pod of the plan's input: `pod/web-1`, `shop/web-1`, `deployment/web`. Raises MoorageError.

        With `node`, that node is explained in full. Changes do not count: the input is explained as it was given. The
        answer about `daemonset/agent` is a `DaemonExplanation`.
        """
        return self._asked.explain(target, node=node)


class _Asked(msgspec.Struct, frozen=True):
    """What a plan was made from."""

    manifests: Manifests
    settings: Settings
    kubeconfig: str
    context: str
    wanted: Mapping[str, bool]  # gates of the caller's, which a cluster may have otherwise

    def planner(self, *, with_manifests: bool = True) -> Planner:
        planner = Planner(self.settings)
        if self.kubeconfig:
            with as_moorage_errors(NoLiveCluster):
                live = read_live_cluster(self.kubeconfig, self.context)
            found = gates_to_plan_with(live.gates, self.wanted)
            planner = Planner(msgspec.structs.replace(self.settings, gates=found[Component.API_SERVER], others=found))
            load_live(planner, live, self.wanted)
        if with_manifests:
            planner.load(sources_from(self.manifests), announces_updates=not self.kubeconfig)
        return planner

    def explain(
        self, target: str, *, namespace: str = "", node: str = "", alone: bool = False
    ) -> Explanation | DaemonExplanation:
        planner = self.planner()
        simulation, inventory = planner.build(), planner.inventory
        with as_moorage_errors(TargetError):
            daemon_set = daemon_set_named(inventory, target, namespace)
            if daemon_set is not None:
                return explain_daemon_set(simulation, inventory, daemon_set, node, alone=alone)
            found = find_target(simulation, inventory, target, namespace, alone=alone)
            return explain_pod(simulation, inventory, found, node)


def plan(
    manifests: Manifests = (),
    *,
    gates: Gates | None = None,
    config: str | Path | None = None,
    namespace: str = "default",
    seed: int = 0,
    kubeconfig: str | Path | None = None,
    context: str = "",
    change: Manifests = (),
    taint: Iterable[str] = (),
    untaint: Iterable[str] = (),
    drain: Iterable[str] = (),
    remove: Iterable[str] = (),
    cordon: Iterable[str] = (),
    scale: Mapping[str, int] | None = None,
    add_nodes: int | None = None,
    like: str = "",
    rollout: str = "",
    at: str = "",
    headroom: bool = False,
) -> Plan:
    """Plan where every pod lands, as `moorage plan` does. Raises MoorageError.

    `manifests` are nodes, pods, workloads and whatever else the pods' places depend on; with `kubeconfig` they are
    a change of a live cluster, which is only read; it is planned with its own gates, but for those in `gates`.
    `change`, `taint`, `untaint`, `drain`, `remove`, `cordon`, `scale` (`{"deployment/web": 5}`) and `add_nodes`,
    which are `like` a node, are what if: the result is the plan after them, and `difference` tells what they did.
    `rollout` names a workload, such as `deployment/web`, whose update (to its template in `change`, or a restart)
    is played; the result is in `rollout`. `at` is a duration, such as `10m`: the plan shows the state after so much
    time. With `headroom`, the plan says how many more pods of each workload fit. `config` is a
    KubeSchedulerConfiguration, a path or its text.
    """
    asked = _asked(manifests, gates, config, namespace, seed, kubeconfig, context)
    sources = [*(sources_from(asked.manifests) if kubeconfig else ()), *sources_from(change)]
    with as_moorage_errors(node_changes.ChangeError):
        until = node_changes.parse_time(at)
        changes = Changes(
            tuple(source.name for source in sources),
            tuple(map(node_changes.parse_taint, taint)),
            tuple(map(node_changes.parse_untaint, untaint)),
            tuple(drain),
            tuple(remove),
            tuple(node_changes.parse_scale(f"{workload}={replicas}") for workload, replicas in (scale or {}).items()),
            tuple(cordon),
            node_changes.parse_added_nodes(add_nodes, like),
        )
        planner = asked.planner(with_manifests=not kubeconfig)
        simulation = planner.build(lives=until is not None)
        outcome, difference, played = planner.answer(simulation, changes, sources, rollout, until, headroom=headroom)
    return Plan(
        pods=tuple(outcome.pods),
        nodes=tuple(outcome.nodes),
        failed=tuple(outcome.failed),
        preempted=tuple(outcome.preempted),
        evicted=tuple(outcome.evicted),
        loops=tuple(outcome.loops),
        notes=tuple(outcome.notes),
        difference=difference,
        rollout=played,
        rejected=outcome.rejected,
        unreadable=outcome.unreadable,
        headroom=outcome.headroom,
        no_headroom=outcome.no_headroom,
        _asked=asked,
    )


def explain(
    target: str,
    manifests: Manifests = (),
    *,
    node: str = "",
    alone: bool = False,
    gates: Gates | None = None,
    config: str | Path | None = None,
    namespace: str = "",
    seed: int = 0,
    kubeconfig: str | Path | None = None,
    context: str = "",
) -> Explanation | DaemonExplanation:
    """Explain why one pod goes where it goes or nowhere, as `moorage explain` does. Raises MoorageError.

    `target` is `pod/web-1`, `web-1`, `shop/web-1` or a workload such as `deployment/web`. With `node` that node is
    explained in full; with `alone` the pods before it in the queue are not placed first. The answer about a DaemonSet
    is a `DaemonExplanation`: node by node whether there is a pod, and why not.
    """
    asked = _asked(manifests, gates, config, namespace or "default", seed, kubeconfig, context)
    return asked.explain(target, namespace=namespace, node=node, alone=alone)


def _asked(
    manifests: Manifests,
    gates: Gates | None,
    config: str | Path | None,
    namespace: str,
    seed: int,
    kubeconfig: str | Path | None,
    context: str,
) -> _Asked:
    switched = gates_of(gates)
    # An iterator can be read once, and a plan may be explained later.
    kept = manifests if isinstance(manifests, str | Path | dict) else tuple(manifests)
    settings = Settings(switched, seed, read_config(config, switched), namespace)
    return _Asked(kept, settings, str(kubeconfig or ""), context, named_gates(gates))


def read_config(config: str | Path | None, gates: GateSet) -> Configuration:
    """Return a scheduler configuration from a path or from text; the default one without."""
    if config is None:
        return DEFAULT_CONFIGURATION
    is_text = isinstance(config, str) and "\n" in config
    with as_moorage_errors(OSError, ConfigurationError):
        text = str(config).encode() if is_text else Path(config).read_bytes()
        return load_configuration(text, "<config>" if is_text else str(config), gates)
