"""Decide when and because of which NoExecute taints a pod has to leave its node, once for each list of both.

All gates are on: a cluster does not tell its gates to everyone who may watch its pods. Of a lowered pod the tolerations
count that it was lowered from, as for the controller of attach.
"""

from collections.abc import Mapping
from functools import lru_cache

from moorage.attach.matching import compile_original
from moorage.attached.controller.lowered_pods import Identity, identity_of, read_identity
from moorage.match.evaluation.accounts import Undecided
from moorage.match.eviction_clock import NO_DEADLINE, Deadline, deadline
from moorage.match.taint_eviction import Eviction, When, decide_eviction, no_execute, tolerated_for
from moorage.match.taint_messages import describe_taint_with_effect
from moorage.match.tolerations import ProgramCache, TolerationSet, compile_tolerations
from moorage.model.gates import all_gates
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import Pod

_GATES = all_gates()
_REMEMBERED = 4096
_PROGRAMS = ProgramCache()
Taints = tuple[Taint, ...]


@lru_cache(_REMEMBERED)
def _compiled(identity: Identity) -> TolerationSet:
    lowered = read_identity(identity)
    if lowered is None or lowered.original is None:
        return compile_tolerations(identity.tolerations, _GATES)
    return compile_original(lowered.original.counting, _PROGRAMS)


@lru_cache(_REMEMBERED)
def _decided(taints: Taints, identity: Identity) -> Eviction:
    return decide_eviction(taints, _compiled(identity))


def eviction_clock(pod: Pod, taints: Taints, now: float, begun: Mapping[str, float] | None = None) -> Deadline:
    """Return when a pod has to leave a node with these NoExecute taints.

    `begun`: when taints were first seen, by key; kubectl does not write down when it adds one.
    """
    if not taints:
        return NO_DEADLINE
    try:
        return deadline(taints, _decided(taints, identity_of(pod)), pod, now, begun=begun)
    except Undecided:
        return NO_DEADLINE


def eviction_cause(pod: Pod, node: Node | None, now: float) -> tuple[str, str]:
    """Return the taints that evict a pod from a node, and why they do; empty if that is not known."""
    taints = no_execute(node) if node is not None else ()
    clock = eviction_clock(pod, taints, now)
    blamed = [taint for taint in taints if clock.leaves and _is_blamed(taint, pod, clock)]
    return ", ".join(map(describe_taint_with_effect, blamed or taints)), clock.because


def _is_blamed(taint: Taint, pod: Pod, clock: Deadline) -> bool:
    """Return whether a taint decides: nothing tolerates it, or its time is over first."""
    found = _compiled(identity_of(pod)).first_matching(taint)
    if found is None:
        return True
    seconds = found[1].tolerationSeconds
    return seconds is not None and clock.because == tolerated_for(taint, 0 if clock.when is When.NOW else seconds)
