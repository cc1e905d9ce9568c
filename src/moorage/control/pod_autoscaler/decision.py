"""Decide what to do about one autoscaler: the replicas to write, its new status, events, and its new history.

Out: a `ScalingDecision`, with what follows if the replicas can be written, and if they cannot.
Kubernetes: reconcileAutoscaler of pkg/controller/podautoscaler/horizontal.go.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from moorage.client.event_recorders import NORMAL, WARNING
from moorage.client.protocol import Raw
from moorage.control.pod_autoscaler.conditions import ABLE, ACTIVE, FALSE, LIMITED, TRUE, ZERO, Conditions
from moorage.control.pod_autoscaler.history import History, highest_without_behavior
from moorage.control.pod_autoscaler.metrics import MetricFailure, compute_metric
from moorage.control.pod_autoscaler.pod_groups import Readiness
from moorage.control.pod_autoscaler.replicas import ReplicaCalculator, ScaledWorkload, Tolerances
from moorage.control.pod_autoscaler.samples import MetricsReader
from moorage.match.label_selector import Selector, parse_selector
from moorage.match.requirement import SelectorError
from moorage.model.go.times import time_text
from moorage.model.schema.conversion import convert_view
from moorage.model.types.autoscaler import (
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerStatus,
    HPAScalingRules,
    MetricSpec,
)
from moorage.model.types.pod import Pod
from moorage.model.types.request import Scale


class Options(NamedTuple):
    """The controller's flags, in seconds and fractions, and its gates."""

    tolerance: float = 0.1
    downscale_window: float = 300.0
    readiness: Readiness = Readiness()
    has_own_tolerances: bool = True
    scales_to_zero: bool = False


class CannotScale(Exception):
    """The target has no scale to be read. `str()` is why; `error` what the whole reconciliation ends with."""

    def __init__(self, why: str, error: str) -> None:
        super().__init__(why)
        self.error = error


class ScalingEvent(NamedTuple):
    """An event about the autoscaler."""

    type: str
    reason: str
    message: str


class ScalingOutcome(NamedTuple):
    """What comes of it: events, the status to write (None: it stays), events after that, the history, the error.

    `is_final`: an error of the write of the status takes the place of the other.
    """

    events: tuple[ScalingEvent, ...]
    status: Raw | None
    later_events: tuple[ScalingEvent, ...] = ()
    history: History = History()
    error: str = ""
    is_final: bool = False


class MetricResult(NamedTuple):
    """How many replicas a metric of this type asks for; None if that is not known."""

    type: str
    replicas: int | None
    is_spec_wrong: bool = False


class ScalingDecision(NamedTuple):
    """What follows. With `replicas`, they are written first, and `refused` says what follows if that fails."""

    outcome: ScalingOutcome
    replicas: int | None = None
    refused: Callable[[str], ScalingOutcome] | None = None
    metrics: tuple[MetricResult, ...] = ()


class Surroundings(NamedTuple):
    """What a decision depends on besides the autoscaler itself.

    `pods_of` returns the pods of the namespace that a selector selects; `rivals` the names (`namespace/name`) of other
    autoscalers whose targets select one of these pods.
    """

    scale: Scale | CannotScale
    pods_of: Callable[[Selector], Sequence[Pod]]
    rivals: Callable[[Selector, Sequence[Pod]], Sequence[str]]
    reader: MetricsReader
    history: History
    options: Options
    now: float


def decide(autoscaler: HorizontalPodAutoscaler, status: Raw, surroundings: Surroundings) -> ScalingDecision:
    """Decide about an autoscaler, whose status is given as a document, too."""
    reconciliation = _Reconciliation(autoscaler, status, surroundings)
    decision = reconciliation.decide()
    return decision._replace(metrics=tuple(reconciliation.results))


#: What a behaviour says that says nothing of one direction; the API server fills it in.
_NO_RULES = HPAScalingRules()


class _Failure(Exception):
    """The metrics do not allow to scale. `str()` is the error."""


