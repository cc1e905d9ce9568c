"""List the tolerations of a pod with the taints that each matches, and the taints of its node that none does.

NoExecute is read with the gates of the controller manager, which evicts, and the other effects with those of the
scheduler. Kubernetes: kubectl describe pod lists tolerations only.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from moorage.match.comparison import shown
from moorage.match.evaluation.accounts import Evaluations, Undecided
from moorage.match.operators import EQUAL, EXISTS
from moorage.match.taint_messages import describe_taint_with_effect
from moorage.match.tolerations import TolerationSet, compile_tolerations
from moorage.model.gates import Component
from moorage.model.go.quoting import go_quote
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import Pod, Toleration
from moorage.model.well_known.taints import NO_EXECUTE
from moorage.plan.simulation.simulation import Settings
from moorage.schedule.config.default_profile import program_cache

_NOT_EVALUATED = "its expression is expensive, and was not evaluated"
_MAX_EXPRESSION = 200


class MatchedTaint(msgspec.Struct, frozen=True):
    """A taint of the pod's node, and what is true of it. `counts`: no earlier toleration matches it, too."""

    taint: str
    why: str
    counts: bool


class TolerationLine(msgspec.Struct, frozen=True, rename="camel"):
    """One toleration. `never` says why it can match no taint; `other_taints` it matches are on `other_nodes`."""

    toleration: str
    seconds: int | None
    here: tuple[MatchedTaint, ...]
    other_taints: int
    other_nodes: int
    never: str = ""


class UntoleratedTaint(msgspec.Struct, frozen=True):
    """A taint of the pod's node that no toleration matches, and why."""

    taint: str
    effect: str
    why: str


class ToleratedTaints(msgspec.Struct, frozen=True):
    """All tolerations of a pod in its order, and what its node has besides."""

    tolerations: tuple[TolerationLine, ...]
    untolerated: tuple[UntoleratedTaint, ...]


def tolerated_taints(
    pod: Pod, node: Node | None, nodes: Iterable[Node], settings: Settings, evaluations: Evaluations | None = None
) -> ToleratedTaints:
    """Say what each toleration matches on the pod's node, and on how many of all `nodes` besides."""
    readers = _Readers(pod, settings, evaluations)
    here = node.spec.taints if node is not None else ()
    others: dict[tuple[str, str, str], _Elsewhere] = {}
    for other in nodes:
        if node is None or other.metadata.name != node.metadata.name:
            for taint in other.spec.taints:
                identity = taint.key, taint.value, taint.effect
                others.setdefault(identity, _Elsewhere(taint, set())).nodes.add(other.metadata.name)
    distinct = list(others.values())
    lines = [_line(readers, index, here, distinct) for index in range(len(pod.spec.tolerations))]
    untolerated = [
        UntoleratedTaint(describe_taint_with_effect(taint), taint.effect, why)
        for taint in here
        if (why := readers.why_not(taint)) is not None
    ]
    return ToleratedTaints(tuple(lines), tuple(untolerated))


class _Elsewhere(NamedTuple):
    taint: Taint
    nodes: set[str]


class _Readers:
    """The tolerations of one pod as the components read them."""

    def __init__(self, pod: Pod, settings: Settings, evaluations: Evaluations | None) -> None:
        scheduler, manager = settings.gates_of(Component.SCHEDULER), settings.gates_of(Component.CONTROLLER_MANAGER)
        names = ("the scheduler", "the controller manager") if scheduler != manager else ("", "")
        self._sets = [
            compile_tolerations(pod.spec.tolerations, gates, program_cache(gates, evaluations), component=name)
            for gates, name in zip((scheduler, manager), names, strict=True)
        ]

    def of(self, taint: Taint) -> TolerationSet:
        return self._sets[taint.effect == NO_EXECUTE]

    def why_true(self, index: int, taint: Taint) -> str | None:
        try:
            return self.of(taint).matchers[index].why_true(taint)
        except Undecided:
            return None

    def is_first(self, index: int, taint: Taint) -> bool:
        try:
            first = self.of(taint).first_matching(taint)
        except Undecided:
            return False
        return first is not None and first[0] == index

    def why_not(self, taint: Taint) -> str | None:
        try:
            return self.of(taint).explain(taint)
        except Undecided:
            return _NOT_EVALUATED

    def never(self, index: int, toleration: Toleration) -> str:
        """Return why a toleration matches no taint at all in one of the components that read it."""
        if toleration.effect:
            return self._sets[toleration.effect == NO_EXECUTE].matchers[index].never or ""
        return next((why for one in self._sets if (why := one.matchers[index].never)), "")

    def toleration(self, index: int) -> Toleration:
        return self._sets[0].matchers[index].toleration


def _line(readers: _Readers, index: int, here: Iterable[Taint], others: Iterable[_Elsewhere]) -> TolerationLine:
    toleration = readers.toleration(index)
    matched = [
        MatchedTaint(describe_taint_with_effect(taint), why, readers.is_first(index, taint))
        for taint in here
        if (why := readers.why_true(index, taint)) is not None
    ]
    elsewhere = [other for other in others if readers.why_true(index, other.taint) is not None]
    return TolerationLine(
        written_toleration(toleration),
        toleration.tolerationSeconds,
        tuple(matched),
        len(elsewhere),
        len(set[str]().union(*(other.nodes for other in elsewhere))),
        readers.never(index, toleration),
    )


def written_toleration(toleration: Toleration) -> str:
    """Write `fp Lt 5:NoExecute`, `fp=3`, `any taint` or the expression: all that a toleration says but its seconds."""
    effect = f":{toleration.effect}" if toleration.effect else ""
    if toleration.expression:
        text = toleration.expression
        quoted = go_quote(text if len(text) <= _MAX_EXPRESSION else text[: _MAX_EXPRESSION - 3] + "...")
        keyed = toleration.key and f"{shown(toleration.key)} {toleration.operator} {quoted}{effect}"
        return keyed or f"expression {quoted}"
    operator = toleration.operator or EQUAL
    if operator == EXISTS:
        return f"{shown(toleration.key)}{effect}" if toleration.key else f"any taint{effect}"
    key = shown(toleration.key) if toleration.key else "any key"
    return (
        f"{key}={shown(toleration.value)}{effect}"
        if operator == EQUAL
        else f"{key} {operator} {shown(toleration.value)}{effect}"
    )
