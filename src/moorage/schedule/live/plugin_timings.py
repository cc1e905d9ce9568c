"""Measure how long single plugins take: for a shape and all nodes, and for single nodes in a sample of attempts.

Preparing and searching all nodes happens once for a shape, and is always measured; of one attempt in ten, each plugin
is measured for the chosen node. Kubernetes: metricsRecorder and pluginMetricsSamplePercent of the framework.
Differs: scheduler_framework_extension_point_duration_seconds has the same figures under a `plugin` label, which the
queries in KEP-5471 and KEP-5721 select by.
"""

from time import perf_counter
from typing import Any

from moorage.match.evaluation.accounts import Undecided
from moorage.schedule.config.third_party import PluginError
from moorage.schedule.engine.candidates import Candidates
from moorage.schedule.framework.plugin import Plugin, PluginTimer, Prepared
from moorage.schedule.framework.verdict import Code
from moorage.telemetry.metrics import Distribution, Histogram, Metrics, exponential_buckets

SAMPLED = 10  # one attempt of so many is measured plugin by plugin
SUCCESS = "Success"
_SKIP = "Skip"


class PluginTimings:
    """Observes plugins and extension points. `points` has the latter as a whole, without a plugin."""

    def __init__(self, metrics: Metrics) -> None:
        name = "scheduler_framework_extension_point_duration_seconds"
        said = "Seconds per extension point, and per plugin in it; Filter is the whole search for a node."
        labels = ("extension_point", "status", "profile", "plugin")
        self.points: Histogram = metrics.histogram(name, said, labels, exponential_buckets(0.0001, 2, 12))
        self.points.optional = "plugin"
        name = "scheduler_plugin_execution_duration_seconds"
        said = f"Seconds that a plugin takes: for a new shape of pod, and for one node, of one attempt in {SAMPLED}."
        buckets = exponential_buckets(0.00001, 1.5, 20)
        self._plugins = metrics.histogram(name, said, ("plugin", "extension_point", "status"), buckets)
        self._known: dict[tuple[str, str, str, str], tuple[Distribution, Distribution]] = {}
        self._until_sample = 0

    def point(self, point: str, status: str, profile: str) -> Distribution:
        return self.points.labels(point, status, profile, "")

    def observe(self, profile: str, plugin: str, point: str, status: str, seconds: float) -> None:
        key = (profile, plugin, point, status)
        known = self._known.get(key)
        if known is None:
            durations = self._plugins.labels(plugin, point, status)
            known = self._known[key] = (durations, self.points.labels(point, status, profile, plugin))
        known[0].observe(seconds)
        known[1].observe(seconds)

    def attempted(self, candidates: Candidates, profile: str, slot: int, *, found: bool) -> None:
        """Measure every plugin for one node, if it is time for that."""
        self._until_sample -= 1
        if self._until_sample < 0:
            self._until_sample = SAMPLED - 1
            try:
                self._sample(candidates, profile, slot, found)
            except (PluginError, Undecided):
                return  # the attempt itself went well, or has told

    def _sample(self, candidates: Candidates, profile: str, slot: int, found: bool) -> None:
        cluster = candidates.cluster
        for item in candidates.filters:
            plugin, prepared = item.plugin, item.prepared
            if prepared.rejection is None:
                began = perf_counter()
                passes = plugin.filter_slot(prepared.want, cluster, slot)
                seconds = perf_counter() - began
                # The pod is on its node already, and may be what it does not fit beside.
                status = SUCCESS if passes or found else _refusal(plugin)
                self.observe(profile, plugin.name, "Filter", status, seconds)
        if not found:
            return
        whole = 0.0
        for score in candidates.scores:
            began = perf_counter()
            score.plugin.score_slot(score.prepared.want, cluster, slot)
            seconds = perf_counter() - began
            whole += seconds
            self.observe(profile, score.plugin.name, "Score", SUCCESS, seconds)
        self.point("Score", SUCCESS, profile).observe(whole)


class ShapeTimer(PluginTimer):
    """Observes what the plugins of one profile do for a new shape, and for all nodes."""

    def __init__(self, timings: PluginTimings, profile: str) -> None:
        self._timings, self._profile = timings, profile

    def prepared(self, plugin: Plugin[Any], prepared: Prepared, seconds: float) -> None:
        code = prepared.rejection.code.value if prepared.rejection is not None else ""
        status = code or (SUCCESS if prepared.filters or prepared.scores else _SKIP)
        self._timings.observe(self._profile, plugin.name, "PreFilter", status, seconds)

    def filtered(self, plugin: Plugin[Any], any_passes: bool, seconds: float) -> None:
        status = SUCCESS if any_passes else _refusal(plugin)
        self._timings.observe(self._profile, plugin.name, "Filter", status, seconds)

    def scored(self, plugin: Plugin[Any], seconds: float) -> None:
        self._timings.observe(self._profile, plugin.name, "Score", SUCCESS, seconds)


def _refusal(plugin: Plugin[Any]) -> str:
    return (plugin.refuses_with or Code.UNSCHEDULABLE).value
