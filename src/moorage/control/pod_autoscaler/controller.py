"""Reconcile HorizontalPodAutoscalers every 15 seconds: read the Scale and the metrics, write the Scale and the status.

Kubernetes: pkg/controller/podautoscaler/horizontal.go. An autoscaler is looked at for the first time 15 seconds after
it was made. What it recommended and changed lately is in memory: a controller that takes over begins again.
"""

from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Action, Answers, Plan, Question, Report, Update, warn
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.custom_kinds import kind_of_definition
from moorage.control.framework.world import World
from moorage.control.pod_autoscaler.counting import AutoscalerMetrics
from moorage.control.pod_autoscaler.decision import (
    CannotScale,
    Options,
    ScalingDecision,
    ScalingEvent,
    ScalingOutcome,
    Surroundings,
    decide,
)
from moorage.control.pod_autoscaler.history import History
from moorage.control.pod_autoscaler.questions import (
    AnsweredMetrics,
    KindOf,
    metric_questions,
    read_scale,
    scale_question,
)
from moorage.control.pod_autoscaler.targets import group_of, read_target
from moorage.match.label_selector import Selector
from moorage.model.api_error import ApiError
from moorage.model.gates import HPA_CONFIGURABLE_TOLERANCE, HPA_SCALE_TO_ZERO
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.autoscaler import HorizontalPodAutoscaler
from moorage.model.types.pod import Pod
from moorage.model.types.request import Scale
from moorage.usage.label_classes import LabelClasses

_AUTOSCALER, _DEFINITION = KINDS.HORIZONTAL_POD_AUTOSCALER, KINDS.CUSTOM_RESOURCE_DEFINITION
SYNC_SECONDS = 15.0
_LOOKS_UNTIL_REST = 4


class _Kept(NamedTuple):
    """What is remembered of an autoscaler: its history, and the selector of its target, once that is known."""

    history: History = History()
    selector: Selector | None = None


