"""The scheduler's metrics, under Kubernetes' names, and those of KEP-5471 and KEP-5500; warnings about taints.

A pod costs a few additions; the queue, the cluster and caches are read when metrics are scraped. Kubernetes:
pkg/scheduler/metrics. Differs: plugins filter and score all nodes in one search, whose time is that of the extension
point Filter; plugin_evaluation_total has a `status`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import msgspec
import numpy as np

from moorage.columns.cluster import Cluster, PodRecord
from moorage.match.operators import TOLERATION, comparison_of
from moorage.match.taint_messages import TolerationLog
from moorage.match.tolerations import TolerationSet, compile_tolerations
from moorage.model.gates import GateSet
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration
from moorage.schedule.cycle import Bind, NoNode, Scheduler
from moorage.schedule.framework.verdict import Code
from moorage.schedule.live.plugin_timings import SUCCESS, PluginTimings, ShapeTimer
from moorage.schedule.live.pod_feed import Assumption, Assumptions
from moorage.schedule.plugins.taint_toleration import NUMERIC_OPERATORS, TaintToleration
from moorage.schedule.queue.waiting_pods import QueueState
from moorage.telemetry.metrics import Labels, Metrics, exponential_buckets

_REMEMBERED = 1 << 16
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
        self.timings = PluginTimings(metrics)
        for name, engine in scheduler.engines.items():
            engine.timer = ShapeTimer(self.timings, name)
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
        self._read_elsewhere(metrics)

    # -- counting -----------------------------------------------------------------------------------------------------

    def bind_chosen(self, action: Bind, seconds: float) -> None:
        profile = self._profiles[action.pod.scheduler]
        self.algorithm.observe(seconds)
        profile.found.observe(seconds)
        candidates = self._scheduler.engines[action.pod.scheduler].candidates(action.record.shape)
        self._evaluated[action.pod.scheduler, candidates.names] += 1
        self.timings.attempted(candidates, action.pod.scheduler, action.slot, found=True)

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
            self.timings.attempted(candidates, scheduler, slot, found=False)
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


class _Reader(msgspec.Struct, eq=False):
    """A list of tolerations that compare values, and how many lists of taints it has seen."""

    tolerations: TolerationSet
    seen: int = 0


class TaintWarnings:
    """Logs taint values that a pod's tolerations would compare but cannot parse, once per distinct taint.

    A value that is not an integer is a warning, one that is not a version an error, as KEP-5471 and KEP-5721 ask; an
    expression that fails is logged with its error.
    """

    def __init__(self, scheduler: Scheduler, gates: GateSet) -> None:
        self._cluster: Cluster = scheduler.cluster
        self._gates = gates
        self._readers: dict[tuple[Toleration, ...], _Reader] = {}
        self._log = TolerationLog("scheduler", _REMEMBERED)
        for _, plugin in _taint_plugins(scheduler):
            plugin.evaluation_failed = self._log.expression_failed

    def look(self, record: PodRecord) -> None:
        """Check the taints that are new since a pod with these tolerations was last tried."""
        tolerations = tuple(record.shape.spec.tolerations)
        if not any(comparison_of(toleration.operator, TOLERATION) for toleration in tolerations):
            return
        reader = self._readers.get(tolerations)
        if reader is None:
            comparing = [toleration for toleration in tolerations if not toleration.expression]
            reader = self._readers[tolerations] = _Reader(compile_tolerations(comparing, self._gates))
        if reader.seen < len(self._cluster.nodes.taint_sets.sets):
            self._read(reader, record)

    def _read(self, reader: _Reader, record: PodRecord) -> None:
        sets = self._cluster.nodes.taint_sets.sets
        for code in range(reader.seen, len(sets)):
            for taint in sets[code]:
                for matcher in reader.tolerations.matchers:
                    why = matcher.unreadable(taint)
                    if why is not None:
                        self._tell(taint, matcher.toleration.operator, why, code, record)
                        break
        reader.seen = len(sets)

    def _tell(self, taint: Taint, operator: str, why: str, code: int, record: PodRecord) -> None:
        nodes = self._cluster.nodes
        slots = np.flatnonzero((nodes.taints == code) & nodes.alive).tolist()
        if not slots or not self._log.is_new("taint", taint.key, taint.value, taint.effect, operator):
            return
        where: dict[str, Any] = {"node": nodes.node(slots[0]).metadata.name}
        if len(slots) > 1:
            where["moreNodes"] = len(slots) - 1
        noun = "number" if operator in NUMERIC_OPERATORS else "version"
        self._log.unreadable(noun, taint, why, where, pod=record.key)
