"""The scheduler's metrics, under Kubernetes' names, and those of KEP-5471 and KEP-5500.

A pod costs a few additions; the queue, the cluster and caches are read when metrics are scraped, and single plugins are
timed on one attempt of many. Kubernetes: pkg/scheduler/metrics. Differs: plugins filter and score all nodes in one
search, whose time is that of the extension point Filter; plugin_evaluation_total has a `status`.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial

from moorage.columns.shape import Shape
from moorage.schedule.cycle import Bind, NoNode, Scheduler
from moorage.schedule.engine.candidates import Candidates
from moorage.schedule.framework.verdict import Code
from moorage.schedule.live.pod_feed import Assumption, Assumptions
from moorage.schedule.plugins.taint_toleration import NUMERIC_OPERATORS, TaintToleration
from moorage.schedule.queue.waiting_pods import QueueState
from moorage.telemetry.metrics import Labels, Metrics, exponential_buckets

SAMPLED = 1024  # one attempt of so many is measured plugin by plugin
_SUCCESS = "Success"
_REMEMBERED = 1 << 16
_QUEUES = (QueueState.ACTIVE, QueueState.BACKOFF, QueueState.UNSCHEDULABLE, QueueState.GATED)


class _Profile:
    """One profile's children of the families that every pod increments."""

    def __init__(self, name: str, families: "SchedulerMetrics") -> None:
        f = families
        results = ("scheduled", "unschedulable", "error")
        self.attempts = {result: f.attempts.labels(result, name) for result in results}
        self.duration = {result: f.duration.labels(result, name) for result in results}
        self.found = f.point_duration.labels("Filter", _SUCCESS, name)
        self.not_found = f.point_duration.labels("Filter", Code.UNSCHEDULABLE.value, name)
        self.bind = f.point_duration.labels("Bind", _SUCCESS, name)
        self.score = f.point_duration.labels("Score", _SUCCESS, name)
        self.numeric = f.numeric_tolerations.labels(name)


