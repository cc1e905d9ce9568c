"""Replicas by CPU and bounds with behavior are those of a plain reading of Kubernetes' code, in any sequence."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices, examples
from tests.laws.naive_pod_autoscaler import NaiveBounds, NaivePod, Rules, utilization_replicas

from moorage.control.pod_autoscaler import pod_groups
from moorage.control.pod_autoscaler.decision import Options, Surroundings, decide
from moorage.control.pod_autoscaler.history import History
from moorage.control.pod_autoscaler.pod_groups import Readiness
from moorage.control.pod_autoscaler.replicas import ReplicaCalculator, ScaledWorkload, Tolerances
from moorage.control.pod_autoscaler.samples import MetricsError
from moorage.match.label_selector import EVERYTHING, Selector
from moorage.model.go.times import time_text
from moorage.model.quantity import Quantity
from moorage.model.schema.conversion import convert_view
from moorage.model.types.autoscaler import HorizontalPodAutoscaler, PodMetrics
from moorage.model.types.pod import Pod
from moorage.model.types.request import Scale

START = 1_800_000_000
NOW = 1_000


def _time(seconds: int) -> str:
    return time_text(START + seconds)


pods = st.lists(
    st.builds(
        NaivePod,
        name=st.just(""),
        request=st.sampled_from([0, 1, 100, 333, 1000]),
        usage=st.none() | st.sampled_from([0, 1, 50, 99, 100, 101, 250, 333, 2000]),
        phase=st.sampled_from(["Running"] * 6 + ["Pending", "Failed", "Succeeded", "Unknown"]),
        deleted=st.sampled_from([False] * 6 + [True]),
        ready=st.sampled_from(["True"] * 4 + ["False", "Unknown", None]),
        started=st.sampled_from([None, 0, 690, 700, 701, 985, 1000]),
        changed=st.sampled_from([0, 30, 700, 720, 985, 990]),
        measured=st.sampled_from([985, 1000]),
    ),
    min_size=1,
    max_size=7,
)


class Given:
    """The metrics API of some pods."""

    def __init__(self, naive: list[NaivePod]) -> None:
        self._naive = naive

    def of_resources(self, selector: Selector) -> list[PodMetrics]:
        return [
            convert_view(
                {
                    "metadata": {"name": pod.name},
                    "timestamp": _time(pod.measured),
                    "window": f"{pod.window}s",
                    "containers": [{"name": "c", "usage": {"cpu": f"{pod.usage}m"}}],
                },
                PodMetrics,
            )
            for pod in self._naive
            if pod.usage is not None
        ]

    def of_pods(self, *asked: Any) -> list[Any]:
        raise MetricsError("none")

    def of_object(self, *asked: Any) -> Quantity:
        raise MetricsError("none")

    def external(self, *asked: Any) -> list[Quantity]:
        raise MetricsError("none")


def _view(pod: NaivePod) -> Pod:
    conditions = [{"type": "Ready", "status": pod.ready, "lastTransitionTime": _time(pod.changed)}]
    metadata = {"name": pod.name, "namespace": "ns"} | ({"deletionTimestamp": _time(0)} if pod.deleted else {})
    status: dict[str, Any] = {"phase": pod.phase, "conditions": conditions if pod.ready is not None else []}
    if pod.started is not None:
        status["startTime"] = _time(pod.started)
    resources = {"requests": {"cpu": f"{pod.request}m"}}
    spec = {"containers": [{"name": "c", "resources": resources}]}
    return convert_view({"metadata": metadata, "spec": spec, "status": status}, Pod)


def calculated(
    naive: list[NaivePod], percent: int, current: int, down: float, up: float, period: int, delay: int
) -> int | None:
    target = ScaledWorkload("ns", EVERYTHING, [_view(pod) for pod in naive], current, current)
    readiness = Readiness(period, delay)
    calculator = ReplicaCalculator(target, Given(naive), Tolerances(down, up), readiness, START + NOW)
    try:
        return calculator.for_utilization("cpu", percent).replicas
    except MetricsError:
        return None


def law_of_utilization(run: settings = LAW_SETTINGS) -> Callable[[], None]:
    @settings(run, max_examples=examples(600))
    @given(
        pods,
        st.sampled_from([1, 30, 50, 80, 100, 150]),
        st.integers(1, 12),
        st.sampled_from([0.0, 0.05, 0.1]),
        st.sampled_from([0.0, 0.1, 0.25]),
        st.sampled_from([0, 300]),
        st.sampled_from([0, 30]),
    )
    def law(naive: list[NaivePod], percent: int, current: int, down: float, up: float, period: int, delay: int) -> None:
        for number, pod in enumerate(naive):
            pod.name = f"p{number}"
        want = utilization_replicas(naive, percent, current, down, up, NOW, period, delay)
        assert calculated(naive, percent, current, down, up, period, delay) == want

    return law


def test_replicas_by_cpu_are_those_of_a_plain_reading() -> None:
    law_of_utilization()()


def test_a_calculator_that_counts_pods_that_are_not_ready_is_noticed(monkeypatch: Any) -> None:
    monkeypatch.setattr(pod_groups, "_is_unready", lambda *given: False)
    assert_notices(law_of_utilization(UNTIL_NOTICED))


# -- sequences of looks -----------------------------------------------------------------------------------------------

policies = st.lists(
    st.tuples(st.sampled_from(["Pods", "Percent"]), st.integers(1, 100), st.sampled_from([15, 30, 60, 200])),
    min_size=1,
    max_size=3,
)


def rules(windows: list[int]) -> st.SearchStrategy[Rules]:
    return st.builds(Rules, st.sampled_from(windows), policies, st.sampled_from(["Max", "Max", "Min", "Disabled"]))


def _behavior(of: Rules) -> dict[str, Any]:
    listed = [{"type": kind, "value": value, "periodSeconds": seconds} for kind, value, seconds in of.policies]
    return {"stabilizationWindowSeconds": of.window, "selectPolicy": of.select, "policies": listed}


class Autoscaler:
    """An autoscaler by an external metric, which asks for any number of replicas."""

    def __init__(self, bounds: NaiveBounds) -> None:
        metric = {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}}
        spec = {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": bounds.least,
            "maxReplicas": bounds.most,
            "metrics": [{"type": "External", "external": metric}],
            "behavior": {"scaleUp": _behavior(bounds.up), "scaleDown": _behavior(bounds.down)},
        }
        metadata = {"name": "web", "namespace": "ns"}
        self._view = convert_view({"metadata": metadata, "spec": spec}, HorizontalPodAutoscaler)
        self._history = History()

    def next(self, current: int, desired: int, now: int) -> int:
        reader = Given([])
        reader.external = lambda *asked: [Quantity.from_int(desired)]  # type: ignore[method-assign]
        status = {"replicas": current, "selector": "app=web"}
        scale = convert_view({"spec": {"replicas": current}, "status": status}, Scale)
        surroundings = Surroundings(
            scale,
            lambda selector: (),
            lambda selector, selected: (),
            reader,
            self._history,
            Options(tolerance=0.0),
            float(START + now),
        )
        decision = decide(self._view, {}, surroundings)
        self._history = decision.outcome.history
        return current if decision.replicas is None else decision.replicas


def law_of_sequences(run: settings = LAW_SETTINGS) -> Callable[[], None]:
    @settings(run, max_examples=examples(300))
    @given(
        st.integers(1, 5),
        st.integers(5, 60),
        rules([0, 15, 30, 45]),
        rules([0, 30, 60, 300]),
        st.integers(1, 70),
        st.lists(st.tuples(st.sampled_from([1, 14, 15, 16, 30]), st.integers(1, 80)), min_size=1, max_size=25),
    )
    def law(least: int, most: int, up: Rules, down: Rules, current: int, looks: list[tuple[int, int]]) -> None:
        bounds, now = NaiveBounds(least, most, up, down), 0
        autoscaler, ours, theirs = Autoscaler(bounds), current, current
        for pause, desired in looks:
            now += pause
            ours, theirs = autoscaler.next(ours, desired, now), bounds.next(theirs, desired, now)
            assert ours == theirs, (now, desired)

    return law


def test_sequences_of_looks_are_those_of_a_plain_reading() -> None:
    law_of_sequences()()


def test_a_history_that_forgets_what_was_scaled_is_noticed(monkeypatch: Any) -> None:
    monkeypatch.setattr(History, "rescaled", lambda self, *given: self)
    assert_notices(law_of_sequences(UNTIL_NOTICED))
