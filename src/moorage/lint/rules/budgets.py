"""Collect PodDisruptionBudgets and the workloads of the input; find budgets that allow no eviction or match nothing.

Only what the input has is judged: a budget matches nothing if its namespace has workloads in the input and none has the
labels, and no custom resource is there that may make other pods. Workloads that an autoscaler scales are not counted.
Kubernetes: the disruption controller; percentages are rounded up.
"""

from collections.abc import Iterator

import msgspec

from moorage.lint.catalogue import WARNING, Facts, Rule, Theme, collector
from moorage.lint.finding import SourcePlace
from moorage.lint.meant_words import did_you_mean
from moorage.lint.subject import CONTROLLER_LABELS, Complaint, PlacedComplaint, Subject
from moorage.match.label_selector import Selector, compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.gates import GateSet


def scaled(value: int | str, total: int, *, round_up: bool) -> int | None:
    """Resolve a number or a percentage of the total; None if it is neither."""
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if digits == value or not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        return None
    product = int(digits) * total
    return -(-product // 100) if round_up else product // 100


_MAX_KEPT = 10_000
_COUNTED = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "Pod")


class _Workload(msgspec.Struct, frozen=True):
    """Pods by their labels, and how many there are; `replicas` is None where that is not known."""

    kind: str
    namespace: str
    name: str
    labels: dict[str, str]
    replicas: int | None
    is_owned: bool

    @property
    def described(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class _Budget(msgspec.Struct, frozen=True):
    """A budget: its selector and what it keeps, with the places that findings name."""

    namespace: str
    selector: Selector | None
    keys: tuple[str, ...]
    least: int | str | None
    most_absent: int | str | None
    selector_place: SourcePlace
    limit_place: SourcePlace


@collector(
    Theme.BUDGETS,
    Rule("budget-allows-no-eviction", WARNING, "The budget lets no pod be evicted, so that drains wait for ever."),
    Rule("budget-matches-nothing", WARNING, "No pod of the input has the labels that the budget selects."),
)
class BudgetFacts:
    """Budgets, workloads, and what may scale or make pods besides."""

    def __init__(self, gates: GateSet) -> None:
        self._budgets: list[_Budget] = []
        self._workloads: list[_Workload] = []
        self._scaled: set[tuple[str, str, str]] = set()
        self._has_custom_kinds = False

    def add(self, subject: Subject) -> None:
        if subject.kind == "PodDisruptionBudget":
            self._add_budget(subject)
        elif subject.kind == "HorizontalPodAutoscaler" and len(self._scaled) < _MAX_KEPT:
            target = subject.view.spec.scaleTargetRef
            self._scaled.add((target.kind, subject.view.metadata.namespace or "default", target.name))
        elif subject.kind != "PodTemplate" and subject.pods is not None and len(self._workloads) < _MAX_KEPT:
            self._workloads.append(_workload_of(subject))

    def add_unchecked(self, *, is_custom: bool) -> None:
        """Note an object of a kind that is not checked, which may make pods."""
        self._has_custom_kinds |= is_custom

    def _add_budget(self, subject: Subject) -> None:
        spec = subject.view.spec
        try:
            selector = None if spec.selector is None else compile_label_selector(spec.selector)
        except SelectorError:
            return  # the API server reports it
        if len(self._budgets) >= _MAX_KEPT:
            return
        limit = "minAvailable" if spec.minAvailable is not None else "maxUnavailable"
        wanted = () if spec.selector is None else spec.selector.matchExpressions
        keys = (*(spec.selector.matchLabels if spec.selector is not None else ()), *(one.key for one in wanted))
        self._budgets.append(
            _Budget(
                subject.view.metadata.namespace or "default",
                selector,
                keys,
                spec.minAvailable,
                spec.maxUnavailable,
                subject.place("spec.selector"),
                subject.place(f"spec.{limit}"),
            )
        )

    def complaints(self, facts: Facts) -> Iterator[PlacedComplaint]:
        if len(self._workloads) >= _MAX_KEPT:
            return
        for budget in self._budgets:
            if budget.selector is None:
                message = "a budget without a selector matches no pods and protects nothing"
                hint = "write a selector with the labels of the pods; `selector: {}` matches all pods of the namespace"
                yield Complaint("budget-matches-nothing", "spec.selector", message, hint), budget.selector_place
                continue
            matched = [
                workload
                for workload in self._workloads
                if workload.namespace == budget.namespace and _matches(budget, workload)
            ]
            if not matched and (unmatched := self._matches_nothing(budget)) is not None:
                yield unmatched, budget.selector_place
            if (complaint := self._allows_nothing(budget, matched)) is not None:
                yield complaint, budget.limit_place

    def _matches_nothing(self, budget: _Budget) -> Complaint | None:
        elsewhere = next((one for one in self._workloads if _matches(budget, one)), None)
        beside = [workload for workload in self._workloads if workload.namespace == budget.namespace]
        if self._has_custom_kinds or not (beside or elsewhere):
            return None
        shown = str(budget.selector) or "its selector"
        message = f"no pod or template of the input in namespace {budget.namespace} has the labels {shown}"
        hint = ""
        if elsewhere is not None:
            hint = f"{elsewhere.described} has them: a budget counts pods of its own namespace only"
        elif beside:
            some = beside[0]
            labels = ",".join(f"{key}={value}" for key, value in sorted(some.labels.items())) or "no labels"
            hint = did_you_mean(shown, [f"{key}={value}" for one in beside for key, value in one.labels.items()])
            hint = hint or f"the pods of {some.described} have {labels}"
        return Complaint("budget-matches-nothing", "spec.selector", message, hint)

    def _allows_nothing(self, budget: _Budget, matched: list[_Workload]) -> Complaint | None:
        rule, waits = "budget-allows-no-eviction", "a drain of their nodes waits for ever"
        if budget.most_absent is not None:
            if scaled(budget.most_absent, 100, round_up=True) != 0:
                return None
            message = f"maxUnavailable: {budget.most_absent} lets no pod be evicted: {waits}"
            return Complaint(rule, "spec.maxUnavailable", message, "write maxUnavailable: 1")
        if budget.least is None:
            return None
        if isinstance(budget.least, str) and (scaled(budget.least, 100, round_up=True) or 0) >= 100:
            message = f"minAvailable: {budget.least} lets no pod be evicted: {waits}"
            return Complaint(rule, "spec.minAvailable", message, "write maxUnavailable: 1 instead")
        total = self._total(matched)
        if not total:
            return None
        needed = scaled(budget.least, total, round_up=True)
        if needed is None or needed < total:
            return None
        counted = ", ".join(f"{one.described}: {one.replicas}" for one in matched[:3] if not one.is_owned)
        pods = "the only pod" if total == 1 else f"all of the {total} pods"
        message = (
            f"minAvailable: {budget.least} keeps {pods} that it selects ({counted}): none can be evicted, and {waits}"
        )
        hint = "write maxUnavailable: 1 instead" + ("" if total > 1 else ", or give the workload a second replica")
        return Complaint(rule, "spec.minAvailable", message, hint)

    def _total(self, matched: list[_Workload]) -> int | None:
        """Return how many pods there will be; None if that is not known."""
        total = 0
        for one in matched:
            if one.is_owned:
                continue  # its owner is asked for them
            if one.replicas is None or (one.kind, one.namespace, one.name) in self._scaled:
                return None
            total += one.replicas
        return total


def _workload_of(subject: Subject) -> _Workload:
    assert subject.pods is not None
    view, kind = subject.view, subject.kind
    replicas: int | None = None
    if kind in _COUNTED:
        asked = 1 if kind == "Pod" else view.spec.replicas
        replicas = 1 if asked is None else asked
    metadata = view.metadata
    labels = subject.pods.metadata.labels
    return _Workload(
        kind, metadata.namespace or "default", metadata.name, labels, replicas, bool(metadata.ownerReferences)
    )


def _matches(budget: _Budget, workload: _Workload) -> bool:
    """Return whether the budget selects the pods, or might: controllers add labels whose values are not known."""
    added = set(CONTROLLER_LABELS[workload.kind]) - set(workload.labels)
    return budget.selector is not None and (
        any(key in added for key in budget.keys) or budget.selector.match(workload.labels)
    )
