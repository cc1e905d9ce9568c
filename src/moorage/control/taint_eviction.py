"""Evict pods that do not tolerate NoExecute taints, at once or after tolerationSeconds.

Kubernetes: pkg/controller/tainteviction. `framework.taint_evictions` keeps the timers, and has the differences.
"""

from functools import lru_cache

from moorage.client.protocol import Object
from moorage.control.framework.actions import Action, Delete, Plan
from moorage.control.framework.controller import ControllerContext
from moorage.control.framework.taint_evictions import LATENCY_BUCKETS, TaintEvictions, Taints, marked, report
from moorage.control.framework.toleration_reader import TolerationReader
from moorage.control.framework.world import World
from moorage.match.taint_eviction import Eviction, decide_eviction, gate_in_the_way
from moorage.match.tolerations import TolerationSet, compile_tolerations
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod, Toleration
from moorage.telemetry.logs import get_logger
from moorage.telemetry.pod_loops import PodLoops

_LOG = get_logger("taint-eviction-controller")
_REMEMBERED = 4096
Tolerations = tuple[Toleration, ...]


class EvictionDecider:
    """Decides when a pod must leave, once per distinct taints and tolerations."""

    def __init__(self, context: ControllerContext) -> None:
        name = "taint-eviction-controller"
        self._reader = reader = TolerationReader(context, name, "taint_eviction_controller", "taint-eviction")

        @lru_cache(_REMEMBERED)
        def compiled(tolerations: Tolerations) -> TolerationSet:
            return compile_tolerations(tolerations, reader.gates, reader.programs, reader.evaluation_failed)

        @lru_cache(_REMEMBERED)
        def decided(taints: Taints, tolerations: Tolerations) -> Eviction:
            return decide_eviction(taints, compiled(tolerations))

        @lru_cache(_REMEMBERED)
        def unreadable(taints: Taints, tolerations: Tolerations) -> bool:
            return any(compiled(tolerations).unreadable(taint) for taint in taints)

        self._compiled, self._decided, self._unreadable = compiled, decided, unreadable

    def decide(self, taints: Taints, pod: Object, node: str) -> Eviction:
        """Return when the pod must leave. `taints` are the node's NoExecute taints. Raises Undecided."""
        tolerations = tuple(pod.view.spec.tolerations)
        eviction = self._decided(taints, tolerations)
        if not eviction.all_tolerated and self._unreadable(taints, tolerations):
            self._reader.tell_unreadable(self._compiled(tolerations), taints, {"node": node}, pod=pod.key)
        return eviction


class TaintEvictionController(TaintEvictions):
    """Reconciles pods on tainted nodes."""

    name = "taint-eviction-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        metrics = context.metrics
        self._decider = EvictionDecider(context)
        self._deletions = metrics.counter(
            "taint_eviction_controller_pod_deletions_total",
            "Total number of Pods deleted by TaintEvictionController since its start.",
        ).labels()
        about = "Evicted pods that were created for evicted ones of their workload, again and again."
        self._again = metrics.counter("taint_eviction_controller_pods_evicted_again_total", about).labels()
        self._loops = PodLoops()
        self._latency = metrics.histogram(
            "taint_eviction_controller_pod_deletion_duration_seconds",
            "Latency, in seconds, between the time when a taint effect has been activated for the Pod and its deletion "
            "via TaintEvictionController.",
            (),
            LATENCY_BUCKETS,
        ).labels()

    def judge(self, taints: Taints, pod: Object, node: str) -> Eviction:
        return self._decider.decide(taints, pod, node)

    def evict(self, found: Object, now: float, eviction: Eviction, world: World) -> list[Action]:
        """Set the DisruptionTarget condition, then delete the pod."""
        if found.key not in self._evicted:
            self._note_loop(found.view, eviction, world, now)
        said = report(found, f"Marking for deletion Pod {found.key}")
        return [*marked(found, now), Delete(KINDS.POD, found.namespace, found.name, found.uid, report=said)]

    def _note_loop(self, pod: Pod, eviction: Eviction, world: World, now: float) -> None:
        """Count an evicted pod that replaces an evicted one, and log the workload once."""
        loop = self._loops.ended(pod.metadata, now)
        if loop is None:
            return
        self._again.inc()
        if loop.is_news:
            node = world.get(KINDS.NODE, pod.spec.nodeName)
            gate = gate_in_the_way(pod.spec, node.view) if node is not None and not eviction.all_tolerated else None
            hint = f"; the feature gate {gate} is off in the controller manager" if gate else ""
            _LOG.error(loop.text("evicted", f"{eviction.because}{hint}"))

    def done(self, key: str, plan: Plan, now: float) -> None:
        if isinstance(plan.actions[-1], Delete):
            self._deletions.inc()
            self._latency.observe(self.late(key, now))
