"""The real controllers, carried out synchronously: their keys, their plans, and the verbs that their actions name.

A controller is started when there is something for it to do, and is then told of every object there is, as an
informer's first list does: a plan of Deployments does not pay for Jobs and budgets. `Periodic` looks, such as the node
lifecycle controller's pulse, happen when time passes them, but time is not advanced for their sake.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from moorage.client.protocol import Object, PatchType
from moorage.control.framework.actions import Action, Create, Delete, Evict, Patch, Plan, Question, Report, Update
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.work_queue import WorkQueue
from moorage.control.pod_autoscaler.controller import PodAutoscalerController
from moorage.control.registry import CONTROLLERS
from moorage.match.devices.tolerations import has_evicting_taint
from moorage.match.evaluation.accounts import Evaluations, Undecided
from moorage.model.api_error import ApiError
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.well_known.taints import NO_EXECUTE
from moorage.plan.simulation.api import SimulatedApi
from moorage.telemetry.metrics import Metrics

TAINT_EVICTION, POD_GARBAGE = "taint-eviction-controller", "pod-garbage-collector-controller"
NODE_LIFECYCLE, GARBAGE = "node-lifecycle-controller", "garbage-collector-controller"
DEVICE_TAINT_EVICTION = "device-taint-eviction-controller"
#: Those that may evict a pod long after anything happened.
EVICTIONS = (TAINT_EVICTION, DEVICE_TAINT_EVICTION)
EPHEMERAL, RESOURCE_CLAIM = "ephemeral-volume-controller", "resourceclaim-controller"
CRON_JOB = "cronjob-controller"
AUTOSCALER, _RESCALED = "horizontal-pod-autoscaler-controller", "SuccessfulRescale"
#: Controllers that change nothing a plan shows.
_LEFT_OUT = frozenset({"serviceaccount-controller"})
_PULSE = ""
_COLLECTORS = frozenset({POD_GARBAGE, GARBAGE})


class Scaled(NamedTuple):
    """One scaling of an autoscaler, named by its key, at the simulation's time."""

    autoscaler: str
    time: float
    before: int
    after: int
    reason: str