class PodAutoscalerController(Controller):
    """Scales what autoscalers refer to."""

    name = "horizontal-pod-autoscaler-controller"
    component = "horizontal-pod-autoscaler"
    watches = (_AUTOSCALER, KINDS.POD, _DEFINITION)
    workers = 5

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        gates = context.gates
        self.options = Options(
            has_own_tolerances=gates.enabled(HPA_CONFIGURABLE_TOLERANCE),
            scales_to_zero=gates.enabled(HPA_SCALE_TO_ZERO),
        )
        self._metrics = AutoscalerMetrics(context.metrics, lambda: len(self._due))
        self._due: dict[str, float] = {}
        self._kept: dict[str, _Kept] = {}
        self._decisions: dict[str, ScalingDecision] = {}
        self._quiet_looks: dict[str, int] = {}
        self._pods = LabelClasses()

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.POD:
            if new is not None:
                self._pods.put(new.key, new.view.metadata.labels)
            elif old is not None:
                self._pods.put(old.key, None)
        if kind is not _AUTOSCALER or (changed := new or old) is None:
            return ()
        is_status = old is not None and new is not None and old.view.spec == new.view.spec
        return () if is_status else (changed.key,)

    # -- asking -------------------------------------------------------------------------------------------------------

    def questions(self, key: str, world: World, now: float) -> Sequence[Question]:
        autoscaler = self._autoscaler(key, world)
        if autoscaler is None or now < self._due.get(key, float("inf")):
            return ()
        question = self._scale_question(autoscaler, world)
        return () if question is None else (question,)

    def further_questions(self, key: str, world: World, answers: Answers, now: float) -> Sequence[Question]:
        autoscaler = self._autoscaler(key, world)
        if autoscaler is None:
            return ()
        try:
            scale = read_scale(answers, self._scale_question(autoscaler, world))
        except CannotScale:
            return ()
        spec, replicas = autoscaler.spec, scale.spec.replicas
        if replicas and not (spec.minReplicas or 0) <= replicas <= spec.maxReplicas:
            return ()  # it is scaled whatever the metrics are
        asked = dict.fromkeys(metric_questions(autoscaler, scale, _kinds_in(world)))
        return [question for question in asked if question not in answers]

    def _autoscaler(self, key: str, world: World) -> HorizontalPodAutoscaler | None:
        view: HorizontalPodAutoscaler | None = world.view(_AUTOSCALER, key)
        return view

    def _scale_question(self, autoscaler: HorizontalPodAutoscaler, world: World) -> Question | None:
        reference = autoscaler.spec.scaleTargetRef
        group = group_of(reference.apiVersion)
        kind = None if group is None else _kinds_in(world)(group, reference.kind)
        return None if kind is None else scale_question(kind, autoscaler.metadata.namespace, reference.name)

    # -- deciding -----------------------------------------------------------------------------------------------------

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return self.decide(key, world, {}, now)

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        found = world.get(_AUTOSCALER, key)
        if found is None:
            self._forget(key)
            return NOTHING
        due = self._due.setdefault(key, now + SYNC_SECONDS)
        if now < due:
            return Plan(again_after=due - now)
        self._due[key] = now + SYNC_SECONDS
        began = perf_counter()
        autoscaler, kind_of = found.view, _kinds_in(world)
        namespace = found.namespace

        def scale_of(kind: Kind, namespace: str, name: str) -> Scale:
            return read_scale(answers, scale_question(kind, namespace, name))

        def pods_of(selector: Selector) -> Sequence[Pod]:
            self._kept[key] = self._kept.get(key, _Kept())._replace(selector=selector)
            found = (world.view(KINDS.POD, pod) for pod in self._pods.selected(namespace, selector))
            return [pod for pod in found if pod is not None]

        surroundings = Surroundings(
            read_target(autoscaler, kind_of, scale_of),
            pods_of,
            lambda selector, pods: self._rivals(key, namespace, pods),
            AnsweredMetrics(answers, namespace, kind_of),
            self._kept.get(key, _Kept()).history,
            self.options,
            now,
        )
        decision = decide(autoscaler, found.raw.get("status") or {}, surroundings)
        self._decisions[key] = decision
        current = surroundings.scale.spec.replicas if isinstance(surroundings.scale, Scale) else 0
        self._note_rest(key, current, decision)
        self._metrics.observe(
            autoscaler.metadata, current, autoscaler.status.currentReplicas, decision, perf_counter() - began
        )
        actions: list[Action] = []
        if decision.replicas is not None and isinstance(surroundings.scale, Scale):
            actions.append(_scaled(autoscaler, kind_of, decision.replicas))
        return Plan((*actions, *self._outcome(found, decision.outcome)), again_after=SYNC_SECONDS)

    def _outcome(self, found: Object, outcome: ScalingOutcome) -> list[Action]:
        """Remember the history, and return what is to be reported and written."""
        self._kept[found.key] = self._kept.get(found.key, _Kept())._replace(history=outcome.history)
        actions: list[Action] = [_report(found, event) for event in outcome.events]
        if outcome.status is not None:
            actions.append(Update(_AUTOSCALER, {**found.raw, "status": outcome.status}, "status"))
        return [*actions, *(_report(found, event) for event in outcome.later_events)]

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        found, decision = world.get(_AUTOSCALER, key), self._decisions.get(key)
        if found is None or decision is None or not isinstance(action, Update):
            return ()
        if action.subresource == "scale" and decision.refused is not None:
            return self._outcome(found, decision.refused(error.message))
        if action.subresource == "status":
            later = decision.outcome.later_events
            return [
                warn(found, "FailedUpdateStatus", error.message),
                *(_report(found, event) for event in later),
            ]
        return ()

    def _rivals(self, key: str, namespace: str, pods: Sequence[Pod]) -> list[str]:
        """Return the other autoscalers whose target selects one of these pods."""
        distinct = {id(pod.metadata.labels): pod.metadata.labels for pod in pods}.values()
        return [
            other
            for other, kept in self._kept.items()
            if other != key
            and kept.selector is not None
            and other.partition("/")[0] == namespace
            and any(kept.selector.match(labels) for labels in distinct)
        ]

    def _forget(self, key: str) -> None:
        for remembered in (self._due, self._kept, self._decisions, self._quiet_looks):
            remembered.pop(key, None)
        namespace, _, name = key.partition("/")
        self._metrics.forget(namespace, name)

    @property
    def is_at_rest(self) -> bool:
        """Whether looking again would scale nothing if nothing else changed: for a while all got what they asked for.

        Pods that are new have no metrics yet, and hold back what is asked for.
        """
        return all(self._quiet_looks.get(key, 0) >= _LOOKS_UNTIL_REST for key in self._due)

    def disturb(self) -> None:
        """Let none be at rest until it has looked again."""
        self._quiet_looks.clear()

    def _note_rest(self, key: str, current: int, decision: ScalingDecision) -> None:
        """Count how often in a row the metrics asked for what there was already, or could not be had."""
        before, after = self._kept.get(key, _Kept()).history.recommendations, decision.outcome.history.recommendations
        wanted = {one.replicas for one in after if one not in before}
        is_quiet = wanted <= {current} and decision.replicas is None
        is_blind = bool(decision.metrics) and all(one.replicas is None for one in decision.metrics)
        looks = _LOOKS_UNTIL_REST if is_blind or not current else self._quiet_looks.get(key, 0) + 1
        self._quiet_looks[key] = looks if is_quiet else 0


def _scaled(autoscaler: HorizontalPodAutoscaler, kind_of: KindOf, replicas: int) -> Update:
    """Return the write of a Scale, without a resourceVersion: others may change the target meanwhile."""
    reference, namespace = autoscaler.spec.scaleTargetRef, autoscaler.metadata.namespace
    kind = kind_of(group_of(reference.apiVersion) or "", reference.kind)
    assert kind is not None, "its Scale was read"
    metadata = {"name": reference.name, "namespace": namespace}
    document = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": metadata,
        "spec": {"replicas": replicas},
    }
    return Update(kind, document, "scale")


def _report(found: Object, event: ScalingEvent) -> Report:
    return Report(found.reference, event.type, event.reason, event.message)


def _kinds_in(world: World) -> KindOf:
    """Return the function that finds a kind by its group and name, built in or of a definition."""

    def kind_of(group: str, name: str) -> Kind | None:
        if (built_in := _BUILT_IN.get((group, name))) is not None:
            return built_in
        for definition in world.all(_DEFINITION):
            spec = definition.view.spec
            if spec.group == group and spec.names.kind == name:
                return kind_of_definition(definition)
        return None

    return kind_of


_BUILT_IN = {(kind.group, kind.name): kind for kind in KINDS.values()}
