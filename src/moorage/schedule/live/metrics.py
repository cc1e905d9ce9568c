"""Keep the scheduler's metrics, under Kubernetes' names, and those of KEP-5471 and KEP-5500.

A pod costs a few additions; the queue, the cluster and caches are read when metrics are scraped. Preparing and
searching all nodes happens once for a shape, and is always measured; of one attempt in ten, each plugin is measured for
the chosen node. Kubernetes: pkg/scheduler/metrics, metricsRecorder and pluginMetricsSamplePercent of the framework.
Differs: plugins filter and score all nodes in one search, whose time is that of the extension point Filter;
plugin_evaluation_total has a `status`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from time import perf_counter
from typing import Any

from moorage.match.devices.claims import FAILED, TIMED_OUT, waiting_devices
from moorage.match.evaluation.accounts import Undecided
from moorage.model.types.devices import ResourceClaim
from moorage.schedule.candidates import Candidates
from moorage.schedule.config.third_party import PluginError
from moorage.schedule.cycle import Bind, NoNode, Scheduler
from moorage.schedule.framework.plugin import Code, Plugin, PluginTimer, Prepared
from moorage.schedule.live.pod_feed import Assumption, Assumptions
from moorage.schedule.plugins.taint_toleration import NUMERIC_OPERATORS, TaintToleration
from moorage.schedule.waiting_pods import QueueState
from moorage.telemetry.metrics import Distribution, Histogram, Labels, Metrics, exponential_buckets

SAMPLED = 10  # one attempt in this many is measured plugin by plugin
SUCCESS = "Success"
_SKIP = "Skip"


class PluginTimings:
    """Observes plugins and extension points. `points` has the latter as a whole, without a plugin."""

    def __init__(self, metrics: Metrics) -> None:
        name = "scheduler_framework_extension_point_duration_seconds"
        about = "Seconds per extension point, and per plugin in it; Filter is the whole search for a node."
        labels = ("extension_point", "status", "profile", "plugin")
        self.points: Histogram = metrics.histogram(name, about, labels, exponential_buckets(0.0001, 2, 12))
        self.points.optional = "plugin"
        name = "scheduler_plugin_execution_duration_seconds"
        about = f"Seconds that a plugin takes: for a new shape of pod, and for one node, of one attempt in {SAMPLED}."
        buckets = exponential_buckets(0.00001, 1.5, 20)
        self._plugins = metrics.histogram(name, about, ("plugin", "extension_point", "status"), buckets)
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

    def attempted(self, candidates: Candidates, profile: str, slot: int, *, is_scheduled: bool) -> None:
        """Measure every plugin for one node, if it is time for that."""
        self._until_sample -= 1
        if self._until_sample < 0:
            self._until_sample = SAMPLED - 1
            try:
                self._sample(candidates, profile, slot, is_scheduled)
            except (PluginError, Undecided):
                return  # the attempt itself went well, or has reported the error

    def _sample(self, candidates: Candidates, profile: str, slot: int, is_scheduled: bool) -> None:
        cluster = candidates.cluster
        for item in candidates.filters:
            plugin, prepared = item.plugin, item.prepared
            if prepared.rejection is None:
                began = perf_counter()
                passes = plugin.filter_slot(prepared.want, cluster, slot)
                seconds = perf_counter() - began
                # The pod is on its node already, and may be what it does not fit beside.
                status = SUCCESS if passes or is_scheduled else _refusal(plugin)
                self.observe(profile, plugin.name, "Filter", status, seconds)
        if not is_scheduled:
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


_QUEUES = (QueueState.ACTIVE, QueueState.BACKOFF, QueueState.UNSCHEDULABLE, QueueState.GATED)


class _Profile:
    """One profile's children of the families that every pod increments."""

    def __init__(self, name: str, families: "SchedulerMetrics") -> None:
        f = families
        results = ("scheduled", "unschedulable", "error")
        self.attempts = {result: f.attempts.labels(result, name) for result in results}
        self.duration = {result: f.duration.labels(result, name) for result in results}
        self.found = f.timings.point("Filter", SUCCESS, name)
        self.not_found = f.timings.point("Filter", Code.UNSCHEDULABLE.value, name)
        self.bind = f.timings.point("Bind", SUCCESS, name)
        self.numeric = f.numeric_tolerations.labels(name)


