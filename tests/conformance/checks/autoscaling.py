"""hpa_replicas.json, hpa_decide.json: how many replicas an autoscaler wants, and all that it does about it."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from moorage.admit.prepare.kind_defaults import default_autoscaler
from moorage.control.pod_autoscaler.decision import (
    CannotScale,
    Options,
    ScalingDecision,
    ScalingEvent,
    ScalingOutcome,
    Surroundings,
    decide,
)
from moorage.control.pod_autoscaler.history import History, Recommendation, ScaleEvent
from moorage.control.pod_autoscaler.pod_groups import Readiness
from moorage.control.pod_autoscaler.replicas import Proposal, ReplicaCalculator, ScaledWorkload, Tolerances
from moorage.control.pod_autoscaler.samples import MetricsError, PodValue
from moorage.control.pod_autoscaler.targets import read_target
from moorage.match.label_selector import EVERYTHING, Selector, compile_label_selector, parse_selector
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.quantity import Quantity, parse_quantity
from moorage.model.schema.conversion import convert_view
from moorage.model.types.autoscaler import (
    CrossVersionObjectReference,
    HorizontalPodAutoscaler,
    PodMetrics,
)
from moorage.model.types.meta import LabelSelector
from moorage.model.types.pod import Pod
from moorage.model.types.request import Scale

Raw = dict[str, Any]
#: The attempts of a write that is answered with a conflict: here those of the controller, in Moorage the API server's.
ATTEMPTS = 5
_NOT_THERE = "the server could not find the requested resource (get {}.metrics.k8s.io)"


class RecordedMetrics:
    """The metrics APIs of a case."""

    def __init__(self, metrics: Raw) -> None:
        self._metrics = metrics

    def of_resources(self, selector: Selector) -> Sequence[PodMetrics]:
        found = self._metrics.get("resource") or {"error": _NOT_THERE.format("pods")}
        return [convert_view(one, PodMetrics) for one in _answer(found)["items"]]

    def of_pods(self, metric: str, selector: Selector, metric_selector: Selector) -> Sequence[PodValue]:
        missing = {"error": f"the server could not find the metric {metric} for pods"}
        found = (self._metrics.get("pods") or {}).get(metric) or missing
        return [
            PodValue(one["pod"], parse_quantity(one["value"]), seconds_of(one.get("timestamp")) or 0.0)
            for one in _answer(found)["items"]
        ]

    def of_object(self, metric: str, reference: CrossVersionObjectReference, metric_selector: Selector) -> Quantity:
        is_namespace = reference.kind == "Namespace" and "/" not in reference.apiVersion
        name = "ns" if is_namespace else reference.name
        missing = {"error": f"the server could not find the metric {metric} for {reference.kind.lower()}s {name}"}
        found = (self._metrics.get("object") or {}).get(f"{reference.kind}/{name}/{metric}") or missing
        return parse_quantity(_answer(found)["value"])

    def external(self, metric: str, metric_selector: Selector) -> Sequence[Quantity]:
        missing = {"error": _NOT_THERE.format(f"{metric}.external")}
        found = (self._metrics.get("external") or {}).get(metric) or missing
        return [parse_quantity(value) for value in _answer(found)["values"]]


def _answer(found: Raw) -> Raw:
    if "error" in found:
        raise MetricsError(found["error"])
    return found


def _pods(given: Raw, namespace: str) -> list[Pod]:
    return [
        convert_view({**pod, "metadata": {"namespace": namespace, **pod["metadata"]}}, Pod)
        for pod in given.get("pods") or ()
    ]


def _selecting(pods: Sequence[Pod], namespace: str) -> Callable[[Selector], Sequence[Pod]]:
    return lambda selector: [
        pod for pod in pods if pod.metadata.namespace == namespace and selector.match(pod.metadata.labels)
    ]


def check_hpa_replicas(case: Raw) -> str | None:
    given, want = case["in"], case["out"]
    namespace = given["namespace"]
    selector = parse_selector(given.get("selector", ""))
    target = ScaledWorkload(
        namespace,
        selector,
        _selecting(_pods(given, namespace), namespace)(selector),
        given.get("currentReplicas", 0),
        given.get("statusReplicas", 0),
    )
    tolerances = Tolerances(given["tolerances"]["scaleDown"], given["tolerances"]["scaleUp"])
    now = seconds_of(given["now"])
    assert now is not None
    calculator = ReplicaCalculator(target, RecordedMetrics(given["metrics"]), tolerances, _readiness(given), now)
    got: Raw
    try:
        proposal = _propose(given, calculator)
        got = {"replicas": proposal.replicas, "usage": proposal.usage}
        if given["op"] == "resource":
            got["utilization"] = proposal.utilization
    except MetricsError as error:
        got = {"error": str(error)}
    return None if got == want else f"{case['name']}: got {got}, want {want}"


def _readiness(given: Raw) -> Readiness:
    return Readiness(
        given.get("cpuInitializationPeriodSeconds", 0), given.get("delayOfInitialReadinessStatusSeconds", 0)
    )


def _propose(given: Raw, calculator: ReplicaCalculator) -> Proposal:
    op, metric = given["op"], given.get("metricName", "")
    labels = convert_view(given["metricSelector"], LabelSelector) if given.get("metricSelector") else None
    if op == "resource":
        return calculator.for_utilization(given["resource"], given["targetUtilization"], given.get("container", ""))
    usage = given["targetUsage"]
    if op == "rawResource":
        return calculator.for_raw_resource(given["resource"], usage, given.get("container", ""))
    if op.startswith("external"):
        method = calculator.for_external if op == "external" else calculator.for_external_per_pod
        return method(metric, usage, labels)
    selector = compile_label_selector(labels) if labels is not None else EVERYTHING
    if op == "pods":
        return calculator.for_pods_metric(metric, usage, selector)
    reference = convert_view(given["objectRef"], CrossVersionObjectReference)
    of_object = calculator.for_object if op == "object" else calculator.for_object_per_pod
    return of_object(metric, usage, reference, selector)


# -- decisions --------------------------------------------------------------------------------------------------------

_KNOWN = (
    KINDS.REPLICATION_CONTROLLER,
    KINDS.SERVICE,
    KINDS.POD,
    KINDS.DEPLOYMENT,
    KINDS.REPLICA_SET,
    KINDS.STATEFUL_SET,
    KINDS.DAEMON_SET,
)


class _Story:
    """One autoscaler through its reconciliations."""

    def __init__(self, given: Raw) -> None:
        self.given = given
        now = seconds_of(given["now"])
        assert now is not None
        self.now = now
        self.hpa: Raw = msgspec.json.decode(msgspec.json.encode(given["hpa"]))
        if given.get("applyDefaults"):
            default_autoscaler(self.hpa)
        self.scale: Raw | None = given.get("scale")
        self.metrics: Raw = given.get("metrics") or {}
        self.history = History(
            tuple(
                Recommendation(one["replicas"], now - one["ageSeconds"]) for one in given.get("recommendations") or ()
            ),
            _events(given.get("scaleUpEvents"), now),
            _events(given.get("scaleDownEvents"), now),
        )
        self.others = {
            f"{one['namespace']}/{one['name']}": parse_selector(one["selector"]) for one in given.get("otherHPAs") or ()
        }

    def reconcile(self) -> Raw:
        given = self.given
        view: HorizontalPodAutoscaler = convert_view(self.hpa, HorizontalPodAutoscaler)
        namespace = view.metadata.namespace
        gates = given.get("gates") or {}
        options = Options(
            given["tolerance"],
            given["downscaleStabilizationSeconds"],
            _readiness(given),
            has_own_tolerances=gates.get("HPAConfigurableTolerance", True),
            scales_to_zero=gates.get("HPAScaleToZero", False),
        )
        pods = _pods(given, namespace)
        surroundings = Surroundings(
            read_target(view, self._kind_of, self._scale_of),
            _selecting(pods, namespace),
            self._rivals,
            RecordedMetrics(self.metrics),
            self.history,
            options,
            self.now,
        )
        return self._carried_out(decide(view, self.hpa.get("status") or {}, surroundings))

    def _kind_of(self, group: str, name: str) -> Kind | None:
        return next((kind for kind in _KNOWN if (kind.group, kind.name) == (group, name)), None)

    def _scale_of(self, kind: Kind, namespace: str, name: str) -> Scale | None:
        if "scaleGetError" in self.given:
            raise CannotScale(self.given["scaleGetError"], "")
        return None if self.scale is None else convert_view(self.scale, Scale)

    def _rivals(self, selector: Selector, pods: Sequence[Pod]) -> Sequence[str]:
        return [
            name
            for name, other in self.others.items()
            if any(
                pod.metadata.namespace == name.partition("/")[0] and other.match(pod.metadata.labels) for pod in pods
            )
        ]

    def _carried_out(self, decision: ScalingDecision) -> Raw:
        outcome, got = decision.outcome, dict[str, Any]()
        if decision.replicas is not None and decision.refused is not None:
            if why := self._refusal():
                outcome = decision.refused(why)
            else:
                got["scaleTo"] = decision.replicas
                assert self.scale is not None
                self.scale = {**self.scale, "spec": {"replicas": decision.replicas}}
        return {**got, **self._written(outcome)}

    def _refusal(self) -> str:
        if self.given.get("scaleUpdateConflicts", 0) >= ATTEMPTS:
            name = self.given["hpa"]["spec"]["scaleTargetRef"]["name"]
            return (
                f'Operation cannot be fulfilled on deployments.apps "{name}": the object has been modified; '
                "please apply your changes to the latest version and try again"
            )
        return str(self.given.get("scaleUpdateError", ""))

    def _written(self, outcome: ScalingOutcome) -> Raw:
        events, error = list(outcome.events), outcome.error
        refusal = self.given.get("statusUpdateError", "") if outcome.status is not None else ""
        if refusal:
            events.append(ScalingEvent("Warning", "FailedUpdateStatus", refusal))
            error = (
                f"failed to update status for {self.hpa['metadata']['name']}: {refusal}" if outcome.is_final else error
            )
        elif outcome.status is not None:
            self.hpa = {**self.hpa, "status": outcome.status}
        events += outcome.later_events
        self.history = outcome.history
        got: Raw = {"statusUpdated": outcome.status is not None and not refusal}
        if got["statusUpdated"]:
            got["status"] = outcome.status
        if events:
            got["events"] = [one._asdict() for one in events]
        if error:
            got["error"] = error
        return got

    def kept(self) -> Raw:
        """Return the history with ages."""
        recommendations = [
            {"replicas": one.replicas, "ageSeconds": int(self.now - one.time)} for one in self.history.recommendations
        ]
        changes = {
            name: [{"replicaChange": one.change, "ageSeconds": int(self.now - one.time)} for one in events]
            for name, events in (("scaleUpEvents", self.history.ups), ("scaleDownEvents", self.history.downs))
        }
        return {"recommendations": recommendations, **changes}


def _events(given: Sequence[Raw] | None, now: float) -> tuple[ScaleEvent, ...]:
    return tuple(ScaleEvent(one["replicaChange"], now - one["ageSeconds"]) for one in given or ())


def check_hpa_decide(case: Raw) -> str | None:
    given, want = case["in"], case["out"]
    story = _Story(given)
    got: Raw
    if "steps" in given:
        got = {"steps": [_step(story, step, number) for number, step in enumerate(given["steps"])]}
    else:
        spec = story.hpa["spec"]
        got = {**story.reconcile(), **story.kept()}
        if given.get("applyDefaults"):
            got["spec"] = spec
    differences = [
        f"{name}: got {got.get(name)}, want {want.get(name)}"
        for name in sorted({*got, *want})
        if got.get(name) != want.get(name)
    ]
    return "\n".join(differences) or None


def _step(story: _Story, step: Raw, number: int) -> Raw:
    story.now += step["advanceSeconds"]
    if number and story.scale is not None:
        status = {**story.scale["status"], "replicas": story.scale["spec"].get("replicas", 0)}
        story.scale = {**story.scale, "status": status}
    story.scale = step.get("scale", story.scale)
    story.metrics = step.get("metrics", story.metrics)
    return story.reconcile()
