"""`moorage.plan` and `moorage.explain`: where pods land and why, as objects."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from moorage.library.manifests import (
    Gates,
    Manifests,
    MoorageError,
    Texts,
    as_moorage_errors,
    gates_of,
    named_gates,
    one_or_many,
    read_bytes,
    sources_from,
    texts_of,
)
from moorage.model.gates import Component, GateSet
from moorage.plan import node_changes
from moorage.plan.autoscalers import AutoscalerLine
from moorage.plan.departures import Departure, EvictionLoop
from moorage.plan.difference.difference import Difference
from moorage.plan.explain.daemon_set import DaemonExplanation, explain_daemon_set
from moorage.plan.explain.explanation import Explanation, explain_pod
from moorage.plan.explain.target import TargetError, daemon_set_named, find_target
from moorage.plan.input.inventory import Note
from moorage.plan.input.live_cluster import NoLiveCluster, load_live, read_live_cluster
from moorage.plan.input.live_gates import gates_to_plan_with
from moorage.plan.outcome import FailedLine, NodeLine, Outcome, Preempted, is_trouble
from moorage.plan.planner import Planner, Settings
from moorage.plan.pod_lines import PodLine, State
from moorage.plan.report.plain import plain, summary
from moorage.plan.rollout import Rollout
from moorage.plan.what_if import Changes
from moorage.schedule.config.configuration import load_configuration
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION, Configuration, ConfigurationError


class Plan(msgspec.Struct, frozen=True, rename="camel"):
    """Where every pod lands. With changes: where it lands after them, and `what_if` says what they did.

    Fields have the names of `moorage plan -o json`, in Python's spelling. `pods` has every pod exactly once, with its
    `state`: pods of the input, those that controllers made, and those that were refused. `summary` has the numbers,
    `failed_creates` the workloads of whose pods the API server refuses some, `preempted` pods that had to go, `evicted`
    those that taints evict without any change, `eviction_loops` the workloads of which that never ends, `autoscalers`
    what HorizontalPodAutoscalers have scaled and when, `notes` remarks on the input. `headroom` has for each workload
    how many more of its pods fit, if that was asked for; `headroom_unknown` why that cannot be told of others.
    """

    summary: dict[str, Any]
    pods: tuple[PodLine, ...]
    nodes: tuple[NodeLine, ...]
    evicted: tuple[Departure, ...]
    eviction_loops: tuple[EvictionLoop, ...]
    preempted: tuple[Preempted, ...]
    autoscalers: tuple[AutoscalerLine, ...]
    failed_creates: tuple[FailedLine, ...]
    notes: tuple[Note, ...]
    headroom: dict[str, int]
    headroom_unknown: dict[str, str]
    what_if: Difference | None
    rollout: Rollout | None
    _outcome: Outcome
    _asked: "_Asked"

    def to_dict(self) -> dict[str, Any]:
        """Return what `moorage plan -o json` prints, as plain data."""
        return plain(self._outcome, self.what_if, self.rollout)

    @property
    def rejected(self) -> int:
        """How many objects are not part of the plan because the API server would refuse them."""
        return self._outcome.rejected

    @property
    def unreadable(self) -> int:
        """How many files could not be read."""
        return self._outcome.unreadable

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
        return not (self.failed_creates or self.rejected or self.unreadable or stops or any(map(is_trouble, self.pods)))

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
    taint: Texts = (),
    untaint: Texts = (),
    drain: Texts = (),
    remove: Texts = (),
    cordon: Texts = (),
    evict: Texts = (),
    scale: Mapping[str, int] | None = None,
    load: Mapping[str, str] | None = None,
    add_nodes: int | None = None,
    like: str = "",
    rollout: str = "",
    at: str = "",
    headroom: bool = False,
) -> Plan:
    """Plan where every pod lands, as `moorage plan` does. Raises MoorageError.

    `manifests` are nodes, pods, workloads and whatever else the pods' places depend on; with `kubeconfig` they are
    a change of a live cluster, which is only read; it is planned with its own gates, but for those in `gates`.
    `change`, `taint`, `untaint`, `drain`, `remove`, `cordon`, `evict` (pods), `scale` (`{"deployment/web": 5}`), `load`
    (`{"deployment/web": "cpu=4"}`) and `add_nodes`, which are `like` a node, are what if: the result is the plan after
    them, and `what_if` tells what they did. `rollout` names a workload, such as `deployment/web`, whose update (to its
    template in `change`, or a restart) is played; the result is in `rollout`. `at` is a duration, such as `10m`: the
    plan shows the state after so much time. With `headroom`, the plan says how many more pods of each workload fit.
    `config` is a KubeSchedulerConfiguration, a path or its text.
    """
    asked = _asked(manifests, gates, config, namespace, seed, kubeconfig, context)
    sources = [*(sources_from(asked.manifests) if kubeconfig else ()), *sources_from(change)]
    with as_moorage_errors(node_changes.ChangeError):
        until = node_changes.parse_time(at)
        changes = Changes(
            tuple(source.name for source in sources),
            tuple(map(node_changes.parse_taint, texts_of(taint, "taint"))),
            tuple(map(node_changes.parse_untaint, texts_of(untaint, "untaint"))),
            texts_of(drain, "drain"),
            texts_of(remove, "remove"),
            tuple(map(node_changes.parse_scale, _scales(scale))),
            texts_of(cordon, "cordon"),
            node_changes.parse_added_nodes(add_nodes, like),
            evicts=texts_of(evict, "evict"),
            loads=tuple(map(node_changes.parse_load, _loads(load))),
        )
        planner = asked.planner(with_manifests=not kubeconfig)
        simulation = planner.build(lives=until is not None)
        outcome, difference, played = planner.answer(simulation, changes, sources, rollout, until, headroom=headroom)
    return Plan(
        summary=summary(outcome),
        pods=tuple(outcome.pods),
        nodes=tuple(outcome.nodes),
        evicted=tuple(outcome.evicted),
        eviction_loops=tuple(outcome.loops),
        preempted=tuple(outcome.preempted),
        autoscalers=tuple(outcome.autoscalers),
        failed_creates=tuple(outcome.failed),
        notes=tuple(outcome.notes),
        headroom=outcome.headroom,
        headroom_unknown=outcome.no_headroom,
        what_if=difference,
        rollout=played,
        _outcome=outcome,
        _asked=asked,
    )


def _loads(load: Mapping[str, str] | None) -> list[str]:
    if load is not None and not isinstance(load, Mapping):
        raise MoorageError(f'load is a mapping such as {{"deployment/web": "cpu=2"}}, not {type(load).__name__}')
    return [f"{workload}={text}" for workload, text in (load or {}).items()]


def _scales(scale: Mapping[str, int] | None) -> list[str]:
    if scale is not None and not isinstance(scale, Mapping):
        raise MoorageError(f'scale is a mapping such as {{"deployment/web": 5}}, not {type(scale).__name__}')
    return [f"{workload}={replicas}" for workload, replicas in (scale or {}).items()]


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
    kept = tuple(one_or_many(manifests))  # an iterator can be read once, and a plan may be explained later
    settings = Settings(switched, seed, read_config(config, switched), namespace)
    return _Asked(kept, settings, str(kubeconfig or ""), context, named_gates(gates))


def read_config(config: str | Path | None, gates: GateSet) -> Configuration:
    """Return a scheduler configuration from a path or from text; the default one without."""
    if config is None:
        return DEFAULT_CONFIGURATION
    is_text = isinstance(config, str) and "\n" in config
    text = str(config).encode() if is_text else read_bytes(config)
    with as_moorage_errors(ConfigurationError):
        return load_configuration(text, "<config>" if is_text else str(config), gates)