class SchedulerMetrics:
    """Counts attempts, bindings and preemptions."""

    def __init__(self, metrics: Metrics, scheduler: Scheduler, assumptions: Assumptions) -> None:
        self._scheduler = scheduler
        self._assumptions = assumptions
        results = ("result", "profile")
        about = "Attempts to find pods a node and bind them to it, by result and profile."
        self.attempts = metrics.counter("scheduler_schedule_attempts_total", about, results)
        seconds = exponential_buckets(0.001, 2, 15)
        about = "Seconds that an attempt took, from the queue to the answer about the binding."
        self.duration = metrics.histogram("scheduler_scheduling_attempt_duration_seconds", about, results, seconds)
        about = "The same for pods that were bound, under the name that KEP-5471 uses."
        name = "scheduler_scheduling_duration_seconds"
        self.also_duration = metrics.histogram(name, about, buckets=seconds).labels()
        about = "Seconds that it took to find a node, or that there is none."
        name = "scheduler_scheduling_algorithm_duration_seconds"
        self.algorithm = metrics.histogram(name, about, buckets=seconds).labels()
        self.timings = PluginTimings(metrics)
        for name, engine in scheduler.engines.items():
            engine.timer = ShapeTimer(self.timings, name)
        about = "Attempts that it took to find a node for a pod."
        name = "scheduler_pod_scheduling_attempts"
        self.tries = metrics.histogram(name, about, buckets=exponential_buckets(1, 2, 5)).labels()
        name, about = (
            "scheduler_pod_scheduling_sli_duration_seconds",
            "Seconds from a pod's arrival to its binding.",
        )
        self.sli = metrics.histogram(name, about, ("attempts",), exponential_buckets(0.01, 2, 20))
        self._sli = [self.sli.labels(str(i)) for i in range(1, 15)] + [self.sli.labels("15+")]
        name, about = "scheduler_preemption_victims", "Pods that were chosen to make room, per preemption."
        self.victims = metrics.histogram(name, about, buckets=exponential_buckets(1, 2, 7)).labels()
        name, about = "scheduler_preemption_attempts_total", "Attempts to make room by evicting pods."
        self.preemptions = metrics.counter(name, about).labels()
        name, about = "scheduler_numeric_tolerations_total", "Pods bound that have tolerations with Gt or Lt."
        self.numeric_tolerations = metrics.counter(name, about, ("profile",))
        self._profiles = {name: _Profile(name, self) for name in scheduler.engines}
        self._evaluated: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self._refused: Counter[tuple[str, str, str]] = Counter()
        self._read_elsewhere(metrics)

    # -- counting -----------------------------------------------------------------------------------------------------

    def bind_chosen(self, action: Bind, seconds: float) -> None:
        profile = self._profiles[action.pod.scheduler]
        self.algorithm.observe(seconds)
        profile.found.observe(seconds)
        candidates = self._scheduler.engines[action.pod.scheduler].candidates(action.record.shape)
        self._evaluated[action.pod.scheduler, candidates.names] += 1
        self.timings.attempted(candidates, action.pod.scheduler, action.slot, is_scheduled=True)

    def no_node(self, action: NoNode, seconds: float) -> None:
        scheduler = action.pod.scheduler
        profile = self._profiles[scheduler]
        self.algorithm.observe(seconds)
        profile.not_found.observe(seconds)
        result = "error" if action.is_error else "unschedulable"
        profile.attempts[result].value += 1
        profile.duration[result].observe(seconds)
        if action.victims:
            self.victims.observe(len(action.victims))
        if action.message.rpartition("preemption: ")[1] or action.victims:
            self.preemptions.value += 1
        if action.is_waiting:
            return
        candidates = self._scheduler.engines[scheduler].candidates(action.record.shape)
        self._evaluated[scheduler, candidates.names] += 1
        slot = next(iter(self._scheduler.cluster.nodes.slot_of.values()), None)
        if slot is not None and candidates.rejection is None and not action.is_error:
            self.timings.attempted(candidates, scheduler, slot, is_scheduled=False)
        for item in candidates.filters:
            plugin = item.plugin
            if plugin.name in action.rejected_by:
                code = item.prepared.rejection.code if item.prepared.rejection is not None else plugin.refuses_with
                self._refused[scheduler, plugin.name, (code or Code.UNSCHEDULABLE).value] += 1

    def bound(self, assumption: Assumption, began: float, now: float) -> None:
        """Count a pod that the API server has bound; the call began then."""
        action = assumption.action
        pod = action.pod
        profile = self._profiles[pod.scheduler]
        profile.bind.observe(now - began)
        profile.attempts["scheduled"].value += 1
        seconds = now - assumption.began
        profile.duration["scheduled"].observe(seconds)
        self.also_duration.observe(seconds)
        self.tries.observe(pod.attempts)
        self._sli[min(pod.attempts, 15) - 1].observe(now - pod.entered)
        if any(toleration.operator in NUMERIC_OPERATORS for toleration in action.record.shape.spec.tolerations):
            profile.numeric.value += 1

    def failed(self, action: Bind) -> None:
        profile = self._profiles[action.pod.scheduler]
        profile.attempts["error"].value += 1

    # -- what others know ---------------------------------------------------------------------------------------------

    def _read_elsewhere(self, metrics: Metrics) -> None:
        gauge, counter = metrics.gauge_function, metrics.counter_function
        about = "The same as scheduler_schedule_attempts_total, under the names that KEP-5471 and KEP-5500 use."
        for name in ("scheduler_scheduling_attempts", "scheduler_scheduling_attempts_total"):
            counter(name, about, self._attempts, ("result", "profile"))
        gauge("scheduler_pending_pods", "Pods that wait, by where in the queue.", self._pending, ("queue",))
        about = "Pods for which no node was found, by each plugin that refused."
        gauge("scheduler_unschedulable_pods", about, self._unschedulable, ("plugin", "profile"))
        about = "Nodes, pods on nodes, and pods whose binding is not confirmed."
        gauge("scheduler_cache_size", about, self._cache_size, ("type",))
        about = "Pods that came to a part of the queue, by what brought them there."
        counter("scheduler_queue_incoming_pods_total", about, self._incoming, ("queue", "event"))
        labels = ("plugin", "extension_point", "profile", "status")
        about = "Attempts in which a plugin had something to say, by what it said."
        counter("scheduler_plugin_evaluation_total", about, self._evaluations, labels)
        about = "Comparisons of a taint's number with a toleration's, one for each distinct list of taints, by result."
        name = "scheduler_numeric_taint_evaluations_total"
        counter(name, about, self._numeric_evaluations, ("profile", "operator", "result"))
        about = "Evaluations of toleration expressions that failed."
        counter("scheduler_cel_evaluation_errors_total", about, self._expression_errors, ("profile",))
        for what in ("hits", "misses", "evictions"):
            about = f"The cache of compiled toleration expressions: {what}."
            counter(f"scheduler_cel_cache_{what}_total", about, partial(self._cel_cache, what))

    def _attempts(self) -> Mapping[Labels, float]:
        return {
            (result, name): count.value
            for name, profile in self._profiles.items()
            for result, count in profile.attempts.items()
        }

    def _pending(self) -> Mapping[Labels, float]:
        counted = Counter(pod.place for pod in self._scheduler.queue)
        return {(state.value,): counted[state] for state in _QUEUES}

    def _unschedulable(self) -> Mapping[Labels, float]:
        counted: Counter[Labels] = Counter()
        for group in self._scheduler.queue.groups():
            for plugin in group.rejected_by:
                counted[plugin, group.scheduler] += len(group.pods)
        return counted

    def _cache_size(self) -> Mapping[Labels, float]:
        cluster = self._scheduler.cluster
        return {
            ("nodes",): len(cluster.nodes),
            ("pods",): len(cluster.pods),
            ("assumed_pods",): len(self._assumptions),
        }

    def _incoming(self) -> Mapping[Labels, float]:
        counted: Counter[Labels] = Counter()
        for (place, cause), pods in self._scheduler.queue.incoming.items():
            counted[place.value, cause.value] += pods
        return counted

    def _evaluations(self) -> Mapping[Labels, float]:
        counted: Counter[Labels] = Counter()
        for (profile, plugins), attempts in self._evaluated.items():
            for plugin in plugins:
                counted[plugin, "Filter", profile, SUCCESS] += attempts
        for (profile, plugin, status), attempts in self._refused.items():
            counted[plugin, "Filter", profile, status] += attempts
            counted[plugin, "Filter", profile, SUCCESS] -= attempts
        return counted

    def _numeric_evaluations(self) -> Mapping[Labels, float]:
        counted: Counter[Labels] = Counter()
        for profile, plugin in _taint_plugins(self._scheduler):
            for (operator, result), times in plugin.numeric_evaluations.items():
                counted[profile, operator, result] += times
        return counted

    def _expression_errors(self) -> Mapping[Labels, float]:
        return {(profile,): plugin.evaluation_errors for profile, plugin in _taint_plugins(self._scheduler)}

    def _cel_cache(self, what: str) -> float:
        caches = {id(plugin.programs): plugin.programs for _, plugin in _taint_plugins(self._scheduler)}
        return float(sum(getattr(cache, what) for cache in caches.values() if cache is not None))