class _Reconciliation:
    """The steps of one decision, and what they have come to so far."""

    def __init__(self, autoscaler: HorizontalPodAutoscaler, status: Raw, surroundings: Surroundings) -> None:
        self.autoscaler, self.spec, self.given = autoscaler, autoscaler.spec, surroundings
        self.before = status
        self.events: list[ScalingEvent] = []
        self.conditions = Conditions(list(status.get("conditions") or ()), surroundings.now)
        self.history = surroundings.history
        self.metrics: list[Raw] | None = None
        reference = self.spec.scaleTargetRef
        self.reference = f"{reference.kind}/{autoscaler.metadata.namespace}/{reference.name}"
        self.least = 1 if self.spec.minReplicas is None else self.spec.minReplicas
        self.error = ""
        self.results: list[MetricResult] = []

    # -- the whole ----------------------------------------------------------------------------------------------------

    def decide(self) -> ScalingDecision:
        scale = self.given.scale
        if isinstance(scale, CannotScale):
            why = str(scale)
            self._warn("FailedGetScale", why)
            text = f"the HPA controller was unable to get the target's current scale: {why}"
            self.conditions.set(ABLE, FALSE, "FailedGetScale", text)
            unchanged = {**self.before, "conditions": self.conditions.list}
            return ScalingDecision(self._outcome(unchanged, error=scale.error))
        text = "the HPA controller was able to get the target's current scale"
        self.conditions.set(ABLE, TRUE, "SucceededGetScale", text)
        current = scale.spec.replicas
        self.history = self.history.begun(current, self.given.now)
        if current == 0 and not self._may_leave_zero():
            text = "scaling is disabled since the replica count of the target is zero"
            self.conditions.set(ACTIVE, FALSE, "ScalingDisabled", text)
            if not self.given.options.scales_to_zero:
                self.conditions.remove(ZERO)
            return self._keep(current)
        if current > self.spec.maxReplicas and current != 0:
            return self._rescale(current, self.spec.maxReplicas, "Current number of replicas above Spec.MaxReplicas")
        if current < self.least and current != 0:
            return self._rescale(current, self.least, "Current number of replicas below Spec.MinReplicas")
        return self._decide_by_metrics(scale)

    def _may_leave_zero(self) -> bool:
        was_scaled = self.given.options.scales_to_zero and self.conditions.is_true(ZERO)
        return was_scaled and (self.least != 0 or self._has_outer_metrics())

    def _has_outer_metrics(self) -> bool:
        return any(metric.type in ("Object", "External") for metric in self.spec.metrics)

    def _decide_by_metrics(self, scale: Scale) -> ScalingDecision:
        current = scale.spec.replicas
        # Setting conditions for a rescale comes later: what was scaled to zero is asked before.
        was_scaled = self.given.options.scales_to_zero and self.conditions.is_true(ZERO)
        try:
            proposed, metric = self._compute(scale)
        except _Failure as failure:
            status = self._status(current, self.before.get("desiredReplicas") or 0)
            later = (ScalingEvent(WARNING, "FailedComputeMetricsReplicas", str(failure)),)
            error = (
                f"failed to compute desired number of replicas based on listed metrics for {self.reference}: {failure}"
            )
            return ScalingDecision(self._outcome(status, error=error)._replace(later_events=later))
        desired, metric = (proposed, metric) if proposed > 0 else (0, "")
        reason = f"{metric} above target" if desired > current else ""
        if desired < current:
            reason = "All metrics below target"
        desired = self._normalized(current, desired)
        if current == 0 and self.least != 0 and was_scaled and desired < self.least:
            desired = self.least
            reason = reason or "Current number of replicas below Spec.MinReplicas"
        return self._keep(current) if desired == current else self._rescale(current, desired, reason)

    def _keep(self, current: int) -> ScalingDecision:
        outcome = self._outcome(self._status(current, current), error=self.error)
        return ScalingDecision(outcome._replace(is_final=True))

    def _rescale(self, current: int, desired: int, reason: str) -> ScalingDecision:
        before_write = self.conditions.list
        events, history = tuple(self.events), self.history

        def refused(why: str) -> ScalingOutcome:
            self.conditions.list, self.events, self.history = before_write, list(events), history
            self._warn("FailedRescale", f"New size: {desired}; reason: {reason}; error: {why}")
            text = f"the HPA controller was unable to update the target scale: {why}"
            self.conditions.set(ABLE, FALSE, "FailedUpdateScale", text)
            status = self._status(current, self.before.get("desiredReplicas") or 0)
            return self._outcome(status, error=f"failed to rescale {self.reference}: {why}")

        text = f"the HPA controller was able to update the target scale to {desired}"
        self.conditions.set(ABLE, TRUE, "SucceededRescale", text)
        self.events.append(ScalingEvent(NORMAL, "SuccessfulRescale", f"New size: {desired}; reason: {reason}"))
        if self.spec.behavior is not None:
            up, down = self.spec.behavior.scaleUp or _NO_RULES, self.spec.behavior.scaleDown or _NO_RULES
            self.history = self.history.rescaled(current, desired, up, down, self.given.now)
        self._note_zero(current, desired)
        status = {**self._status(current, desired), "lastScaleTime": time_text(self.given.now)}
        outcome = self._outcome(status, error=self.error)._replace(is_final=True)
        return ScalingDecision(outcome, desired, refused)

    def _note_zero(self, current: int, desired: int) -> None:
        if not self.given.options.scales_to_zero:
            self.conditions.remove(ZERO)
        elif current > 0 and desired == 0 and self.least == 0 and self._has_outer_metrics():
            self.conditions.set(ZERO, TRUE, "ScaledToZero", "the HPA controller scaled the workload to zero")
        else:
            text = "the HPA controller did not scale the workload to zero"
            self.conditions.set(ZERO, FALSE, "NotScaledToZero", text)

    # -- metrics ------------------------------------------------------------------------------------------------------

    def _compute(self, scale: Scale) -> tuple[int, str]:
        """Return the highest number of replicas that a metric asks for, and its name. Raises _Failure."""
        selector, pods = self._selected(scale.status.selector)
        namespace = self.autoscaler.metadata.namespace
        target = ScaledWorkload(namespace, selector, pods, scale.spec.replicas, scale.status.replicas)
        given = self.given
        calculator = ReplicaCalculator(target, given.reader, self._tolerances(), given.options.readiness, given.now)
        specs = self.spec.metrics
        replicas, name, failed = self._highest(specs, calculator)
        error = ""
        if failed:
            error = f"invalid metrics ({len(failed)} invalid out of {len(specs)}), first error is: {failed[0]}"
        if len(failed) >= len(specs) or (failed and replicas < scale.spec.replicas):
            if not failed:  # there is no metric at all
                self.conditions.set("", "", "", "")
                return -1, ""
            text = f"the HPA was unable to compute the replica count: {failed[0].event}"
            self.conditions.set(ACTIVE, FALSE, failed[0].reason, text)
            raise _Failure(error)
        text = f"the HPA was able to successfully calculate a replica count from {name}"
        self.conditions.set(ACTIVE, TRUE, "ValidMetricFound", text)
        self.error = error
        return replicas, name

    def _highest(
        self, specs: Sequence[MetricSpec], calculator: ReplicaCalculator
    ) -> tuple[int, str, list[MetricFailure]]:
        replicas, name = 0, ""
        failed: list[MetricFailure] = []
        self.metrics = []
        for spec in specs:
            try:
                computed = compute_metric(spec, calculator)
            except MetricFailure as failure:
                self._warn(failure.reason, failure.event)
                failed.append(failure)
                self.metrics.append({"type": ""})
                self.results.append(MetricResult(spec.type, None, failure.reason == "InvalidMetricSourceType"))
                continue
            self.metrics.append(computed.status)
            self.results.append(MetricResult(spec.type, computed.replicas))
            if replicas == 0 or computed.replicas > replicas:
                replicas, name = computed.replicas, computed.name
        return replicas, name, failed

    def _selected(self, text: str) -> tuple[Selector, Sequence[Pod]]:
        """Return the selector of the target and its pods. Raises _Failure if it is of no use."""
        if not text:
            self._warn("SelectorRequired", "selector is required")
            self.conditions.set(ACTIVE, FALSE, "InvalidSelector", "the HPA target's scale is missing a selector")
            raise _Failure("selector is required")
        try:
            selector = parse_selector(text)
        except SelectorError as error:
            raise self._wrong_selector(
                "InvalidSelector", f"couldn't convert selector into a corresponding internal selector object: {error}"
            ) from None
        pods = self.given.pods_of(selector)
        if rivals := self.given.rivals(selector, pods):
            metadata = self.autoscaler.metadata
            everyone = " ".join(sorted((f"{metadata.namespace}/{metadata.name}", *rivals)))
            raise self._wrong_selector(
                "AmbiguousSelector", f"pods by selector {text} are controlled by multiple HPAs: [{everyone}]"
            )
        return selector, pods

    def _wrong_selector(self, reason: str, text: str) -> _Failure:
        self._warn(reason, text)
        self.conditions.set(ACTIVE, FALSE, reason, text)
        return _Failure(text)

    def _tolerances(self) -> Tolerances:
        options, behavior = self.given.options, self.spec.behavior
        common = Tolerances(options.tolerance, options.tolerance)
        if behavior is None or not options.has_own_tolerances:
            return common
        if behavior.scaleDown is not None and behavior.scaleDown.tolerance is not None:
            common = common._replace(down=behavior.scaleDown.tolerance.as_approximate_float())
        if behavior.scaleUp is not None and behavior.scaleUp.tolerance is not None:
            common = common._replace(up=behavior.scaleUp.tolerance.as_approximate_float())
        return common

    # -- bounds -------------------------------------------------------------------------------------------------------

    def _normalized(self, current: int, desired: int) -> int:
        """Return the replicas within all bounds, and say what bound them."""
        behavior, now = self.spec.behavior, self.given.now
        window = self.given.options.downscale_window
        if behavior is None:
            stabilized, self.history = self.history.stabilized(desired, window, now)
            is_down = True
        else:
            up, down = behavior.scaleUp or _NO_RULES, behavior.scaleDown or _NO_RULES
            down_window = window if down.stabilizationWindowSeconds is None else down.stabilizationWindowSeconds
            stabilized, self.history = self.history.stabilized_by(
                current, desired, float(up.stabilizationWindowSeconds or 0), float(down_window), now
            )
            is_down = desired < current
        if stabilized == desired:
            self.conditions.set(ABLE, TRUE, "ReadyForNewScale", "recommended size matches current size")
        else:
            reason = "ScaleDownStabilized" if is_down else "ScaleUpStabilized"
            self.conditions.set(ABLE, TRUE, reason, _HIGHER if is_down else _LOWER)
        limited = self._limited(current, stabilized)
        status = FALSE if limited.replicas == stabilized else TRUE
        self.conditions.set(LIMITED, status, limited.reason, limited.message)
        return limited.replicas

    def _limited(self, current: int, desired: int) -> "_Limited":
        behavior, now = self.spec.behavior, self.given.now
        if behavior is None:
            if desired < self.least:
                return _Limited(self.least, "TooFewReplicas", _TOO_FEW)
            return self._limited_upwards(desired, highest_without_behavior(current))
        if desired > current:
            up = behavior.scaleUp or _NO_RULES
            return self._limited_upwards(desired, max(current, self.history.highest(current, up, now)))
        if desired < current:
            down = behavior.scaleDown or _NO_RULES
            lowest = min(current, self.history.lowest(current, down, now))
            if lowest > self.least and desired < lowest:
                return _Limited(lowest, "ScaleDownLimit", f"{_RATE.format('decreasing')}")
            if lowest <= self.least and desired < self.least:
                return _Limited(self.least, "TooFewReplicas", _TOO_FEW)
        return _Limited(desired, "DesiredWithinRange", _WITHIN)

    def _limited_upwards(self, desired: int, highest: int) -> "_Limited":
        most = self.spec.maxReplicas
        if most > highest:
            limited = _Limited(highest, "ScaleUpLimit", _RATE.format("increasing"))
        else:
            limited = _Limited(
                most, "TooManyReplicas", "the desired replica count is more than the maximum replica count"
            )
        return limited if desired > limited.replicas else _Limited(desired, "DesiredWithinRange", _WITHIN)

    # -- what comes of it ---------------------------------------------------------------------------------------------

    def _warn(self, reason: str, message: str) -> None:
        self.events.append(ScalingEvent(WARNING, reason, message))

    def _status(self, current: int, desired: int) -> Raw:
        """Return a new status; what is not in it, such as the generation, is dropped."""
        status: Raw = {}
        if self.before.get("lastScaleTime"):
            status["lastScaleTime"] = self.before["lastScaleTime"]
        if current:
            status["currentReplicas"] = current
        return {
            **status,
            "desiredReplicas": desired,
            "currentMetrics": self.metrics,
            **({"conditions": self.conditions.list} if self.conditions.list else {}),
        }

    def _outcome(self, status: Raw, error: str) -> ScalingOutcome:
        new = convert_view(status, HorizontalPodAutoscalerStatus)
        changed = None if new == self.autoscaler.status else _written(status)
        return ScalingOutcome(tuple(self.events), changed, (), self.history, error)


class _Limited(NamedTuple):
    replicas: int
    reason: str
    message: str


_HIGHER = "recent recommendations were higher than current one, applying the highest recent recommendation"
_LOWER = "recent recommendations were lower than current one, applying the lowest recent recommendation"
_RATE = "the desired replica count is {} faster than the maximum scale rate"
_TOO_FEW = "the desired replica count is less than the minimum replica count"
_WITHIN = "the desired count is within the acceptable range"


def _written(status: Raw) -> Raw:
    """Return a status with the fields that are always written."""
    return {"desiredReplicas": 0, "currentMetrics": None, **status}
