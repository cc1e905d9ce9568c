"""Decide when a pod has to go because of NoExecute taints, and because of which.

Each taint is matched to the first toleration, in the pod's order, that tolerates it; the smallest `tolerationSeconds`
of those used counts, so a pod may have to go although it tolerates every taint. Kubernetes:
pkg/controller/tainteviction (processPodOnNode, getMinTolerationTime) and GetMatchingTolerations.
Differs: says which taint decided.
"""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from moorage.match.node_selector import compile_required_node_affinity
from moorage.match.operators import OPERATOR_GATES, TOLERATION, gate_of
from moorage.match.taint_messages import describe_taint, describe_toleration
from moorage.match.tolerations import TolerationSet, compile_tolerations
from moorage.model.gates import SEMVER_COMPARISON_OPERATORS, TAINT_TOLERATION_CEL, all_gates, gates_from
from moorage.model.go.integers import INT64_MAX, wrap64
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import PodSpec, Toleration
from moorage.model.well_known.taints import NO_EXECUTE

_SECOND = 10**9
#: The gates that decide whether a toleration or node affinity matches.
_GATES = (*OPERATOR_GATES, TAINT_TOLERATION_CEL)


class When(StrEnum):
    """When a pod has to leave its node."""

    NEVER = "never"
    NOW = "now"
    AFTER = "after"


class Eviction(msgspec.Struct, frozen=True):
    """The decision. The time counts from when the taint was seen; `used` are the tolerations that were matched."""

    when: When
    nanoseconds: int = 0
    because: str = ""
    all_tolerated: bool = True
    used: tuple[Toleration, ...] = ()

    @property
    def seconds(self) -> int:
        return self.nanoseconds // _SECOND


def decide_eviction(taints: Iterable[Taint], tolerations: TolerationSet) -> Eviction:
    """Return what the NoExecute taints among these mean for a pod with these tolerations."""
    used: list[Toleration] = []
    limited: list[tuple[int, Taint]] = []
    for taint in taints:
        if taint.effect != NO_EXECUTE:
            continue
        tolerated = tolerations.first_matching(taint)
        if tolerated is None:
            return Eviction(When.NOW, because=_not_tolerated(taint, tolerations), all_tolerated=False)
        used.append(tolerated[1])
        if tolerated[1].tolerationSeconds is not None:
            limited.append((tolerated[1].tolerationSeconds, taint))
    if not limited:
        return Eviction(When.NEVER, -1, used=tuple(used))
    seconds, taint = min(limited, key=lambda limit: limit[0])
    if seconds <= 0:
        return Eviction(When.NOW, because=tolerated_for(taint, 0), used=tuple(used))
    nanoseconds = _as_duration(seconds)
    if nanoseconds < 0:
        return Eviction(When.NEVER, nanoseconds, used=tuple(used))
    return Eviction(When.AFTER, nanoseconds, tolerated_for(taint, nanoseconds // _SECOND), used=tuple(used))


def _not_tolerated(taint: Taint, tolerations: TolerationSet) -> str:
    """Write `30 < 5 is false (taint fp=30, toleration Lt 5)`: what is false first."""
    compared = [matcher for matcher in tolerations.matchers if matcher.concerns(taint)]
    if not compared:
        return (tolerations.explain(taint) or "").removeprefix("taint ")
    first = f"{compared[0].why_false(taint)} (taint {describe_taint(taint)}, "
    others = [matcher.reason(taint) or "" for matcher in compared[1:]]
    return "; ".join([f"{first}{describe_toleration(compared[0].toleration)})", *others])


def tolerated_for(taint: Taint, seconds: int) -> str:
    """Write `fp=3 is tolerated for 30 s`: why a pod leaves although it tolerates the taint."""
    return f"{describe_taint(taint)} is tolerated for {seconds:,} s"


def no_execute(node: Node) -> tuple[Taint, ...]:
    """Return the taints of a node that evict pods."""
    taints = node.spec.taints
    return tuple(taint for taint in taints if taint.effect == NO_EXECUTE) if taints else ()


def gate_in_the_way(spec: PodSpec, node: Node) -> str | None:
    """Return the gate that must be off in a component which keeps a pod from its node: with all gates it may be there.

    None if taints or labels keep it away whatever the gates are, or if it needs none of them.
    """
    taints, labels, name = no_execute(node), node.metadata.labels, node.metadata.name
    every, none = all_gates(), gates_from(dict.fromkeys((gate.name for gate in _GATES), False))
    tolerations = compile_tolerations(spec.tolerations, every)
    if any(tolerations.first_matching(taint) is None for taint in taints):
        return None
    if not compile_required_node_affinity(spec.nodeSelector, spec.affinity, every).match(labels, name):
        return None
    without = compile_tolerations(spec.tolerations, none)
    for taint in taints:
        used = tolerations.first_matching(taint)
        if used is not None and without.first_matching(taint) is None:
            operator = used[1].operator
            gate = TAINT_TOLERATION_CEL if used[1].expression else gate_of(operator, TOLERATION)
            return gate.name if gate is not None else None
    if not compile_required_node_affinity(spec.nodeSelector, spec.affinity, none).match(labels, name):
        return SEMVER_COMPARISON_OPERATORS.name
    return None


def _as_duration(seconds: int) -> int:
    """Convert to Go's time.Duration, which wraps around after 292 years; a negative time is forever."""
    return -1 if seconds == INT64_MAX else wrap64(seconds * _SECOND)