def _taint_plugins(scheduler: Scheduler) -> Iterator[tuple[str, TaintToleration]]:
    """Yield the TaintToleration plugin of each profile that has it, with the profile's name."""
    for name, engine in scheduler.engines.items():
        for plugin in engine.profile.filters:
            if isinstance(plugin, TaintToleration):
                yield name, plugin


class ClaimMetrics:
    """Counts claims made for extended resources, and waits for devices."""

    def __init__(self, metrics: Metrics) -> None:
        name, about = "scheduler_resourceclaim_creates_total", "ResourceClaims created for extended resources."
        creates = metrics.counter(name, about, ("status",))
        self._created = {is_success: creates.labels("success" if is_success else "failure") for is_success in (0, 1)}
        labels = ("profile", "driver", "status")
        name = "scheduler_dra_bindingconditions_allocations_total"
        about = "Attempts that used devices with binding conditions, by driver and what became of them."
        self._allocations = metrics.counter(name, about, labels)
        name = "scheduler_dra_bindingconditions_wait_duration_seconds"
        about = "Seconds spent waiting for binding conditions before a pod is bound."
        self._waits = metrics.histogram(name, about, labels, exponential_buckets(0.1, 2, 14))

    def created(self, is_success: bool) -> None:
        self._created[is_success].value += 1

    def waited(self, profile: str, claims: list[ResourceClaim], seconds: float, error: str) -> None:
        """Count a wait for devices; `error` is empty if they are ready."""
        status = "success"
        if error:
            status = next((name for text, name in _STATUS if error.startswith(text)), "error")
        for claim in claims:
            allocation = claim.status.allocation
            for result in allocation.devices.results if allocation is not None else ():
                self._waits.labels(profile, result.driver, status).observe(seconds)
            for result in waiting_devices(claim):
                self._allocations.labels(profile, result.driver, status).value += 1


_STATUS = ((TIMED_OUT, "timeout"), (FAILED, "failure"))
