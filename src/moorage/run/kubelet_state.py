"""Decide what all simulated kubelets do: events in, due `Action`s out, with the time as an argument.

It never waits: what the API server does comes back as an event. Pods found running after a restart continue; pods on a
node that is absent or has no capacity yet wait for it. Kubernetes: the pod workers of pkg/kubelet. Differs: the end of
a deleted pod's containers is reported only if a finalizer keeps the pod.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count

from moorage.match.evaluation.accounts import Undecided
from moorage.model.types.node import Node
from moorage.model.types.pod import FINISHED_PHASES, Pod
from moorage.run import pod_status as lifecycle
from moorage.run.actions import Action, Remove, ReportDevices, ReportEvent, ReportShutdown, WriteStatus
from moorage.run.admission import Admission, Load, Mounts, NotMounted
from moorage.run.devices.claims import DeviceClaims, NotPrepared
from moorage.run.node_objects import address_number, host_address, pod_address
from moorage.run.pod_status import Doing, is_resized, report_resize, resize
from moorage.run.refusals import Refusals
from moorage.run.shutdown import Shutdowns, periods_of
from moorage.run.simulated_pod import NEVER, TERMINATED, PodStage, PodStep, SimulatedPod, life_found

#: Delays between attempts to mount volumes; the first failure is not reported.
_FIRST_MOUNT_DELAY, _MAX_MOUNT_DELAY = 1.0, 122.0
#: Delay between attempts to prepare claims on devices, after the first, silent one.
_PREPARE_DELAY = 60.0


class KubeletState:
    """Nodes, pods and their next steps. `due` returns actions; `next_time` says when there are more."""

    def __init__(
        self,
        admission: Admission,
        mounts: Mounts | None = None,
        claims: DeviceClaims | None = None,
        *,
        reports: bool = True,
    ) -> None:
        """`reports`: `due` returns the events of containers that start and stop, and the state of devices, too."""
        self._reports = reports
        self._claims = claims or DeviceClaims(admission.gates)
        self.started = 0
        self._refusals = Refusals()
        self.refused, self.refused_again = self._refusals.counted, self._refusals.again
        self._shutdowns = Shutdowns(admission.gates)
        self._admission, self._mounts = admission, mounts or Mounts(admission.gates)
        self._held_up: dict[str, tuple[float, float]] = {}  # pods that wait for volumes or claims: delay, next attempt
        self._nodes: dict[str, Node] = {}
        self._loads: dict[str, Load] = {}  # of nodes with capacity
        self._lives: dict[str, SimulatedPod] = {}
        self._on: dict[str, dict[str, None]] = {}  # keys of pods by node, oldest first
        self._waiting: dict[str, dict[str, Pod]] = {}  # pods by the node they wait for
        self._waits_for: dict[str, str] = {}
        self._planned: list[tuple[float, int, str, int]] = []
        self._numbers = count()
        self._addresses = 0
        self._now_due: list[Action] = []
        self._deferred: dict[str, set[str]] = {}  # pods whose resize did not fit, by node
        self._freed: set[str] = set()  # nodes of such pods that others have left
        self._undecided: list[str] = []  # pods whose expensive expressions have been evaluated meanwhile
        #: Called when there is something to do though nothing came in.
        self.wake: Callable[[], None] = lambda: None

    @property
    def nodes(self) -> dict[str, Node]:
        return self._nodes

    @property
    def running_pods(self) -> int:
        return sum(1 for life in self._lives.values() if life.stage in (PodStage.RUNNING, PodStage.BACKING_OFF))

    def has(self, key: str, uid: str) -> bool:
        """Return whether this pod is on one of the nodes."""
        life = self._lives.get(key)
        return life is not None and life.pod.metadata.uid == uid

    def node_changed(self, node: Node, now: float) -> None:
        name = node.metadata.name
        self._nodes[name] = node
        if self._shutdowns.node_changed(node):
            self._now_due.append(ReportShutdown(node, begins=bool(periods_of(node, self._admission.gates))))
        self.volumes_changed(now)
        if name not in self._loads and node.status.allocatable:
            self._loads[name] = Load()
            waiting = self._waiting.pop(name, {})
            for key in waiting:
                del self._waits_for[key]
            self.pods_changed(waiting.items(), now)

    def node_gone(self, name: str) -> None:
        """Keep the pods of a node that is gone: it may come back."""
        self._nodes.pop(name, None)
        self._shutdowns.node_gone(name)
        if self._loads.pop(name, None) is None:
            return
        for key in list(self._on.get(name, ())):
            self._wait(key, self._lives[key].pod)

    def pods_changed(self, pods: Iterable[tuple[str, Pod]], now: float) -> None:
        """Handle several pods: running ones first, then by age."""
        for key, pod in sorted(pods, key=_precedence):
            self.pod_changed(key, pod, now)

    def pod_changed(self, key: str, pod: Pod, now: float) -> None:
        node = pod.spec.nodeName
        if not node:
            return
        if node not in self._loads:
            self._wait(key, pod)
            return
        life = self._lives.get(key)
        if life is not None and life.pod.metadata.uid == pod.metadata.uid:
            self._seen_again(key, life, pod, now)
            return
        self.pod_gone(key)
        self._arrived(key, pod, now)

    def wrote(self, key: str, old: Pod, new: Pod) -> bool:
        """Note the pod with the status that was written for it. Return whether there is nothing else to see in it."""
        life = self._lives.get(key)
        if life is None or life.pod is not old or old.metadata is not new.metadata or new.metadata.deletionTimestamp:
            return False
        life.pod = new
        return True

    def pod_gone(self, key: str) -> None:
        node = self._waits_for.pop(key, None)
        if node is not None:
            del self._waiting[node][key]
        life = self._lives.pop(key, None)
        if life is not None:
            self._held_up.pop(key, None)
            self._release(life)
            name = life.pod.spec.nodeName
            del self._on[name][key]
            if not self._on[name]:
                del self._on[name]

    def _keep(self, key: str, life: SimulatedPod) -> SimulatedPod:
        self._lives[key] = life
        self._on.setdefault(life.pod.spec.nodeName, {})[key] = None
        self._shutdowns.touch(life.pod.spec.nodeName)
        return life

    def _wait(self, key: str, pod: Pod) -> None:
        self.pod_gone(key)
        self._waiting.setdefault(pod.spec.nodeName, {})[key] = pod
        self._waits_for[key] = pod.spec.nodeName

    def _decided(self, key: str) -> None:
        """Have a pod looked at again, because its expensive expressions have been evaluated."""
        if key in self._waits_for:
            self._undecided.append(key)
            self.wake()

    def _look_again(self, now: float) -> None:
        keys, self._undecided = self._undecided, []
        for key in keys:
            node = self._waits_for.pop(key, None)
            if node is not None:
                self.pod_changed(key, self._waiting[node].pop(key), now)

    def volumes_changed(self, now: float) -> None:
        """Let pods that wait for volumes try again."""
        for key in self._held_up:
            self._try_again(key, self._lives[key], now)

    def claims_changed(self, claims: set[str], now: float) -> None:
        """Let pods that wait for one of these ResourceClaims try again."""
        for key in self._held_up:
            life = self._lives[key]
            if not claims.isdisjoint(self._claims.keys(life.pod)):
                self._try_again(key, life, now)

    def _try_again(self, key: str, life: SimulatedPod, now: float) -> None:
        if life.stage is PodStage.STARTING:
            life.at = min(life.at, now)
            self._plan(key, life)

    def next_time(self) -> float:
        """Return when the next step is due; infinity if none is planned."""
        if self._now_due or self._undecided or self._freed:
            return 0.0
        return min(self._planned[0][0] if self._planned else NEVER, self._shutdowns.next_time())

    def due(self, now: float) -> list[Action]:
        if self._undecided:
            self._look_again(now)
        if self._freed:
            self._resize_deferred(now)
        self._take_planned(now)
        while self._shutdowns.next_time() <= now:
            self._shutdowns.advance(now, self._active_on, partial(self._shut_down, now))
            self._take_planned(now)
        actions, self._now_due = self._now_due, []
        return actions

    def _take_planned(self, now: float) -> None:
        while self._planned and self._planned[0][0] <= now:
            _, _, key, version = heapq.heappop(self._planned)
            life = self._lives.get(key)
            if life is not None and life.version == version:
                self._now_due += self._take_step(key, life, now)
                self._plan(key, life)

    def _active_on(self, node: str) -> list[tuple[str, Pod]]:
        lives = ((key, self._lives[key]) for key in self._on.get(node, ()))
        return [(key, life.pod) for key, life in lives if life.is_active]

    def _shut_down(self, now: float, key: str, seconds: int) -> None:
        """End a pod because its node shuts down, within these seconds."""
        life = self._lives[key]
        if life.stage in (PodStage.RUNNING, PodStage.BACKING_OFF):
            self._now_due += self._of_containers(life.pod, "Killing", "Stopping container {}")
        life.shut_down(now, seconds)
        self._plan(key, life)

    def _arrived(self, key: str, pod: Pod, now: float) -> None:
        name, phase = pod.spec.nodeName, pod.status.phase
        is_leaving = pod.metadata.deletionTimestamp is not None
        if phase in FINISHED_PHASES:
            self._seen_again(key, self._keep(key, SimulatedPod(pod, PodStage.OVER, now)), pod, now)
            return
        load = self._loads[name]
        if phase != "Running" and not is_leaving:
            try:
                refusal = self._admission.refuse(pod, self._nodes[name], load)
            except Undecided as undecided:
                self._wait(key, pod)
                undecided.when_ready((id(self), key), partial(self._decided, key), lambda: key in self._waits_for)
                return
            if refusal is not None:
                self._refusals.note(pod, self._nodes[name], refusal, now)
                self._now_due.append(ReportEvent(pod, "Warning", refusal.reason, refusal.message))
                life = self._keep(key, SimulatedPod(pod, PodStage.REFUSED, now))
                life.refuse(refusal, now)
                self._plan(key, life)
                return
        load.add(pod)
        if phase == "Running":
            life = life_found(pod, now)
            self._addresses = max(self._addresses, address_number(life.address))
            self._claims.adopt(pod)
        else:
            self._addresses += 1
            life = SimulatedPod(pod, PodStage.STARTING, now, pod_address(self._addresses))
            life.at = now + life.script.start_delay
        life.counted = pod
        self._keep(key, life)
        if is_leaving:
            self._stop(key, life, now)
        elif (life.stage is PodStage.STARTING and life.script.start_delay) or (
            life.stage is PodStage.RUNNING and pod.status.observedGeneration != pod.metadata.generation
        ):
            self._now_due.append(self._write(key, life, life.doing(), now))
        self._plan(key, life)

    def _seen_again(self, key: str, life: SimulatedPod, pod: Pod, now: float) -> None:
        old, life.pod = life.pod, pod
        if pod.status.phase in FINISHED_PHASES and life.stage not in (PodStage.OVER, PodStage.REMOVED):
            self._end(life)
        if pod.metadata.deletionTimestamp is not None:
            if life.stage is PodStage.REMOVED:
                return  # only finalizers keep it
            if life.stage in (PodStage.OVER, PodStage.REFUSED):
                life.stage = PodStage.REMOVED
                self._now_due.append(Remove(key, pod.metadata.uid))
            elif life.stage is not PodStage.STOPPING or _grace(pod) != _grace(old):
                self._stop(key, life, now)
        elif (
            life.counted is not None
            and is_resized(life.counted, pod)
            and pod.metadata.generation != old.metadata.generation
        ):
            self._resize(key, life)
            if life.stage is PodStage.RUNNING:
                self._now_due.append(self._write(key, life, life.doing(), now))
        elif life.stage is PodStage.RUNNING and (
            pod.metadata.generation != old.metadata.generation or lifecycle.gates_open(pod) != lifecycle.gates_open(old)
        ):
            # kubectl waits for observedGeneration even if nothing else changes.
            self._now_due.append(self._write(key, life, life.doing(), now))
        if pod.metadata.annotations != old.metadata.annotations:
            life.follow(pod)
        if key in self._held_up and life.stage is PodStage.STARTING:
            life.at = min(life.at, now)
        self._plan(key, life)

    def _stop(self, key: str, life: SimulatedPod, now: float) -> None:
        if life.stage in (PodStage.RUNNING, PodStage.BACKING_OFF):
            self._now_due += self._of_containers(life.pod, "Killing", "Stopping container {}")
        life.stop(now)

    def _take_step(self, key: str, life: SimulatedPod, now: float) -> Iterator[Action]:
        pod = life.pod
        _, step = life.next_step()
        if step is PodStep.START:
            if life.stage is PodStage.STARTING:
                obstacle = self._prepare(life)
                if isinstance(obstacle, NotMounted | NotPrepared):
                    yield from self._hold_up(key, life, obstacle, now)
                    return
                self._held_up.pop(key, None)
                yield from obstacle
            life.start(now) if life.stage is PodStage.STARTING else life.start_again(now)
            self.started += not life.restarts
            yield self._write(key, life, life.doing(), now)
            yield from self._of_containers(pod, "Started", "Container started")
        elif step is PodStep.GET_READY:
            life.is_ready = True
            yield self._write(key, life, life.doing(), now)
        elif step is PodStep.REFUSE and life.refusal is not None:
            self._end(life)
            yield WriteStatus(key, pod.metadata.uid, lifecycle.rejected_status(pod, life.refusal, now))
        elif step is PodStep.SHUT_DOWN:
            ended = life.shut_down_state(now)
            self._end(life)
            write = self._write(key, life, ended, now)
            lifecycle.report_disruption(write.status, pod, now)
            yield write
        elif step is PodStep.OVERDUE:
            yield ReportEvent(pod, "Normal", *lifecycle.DEADLINE_EXCEEDED)
            ended = life.ended(now, TERMINATED, lifecycle.DEADLINE_EXCEEDED)
            self._end(life)
            yield self._write(key, life, ended, now)
        elif step is PodStep.REMOVE:
            if pod.metadata.finalizers:
                yield self._write(key, life, life.stopped(now), now)
            self._end(life)
            life.stage = PodStage.REMOVED
            yield Remove(key, pod.metadata.uid)
        elif step is PodStep.EXIT:
            yield from self._exit(key, life, now)

    def _prepare(self, life: SimulatedPod) -> NotMounted | NotPrepared | list[ReportDevices]:
        """Mount volumes, then prepare claims on devices. Return what to report of devices, or why it cannot be done."""
        pod = life.pod
        missing = self._mounts.missing(pod, self._nodes[pod.spec.nodeName])
        if missing is not None:
            return missing
        prepared = self._claims.prepare(pod)
        if isinstance(prepared, NotPrepared):
            return prepared
        return [ReportDevices(claim) for claim in prepared] if self._reports else []

    def _hold_up(
        self, key: str, life: SimulatedPod, obstacle: NotMounted | NotPrepared, now: float
    ) -> Iterable[Action]:
        """Plan the next attempt to start.

        The first time there is no event, because claims and volumes may be seen a moment after the pod.
        """
        delay, due = self._held_up.get(key, (0.0, now))
        if now < due:
            life.at = due
            return []
        if isinstance(obstacle, NotPrepared):
            wait = _PREPARE_DELAY if delay else _FIRST_MOUNT_DELAY
        else:
            wait = min(2 * delay, _MAX_MOUNT_DELAY) or _FIRST_MOUNT_DELAY
        life.at = now + wait
        self._held_up[key] = wait, life.at
        if not delay:
            return [self._write(key, life, life.doing(), now)]
        return [ReportEvent(life.pod, "Warning", *obstacle)]

    def _exit(self, key: str, life: SimulatedPod, now: float) -> Iterator[Action]:
        pod = life.pod
        if not life.restarts_after_exit():
            ended = life.ended(now, life.script.exit_code)
            self._end(life)
            yield self._write(key, life, ended, now)
            return
        if life.exit(now):
            yield from self._of_containers(pod, "Started", "Container started")
        else:
            text = f"Back-off restarting failed container {{}} in pod {lifecycle.described(pod)}"
            yield from self._of_containers(pod, "BackOff", text, kind="Warning")
        yield self._write(key, life, life.doing(), now)

    def _of_containers(self, pod: Pod, reason: str, text: str, kind: str = "Normal") -> Iterable[ReportEvent]:
        if not self._reports:
            return ()
        return [
            ReportEvent(pod, kind, reason, text.format(container.name), container.name)
            for container in pod.spec.containers
        ]

    def _write(self, key: str, life: SimulatedPod, doing: Doing, now: float) -> WriteStatus:
        host = host_address(self._nodes.get(life.pod.spec.nodeName))
        status = lifecycle.pod_status(life.pod, doing, host, life.address, now)
        if life.resize is not None:
            report_resize(status, life.pod, life.resize, now)
        return WriteStatus(key, life.pod.metadata.uid, status)

    def _resize(self, key: str, life: SimulatedPod) -> None:
        """Give containers what the spec says, if the node has room; else try again when a pod has gone."""
        name, counted = life.pod.spec.nodeName, life.counted
        if counted is None or name not in self._loads:
            return
        life.resize = resize(counted, life.pod, self._nodes[name], self._loads[name])
        life.counted = life.resize.allocated
        if life.resize.problem is not None:
            self._deferred.setdefault(name, set()).add(key)

    def _resize_deferred(self, now: float) -> None:
        """Try again what did not fit on nodes that pods have left."""
        freed, self._freed = self._freed, set()
        for key in sorted(key for name in freed for key in self._deferred.pop(name, ())):
            life = self._lives.get(key)
            if life is not None and life.counted is not None:
                self._resize(key, life)
                if life.stage is PodStage.RUNNING:
                    self._now_due.append(self._write(key, life, life.doing(), now))

    def _plan(self, key: str, life: SimulatedPod) -> None:
        """Plan the pod's next step instead of any planned before."""
        life.version += 1
        at, _ = life.next_step()
        if at != NEVER:
            heapq.heappush(self._planned, (at, next(self._numbers), key, life.version))

    def _end(self, life: SimulatedPod) -> None:
        """Free the node's resources and mark the pod finished."""
        self._release(life)
        life.stage, life.is_ready = PodStage.OVER, False

    def _release(self, life: SimulatedPod) -> None:
        self._shutdowns.touch(life.pod.spec.nodeName)
        load = self._loads.get(life.pod.spec.nodeName)
        if load is not None and life.counted is not None:
            load.remove(life.counted)
            life.counted = None
            if life.pod.spec.nodeName in self._deferred:
                self._freed.add(life.pod.spec.nodeName)
        self._claims.unprepare(life.pod)


def _precedence(named: tuple[str, Pod]) -> tuple[bool, str, str]:
    key, pod = named
    return pod.status.phase not in ("Running", *FINISHED_PHASES), pod.metadata.creationTimestamp or "", key


def _grace(pod: Pod) -> int | None:
    return pod.metadata.deletionGracePeriodSeconds