class ControllerLoop:
    """One controller with its queue of keys."""

    def __init__(
        self, controller: Controller, api: SimulatedApi, random: Random, told: Callable[[Report], None]
    ) -> None:
        self.controller, self.queue = controller, WorkQueue(random.random)
        self.periodic_due = float("inf")
        #: Keys whose last create was refused, and what the controller's event says of it.
        self.refused_creates: dict[str, str] = {}
        self._api, self._told = api, told

    def changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        self.add(self.controller.concerns(kind, old, new, self._api.world))

    def add(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.queue.add(key, self._api.clock.now)

    def pulse(self) -> None:
        """Look at what is looked at periodically."""
        self.periodic_due = float("inf")
        self.queue.add(_PULSE, self._api.clock.now)

    def work(self) -> bool:
        """Reconcile the keys that are due. Return whether there were any."""
        api, now, worked = self._api, self._api.clock.now, False
        api.actor = self.controller.name
        while (key := self.queue.pop(now)) is not None:
            worked = True
            self._reconcile(key, now)
            self.queue.done(key)
        api.actor = ""
        return worked

    def _reconcile(self, key: str, now: float) -> None:
        controller, world = self.controller, self._api.world
        questions = controller.questions(key, world, now)
        try:
            if questions:
                answers: dict[Question, Sequence[Object]] = {}
                while questions:
                    answers |= {one: self._look_up(one) for one in questions}
                    questions = controller.further_questions(key, world, answers, now)
                plan = controller.decide(key, world, answers, now)
            else:
                plan = controller.reconcile(key, world, now)
        except Undecided:  # a budget is used up: as in a cluster, nothing is done without an answer
            self.queue.forget(key)
            return
        if not self._carry_out(key, plan.actions) or plan.retries:
            self.queue.add_failed(key, now)
            return
        self.queue.forget(key)
        self.refused_creates.pop(key, None)
        self._plan_ahead(key, plan, now)

    def _plan_ahead(self, key: str, plan: Plan, now: float) -> None:
        if plan.actions:
            self.controller.done(key, plan, now)
        if plan.again_after is not None:
            if key == _PULSE and plan.again_after > 0:
                self.periodic_due = now + plan.again_after
            else:
                self.queue.add_after(key, plan.again_after, now)
        for other in plan.wakes:
            self.queue.add(other, now)

    def _look_up(self, question: Question) -> Sequence[Object]:
        kind, namespace, name, _, path = question
        if path:
            try:
                document = self._api.read(path)
            except ApiError as error:
                document = error.status
            return (Object(kind, question.key, 0, raw=document),)
        if not name:
            return self._api.world.in_namespace(kind, namespace) if namespace else list(self._api.world.all(kind))
        found = self._api.world.get(kind, question.key)
        return () if found is None else (found,)

    def _carry_out(self, key: str, actions: Sequence[Action]) -> bool:
        """Carry out the actions up to the first that is refused, of which the controller is told."""
        if self._evicts(actions):
            return True
        for action in actions:
            try:
                self._do(action)
            except ApiError as error:
                if isinstance(action, Delete | Evict) and error.code == 404:
                    continue
                consequences = self.controller.refused(key, action, error, self._api.world)
                if isinstance(action, Create):
                    said = (one.message for one in consequences if isinstance(one, Report))
                    self.refused_creates[key] = next(said, error.message)
                for consequence in consequences:
                    try:
                        self._do(consequence)
                    except ApiError:
                        break
                return False
        return True

    def _evicts(self, actions: Sequence[Action]) -> bool:
        """Carry out a plan that gives a pod a condition and deletes it; return False if it is another plan."""
        if len(actions) != 2:
            return False
        patch, delete = actions
        if not isinstance(patch, Patch) or not isinstance(delete, Delete) or delete.kind is not KINDS.POD:
            return False
        is_of_pod = (
            patch.kind is KINDS.POD and patch.subresource == "status" and patch.patch_type is PatchType.STRATEGIC
        )
        if not is_of_pod or (patch.name, patch.namespace) != (delete.name, delete.namespace):
            return False
        return self._api.delete_with_condition(delete.key, patch.patch, delete.demands)

    def _do(self, action: Action) -> None:
        api = self._api
        if isinstance(action, Report):
            self._told(action)
        elif isinstance(action, Create):
            api.create(action.kind, action.document, action.namespace)
        elif isinstance(action, Update):
            written = api.update(action.kind, action.document, action.subresource)
            while action.then is not None:
                action = action.then.following(written.revision)
                written = api.update(action.kind, action.document, action.subresource)
        elif isinstance(action, Patch):
            api.patch(action.kind, action.name, action.namespace, action.patch, action.subresource, action.patch_type)
        elif isinstance(action, Delete):
            api.delete(action.kind, action.name, action.namespace, **action.demands)
            if action.report is not None:
                self._told(action.report)
        elif isinstance(action, Evict):
            api.evict(action.namespace, action.name)
            if action.report is not None:
                self._told(action.report)


class Controllers:
    """The controllers that have been started, in the order of the registry."""

    def __init__(
        self,
        api: SimulatedApi,
        gates: GateSet,
        random: Random,
        told: Callable[[Report], None],
        evaluations: Evaluations | None = None,
        *,
        follows_cron: bool,
    ) -> None:
        self._api, self._random, self._told_on = api, random, told
        #: What autoscalers have scaled, and the replicas that one has just written: its report follows.
        self.scaled: list[Scaled] = []
        self._just_scaled = 0, 0
        self._context = ControllerContext(
            gates, Metrics(), random.random, simulates_storage=True, evaluations=evaluations
        )
        left_out = _LEFT_OUT if follows_cron else _LEFT_OUT | {CRON_JOB}
        self._rows = {row.name: row for row in CONTROLLERS if row.name not in left_out}
        self.loops: dict[str, ControllerLoop] = {}
        self._watching: dict[Kind, list[ControllerLoop]] = {}
        self._started_by: dict[str, list[str]] = {}
        for name, row in self._rows.items():
            for kind in row.started_by:
                self._started_by.setdefault(kind, []).append(name)
        #: Nodes that were in the cluster at some time: pods on others are not collected for want of their node.
        self.known_nodes: set[str] = set()
        self._has_collectors = False
        #: Owners that the input does not have and that nothing stands in for: their dependents are let be.
        self.absent_owners: set[str] = set()
        api.listeners.append(self._changed)

    def _told(self, report: Report) -> None:
        api, regarding = self._api, report.regarding
        if report.reason == _RESCALED and api.actor == AUTOSCALER:
            key = f"{regarding['namespace']}/{regarding['name']}"
            reason = report.message.partition("reason: ")[2]
            self.scaled.append(Scaled(key, api.clock.now, *self._just_scaled, reason))
        self._told_on(report)

    def _note_scaling(self, old: Object | None, new: Object | None) -> None:
        """Remember the replicas of an object, if they were changed."""
        before, after = (getattr(getattr(one and one.view, "spec", None), "replicas", None) for one in (old, new))
        if before != after and isinstance(after, int):
            self._just_scaled = (1 if before is None else before), after

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        if self._api.actor == AUTOSCALER:
            self._note_scaling(old, new)
        if kind is KINDS.POD and not self._has_collectors and self._is_plain(new):
            for loop in self._watching.get(KINDS.POD, ()):  # the path of nearly all changes: none is started by them
                if keys := loop.controller.concerns(KINDS.POD, old, new, self._api.world):
                    loop.add(keys)
            return
        started = self._start_for(kind, old, new)
        for loop in self._watching.get(kind, ()):
            if loop not in started and not (
                loop.controller.name in _COLLECTORS and self._is_exempt(loop.controller.name, kind, new or old)
            ):
                loop.changed(kind, old, new)

    def _is_plain(self, pod: Object | None) -> bool:
        """Return whether no controller is started by a pod that changed, or is gone."""
        if pod is None:
            return EPHEMERAL not in self.loops and RESOURCE_CLAIM not in self.loops
        view: Pod = pod.view
        spec = view.spec
        return (
            not spec.volumes
            and not spec.resourceClaims
            and (view.metadata.deletionTimestamp is None or bool(spec.nodeName))
        )

    def _start_for(self, kind: Kind, old: Object | None, new: Object | None) -> list[ControllerLoop]:
        """Start the controllers that this change is the first to concern."""
        names: list[str] = []
        if new is not None:
            names += self._started_by.pop(kind.name, ())
        if kind is KINDS.NODE:
            if new is not None:
                self.known_nodes.add(new.name)
                node: Node = new.view
                if any(taint.effect == NO_EXECUTE for taint in node.spec.taints):
                    names.append(TAINT_EVICTION)
            else:
                names.append(POD_GARBAGE)
        if kind is KINDS.RESOURCE_SLICE and new is not None and has_evicting_taint(new.view):
            names.append(DEVICE_TAINT_EVICTION)
        if kind is KINDS.POD:
            if new is not None and any(volume.ephemeral is not None for volume in new.view.spec.volumes):
                names.append(EPHEMERAL)
            if new is not None and new.view.spec.resourceClaims:
                names.append(RESOURCE_CLAIM)
            if new is not None and new.view.metadata.deletionTimestamp is not None and not new.view.spec.nodeName:
                names.append(POD_GARBAGE)
            if new is None and (EPHEMERAL in self.loops or RESOURCE_CLAIM in self.loops):
                names.append(GARBAGE)
        elif new is None or new.view.metadata.deletionTimestamp is not None:
            names.append(GARBAGE)
            if kind is KINDS.NAMESPACE:
                names.append("namespace-controller")
        return [self._start(name) for name in names if name in self._rows and name not in self.loops]

    def start_collectors(self) -> None:
        """Start at once what the first node that goes would start, so that forks of this process have it."""
        for name in (POD_GARBAGE, GARBAGE):
            if name in self._rows and name not in self.loops:
                self._start(name)

    def start_beside(self, make: Callable[[ControllerContext], Controller]) -> Controller:
        """Start a controller that the registry does not have, after all others; return it."""
        controller = make(self._context)
        self._run(controller)
        return controller

    def _start(self, name: str) -> ControllerLoop:
        return self._run(self._rows[name].make(self._context))

    def _run(self, controller: Controller) -> ControllerLoop:
        name = controller.name
        loop = ControllerLoop(controller, self._api, self._random, self._told)
        self.loops[name] = loop
        self._has_collectors = self._has_collectors or name in _COLLECTORS
        order = {row.name: number for number, row in enumerate(CONTROLLERS)}
        self.loops = dict(sorted(self.loops.items(), key=lambda pair: order.get(pair[0], len(order))))
        for kind in controller.watches:
            self._watching.setdefault(kind, []).append(loop)
            for found in self._api.world.all(kind):
                if not self._is_exempt(name, kind, found):
                    loop.changed(kind, None, found)
        return loop

    def _is_exempt(self, controller: str, kind: Kind, found: Object | None) -> bool:
        """Return whether a collector must not see a pod whose node or owner the input merely does not have."""
        if kind is not KINDS.POD or found is None:
            return False
        if controller == POD_GARBAGE:
            node = found.view.spec.nodeName
            return bool(node) and node not in self.known_nodes
        return controller == GARBAGE and any(
            owner.uid in self.absent_owners for owner in found.view.metadata.ownerReferences
        )

    def work(self) -> bool:
        """Let every controller work until none has anything to do now. Return whether any had."""
        happened, worked = False, True
        while worked:
            worked = False
            for loop in list(self.loops.values()):
                worked = loop.work() or worked
            happened = happened or worked
        return happened

    def refused_creates(self) -> Iterator[tuple[Kind, str, str]]:
        """Return the kind and key of every object whose controller could not create something, and why."""
        for loop in self.loops.values():
            for key, message in loop.refused_creates.items():
                yield loop.controller.watches[0], key, message

    def retry_refused(self) -> None:
        """Let controllers try at once what was refused, which they do by themselves within a quarter of an hour."""
        for loop in self.loops.values():
            loop.add(list(loop.refused_creates))

    @property
    def scales(self) -> bool:
        """Whether an autoscaler may still change something although nothing else does."""
        controller = self._autoscalers()
        return controller is not None and not controller.is_at_rest

    def look_at_autoscalers(self) -> None:
        """Let autoscalers find out once more whether they have what they ask for."""
        if (controller := self._autoscalers()) is not None:
            controller.disturb()

    def _autoscalers(self) -> PodAutoscalerController | None:
        loop = self.loops.get(AUTOSCALER)
        found = loop.controller if loop is not None else None
        return found if isinstance(found, PodAutoscalerController) else None

    def next_time(self, only: tuple[str, ...] = (), but: tuple[str, ...] = ()) -> float:
        """Return when a key is due next, of some controllers, of all but some, or of all."""
        times = (
            loop.queue.next_due() for name, loop in self.loops.items() if (not only or name in only) and name not in but
        )
        return min((time for time in times if time is not None), default=float("inf"))