class SchedulerMetrics:
    """Counts attempts, bindings and preemptions."""

    def __init__(self, metrics: Metrics, scheduler: Scheduler, assumptions: Assumptions) -> None:
        self._scheduler = scheduler
        self._assumptions = assumptions
        results = ("result", "profile")
        said = "Attempts to find pods a node and bind them to it, by result and profile."
        self.attempts = metrics.counter("scheduler_schedule_attempts_total", said, results)
        seconds = exponential_buckets(0.001, 2, 15)
        said = "Seconds that an attempt took, from the queue to the answer about the binding."
        self.duration = metrics.histogram("scheduler_scheduling_attempt_duration_seconds", said, results, seconds)
        said = "The same for pods that were bound, under the name that KEP-5471 uses."
        name = "scheduler_scheduling_duration_seconds"
        self.also_duration = metrics.histogram(name, said, buckets=seconds).labels()
        said = "Seconds that it took to find a node, or that there is none."
        name = "scheduler_scheduling_algorithm_duration_seconds"
        self.algorithm = metrics.histogram(name, said, buckets=seconds).labels()
        name = "scheduler_framework_extension_point_duration_seconds"
        said = "Seconds per extension point; Filter is the whole search for a node, Score a sample of it."
        labels = ("extension_point", "status", "profile")
        self.point_duration = metrics.histogram(name, said, labels, exponential_buckets(0.0001, 2, 12))
        name, labels = "scheduler_plugin_execution_duration_seconds", ("plugin", "extension_point", "status")
        said = f"Seconds that a plugin takes for all nodes, measured on one attempt in {SAMPLED}."
        self.plugin_duration = metrics.histogram(name, said, labels, exponential_buckets(0.00001, 1.5, 20))
        said = "Attempts that it took to find a node for a pod."
        name = "scheduler_pod_scheduling_attempts"
        self.tries = metrics.histogram(name, said, buckets=exponential_buckets(1, 2, 5)).labels()
        name, said = "scheduler_pod_scheduling_sli_duration_seconds", "Seconds from a pod's arrival to its binding."
        self.sli = metrics.histogram(name, said, ("attempts",), exponential_buckets(0.01, 2, 20))
        self._sli = [self.sli.labels(str(i)) for i in range(1, 15)] + [self.sli.labels("15+")]
        name, said = "scheduler_preemption_victims", "Pods that were chosen to make room, per preemption."
        self.victims = metrics.histogram(name, said, buckets=exponential_buckets(1, 2, 7)).labels()
        name, said = "scheduler_preemption_attempts_total", "Attempts to make room by evicting pods."
        self.preemptions = metrics.counter(name, said).labels()
        name, said = "scheduler_numeric_tolerations_total", "Pods bound that have tolerations with Gt or Lt."
        self.numeric_tolerations = metrics.counter(name, said, ("profile",))
        self._profiles = {name: _Profile(name, self) for name in scheduler.engines}
        self._evaluated: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self._refused: Counter[tuple[str, str, str]] = Counter()
        self._has_numbers: dict[int, bool] = {}
        self._until_sample = 0
        self._read_elsewhere(metrics)

    # -- counting -----------------------------------------------------------------------------------------------------

    def bind_chosen(self, action: Bind, seconds: float) -> None:
        """Count a node found."""
        profile = self._profiles[action.pod.scheduler]
        self.algorithm.observe(seconds)
        profile.found.observe(seconds)
        candidates = self._scheduler.engines[action.pod.scheduler].candidates(action.record.shape)
        self._evaluated[action.pod.scheduler, candidates.names] += 1
        self._until_sample -= 1
        if self._until_sample < 0:
            self._until_sample = SAMPLED
            self._sample(candidates, profile)

    def no_node(self, action: NoNode, seconds: float) -> None:
        """Count an attempt without a node."""
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
        candidates = self._scheduler.engines[scheduler].candidates(action.record.shape)
        self._evaluated[scheduler, candidates.names] += 1
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
        if self._counts_numbers(action.record.shape):
            profile.numeric.value += 1

    def failed(self, action: Bind) -> None:
        profile = self._profiles[action.pod.scheduler]
        profile.attempts["error"].value += 1

    def _counts_numbers(self, shape: Shape) -> bool:
        kept = self._has_numbers.get(shape.number)
        if kept is None:
            if len(self._has_numbers) >= _REMEMBERED:
                self._has_numbers.clear()
            kept = any(toleration.operator in NUMERIC_OPERATORS for toleration in shape.spec.tolerations)
            self._has_numbers[shape.number] = kept
        return kept

    def _sample(self, candidates: Candidates, profile: _Profile) -> None:
        """Time the plugins of one shape one by one."""
        cluster, clock = candidates.cluster, time.perf_counter
        for item in candidates.filters:
            if item.prepared.rejection is None:
                began = clock()
                mask = item.plugin.filter(item.prepared.want, cluster)
                seconds = clock() - began
                status = _SUCCESS if mask.any() else (item.plugin.refuses_with or Code.UNSCHEDULABLE).value
                self.plugin_duration.labels(item.plugin.name, "Filter", status).observe(seconds)
        feasible = candidates.feasible()
        whole = 0.0
        for score in candidates.scores:
            began = clock()
            score.plugin.score(score.prepared.want, cluster, feasible)
            seconds = clock() - began
            whole += seconds
            self.plugin_duration.labels(score.plugin.name, "Score", _SUCCESS).observe(seconds)
        profile.score.observe(whole)

    # -- what others know ---------------------------------------------------------------------------------------------

    def _read_elsewhere(self, metrics: Metrics) -> None:
        gauge, counter = metrics.gauge_function, metrics.counter_function
        said = "The same as scheduler_schedule_attempts_total, under the names that KEP-5471 and KEP-5500 use."
        for name in ("scheduler_scheduling_attempts", "scheduler_scheduling_attempts_total"):
            counter(name, said, self._attempts, ("result", "profile"))
        gauge("scheduler_pending_pods", "Pods that wait, by where in the queue.", self._pending, ("queue",))
        said = "Pods for which no node was found, by each plugin that refused."
        gauge("scheduler_unschedulable_pods", said, self._unschedulable, ("plugin", "profile"))
        said = "Nodes, pods on nodes, and pods whose binding is not confirmed."
        gauge("scheduler_cache_size", said, self._cache_size, ("type",))
        said = "Pods that came to a part of the queue, by what brought them there."
        counter("scheduler_queue_incoming_pods_total", said, self._incoming, ("queue", "event"))
        labels = ("plugin", "extension_point", "profile", "status")
        said = "Attempts in which a plugin had something to say, by what it said."
        counter("scheduler_plugin_evaluation_total", said, self._evaluations, labels)
        said = "Comparisons of a taint's number with a toleration's, one for each distinct list of taints, by result."
        name = "scheduler_numeric_taint_evaluations_total"
        counter(name, said, self._numeric_evaluations, ("profile", "operator", "result"))
        said = "Evaluations of toleration expressions that failed."
        counter("scheduler_cel_evaluation_errors_total", said, self._expression_errors, ("profile",))
        for what in ("hits", "misses", "evictions"):
            said = f"The cache of compiled toleration expressions: {what}."
            counter(f"scheduler_cel_cache_{what}_total", said, partial(self._cel_cache, what))

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
                counted[plugin, "Filter", profile, _SUCCESS] += attempts
        for (profile, plugin, status), attempts in self._refused.items():
            counted[plugin, "Filter", profile, status] += attempts
            counted[plugin, "Filter", profile, _SUCCESS] -= attempts
        return counted

    def _numeric_evaluations(self) -> Mapping[Labels, float]:
        counted: Counter[Labels] = Counter()
        for profile, plugin in self._taint_plugins():
            for (operator, result), times in plugin.numeric_evaluations.items():
                counted[profile, operator, result] += times
        return counted

    def _expression_errors(self) -> Mapping[Labels, float]:
        return {(profile,): plugin.evaluation_errors for profile, plugin in self._taint_plugins()}

    def _cel_cache(self, what: str) -> float:
        caches = {id(plugin.programs): plugin.programs for _, plugin in self._taint_plugins()}
        return float(sum(getattr(cache, what) for cache in caches.values() if cache is not None))

    def _taint_plugins(self) -> Iterator[tuple[str, TaintToleration]]:
        for name, engine in self._scheduler.engines.items():
            for plugin in engine.profile.filters:
                if isinstance(plugin, TaintToleration):
                    yield name, plugin
