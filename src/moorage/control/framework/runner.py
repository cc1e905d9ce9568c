"""Run controllers: take keys from their queues, ask them for plans, send the requests to the API server.

A worker takes one key at a time, and no two workers have the same key. A key whose writes are not in the world yet
waits for them (`pending_writes`). Refused requests are retried with growing delays. Each kind is watched once, however
many controllers watch it; no key is reconciled before every kind has been listed. Controllers are given the time of
day; waiting goes by the event loop's clock. Kubernetes: kube-controller-manager, the workers of pkg/controller.
"""

import asyncio
import random as randomness
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from time import perf_counter
from types import MappingProxyType
from typing import Protocol

import msgspec

from moorage.client.informer import Delta, Informer
from moorage.client.lease_fence import LeaseRanOut
from moorage.client.protocol import Client, NotSent, Object, Unreachable
from moorage.control.framework.actions import Action, Create, Delete, Evict, Patch, Plan, Question, Report, Update
from moorage.control.framework.controller import Controller
from moorage.control.framework.custom_kinds import CustomInformers
from moorage.control.framework.pending_writes import Expectations, UncertainWrites, find
from moorage.control.framework.steps import SLICE_SECONDS, take_turns
from moorage.control.framework.work_queue import ControllerMetrics, WorkQueue
from moorage.control.framework.world import World
from moorage.match.evaluation.accounts import Undecided
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, CustomKind, Kind
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics
from moorage.telemetry.watchdog import Locals, Operation, operation

_LOG = get_logger("controller-manager")
_MAX_DELAY_UNREACHED = 10.0
#: Actions that are carried out concurrently if planned in a row, and the size of the first batch.
_FIRST_BATCH: dict[type[Action], int] = {Create: 1, Delete: 64}
_MAX_BATCH = 256


def loop_time() -> float:
    """Return the event loop's time; outside of a loop, where metrics may be read, the monotonic clock's."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return time.monotonic()


class Recorder(Protocol):
    """Where events go. `rewrite` writes the one Event of a name; `named` returns a recorder for another component."""

    def report(self, involved: dict[str, object], kind: str, reason: str, message: str) -> None: ...

    def rewrite(
        self, involved: dict[str, object], kind: str, reason: str, message: str, event: str, count: int
    ) -> None: ...

    def named(self, component: str) -> "Recorder": ...


def _reconcile(local: Locals) -> Operation:
    return Operation(f"reconcile {local['self'].controller.name}", {"key": local["key"]})


class Runner:
    """Workers for one controller. `seen` returns the revision up to which the world knows a kind."""

    def __init__(
        self,
        controller: Controller,
        client: Client,
        world: World,
        recorder: Recorder,
        seen: Callable[[Kind], int],
        metrics: ControllerMetrics,
        random: Callable[[], float],
        clock: Callable[[], float],
    ) -> None:
        self.controller, self.queue = controller, WorkQueue(random)
        self._client, self._world, self._recorder = client, world, recorder
        self._clock = clock
        metrics.queues[controller.name] = self.queue
        self._waited, self._worked = metrics.waited.labels(controller.name), metrics.worked.labels(controller.name)
        self._refusals = metrics.refused.labels(controller.name)
        self._expectations = Expectations(world, seen)
        self._uncertain = UncertainWrites(client)
        self._unreached: set[str] = set()  # keys whose last request did not reach the server
        self._loop: asyncio.AbstractEventLoop | None = None
        self._at_work: set[asyncio.Task[None]] = set()
        self._timer: asyncio.Handle | None = None
        self._has_new = False
        self._rings_at = float("inf")  # kept here: uvloop's handle of what is due at once does not know its time

    def changed(self, kind: Kind, old: Object | None, new: Object | None, now: float) -> None:
        """Queue the keys that a change concerns; `noticed` has to follow."""
        for key in self.controller.concerns(kind, old, new, self._world):
            self.queue.add(key, now)
            self._has_new = True

    def noticed(self) -> None:
        """Start to work on what changes have queued, once for all that came together."""
        if self._has_new:
            self._has_new = False
            self._wake()

    def wake(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.queue.add(key, loop_time())
        self._wake()

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._wake()
        try:
            await self._loop.create_future()
        finally:
            self._loop = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer, self._rings_at = None, float("inf")
            for task in self._at_work:
                task.cancel()
            await asyncio.gather(*self._at_work, return_exceptions=True)

    def _wake(self) -> None:
        """Start workers for the keys that are ready, up to the limit, and a timer for the next that is due."""
        if self._loop is None:
            return
        self.queue.take_due(self._loop.time())
        for _ in range(min(len(self.queue), self.controller.workers - len(self._at_work))):
            task = self._loop.create_task(self._work())
            self._at_work.add(task)
            task.add_done_callback(self._rested)
        due = self.queue.next_due()
        if due is not None and due < self._rings_at:
            if self._timer is not None:
                self._timer.cancel()
            self._rings_at = due
            self._timer = self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer, self._rings_at = None, float("inf")
        self._wake()

    def _rested(self, task: "asyncio.Task[None]") -> None:
        self._at_work.discard(task)
        self._wake()

    @operation(_reconcile)
    async def _work(self) -> None:
        """Reconcile one key after another until none is ready; other tasks work every two milliseconds."""
        until = perf_counter() + SLICE_SECONDS
        while (key := self.queue.pop(loop_time())) is not None:
            began = loop_time()
            self._waited.observe(self.queue.waited(key, began))
            try:
                await self._reconcile(key)
            except Exception:
                _LOG.exception("Reconciling failed", controller=self.controller.name, key=key)
                self._retry(key)
            finally:
                self._worked.observe(loop_time() - began)
                self.queue.done(key)
            if perf_counter() >= until:
                await asyncio.sleep(0)
                until = perf_counter() + SLICE_SECONDS

    async def _reconcile(self, key: str) -> None:
        if key in self._uncertain and not await self._resolve_uncertain(key):
            self._retry(key)
            return
        now = loop_time()
        if self._expectations.is_waiting(key, now):
            self.queue.add_after(key, 0.05, now)
            return
        try:
            plan = await self._plan(key)
        except Undecided as undecided:
            self.queue.forget(key)
            undecided.when_ready((id(self), key), partial(self._decided, key))
            return
        if plan is None or not await self._carry_out(key, plan) or plan.retries:
            self._retry(key)
            return
        self.queue.forget(key)
        now = loop_time()
        if plan.actions:
            self.controller.done(key, plan, self._clock())
        if plan.again_after is not None:
            self.queue.add_after(key, plan.again_after, now)
        for other in plan.wakes:
            self.queue.add(other, now)

    def _decided(self, key: str) -> None:
        """Reconcile a key again, because expensive expressions have been evaluated."""
        self.queue.add(key, loop_time())
        self._wake()

    async def _plan(self, key: str) -> Plan | None:
        """Return the plan for a key; None if a question could not be answered."""
        now = self._clock()
        questions = self.controller.questions(key, self._world, now)
        if not questions:
            return await take_turns(self.controller.steps(key, self._world, now))
        try:
            answers: dict[Question, Sequence[Object]] = {}
            while questions:
                for question in questions:
                    answers[question] = await self._look_up(question)
                questions = self.controller.further_questions(key, self._world, answers, self._clock())
        except (ApiError, Unreachable) as error:
            _LOG.warning("Looking something up failed", controller=self.controller.name, key=key, err=str(error))
            self._note_unreached(key, error)
            return None
        return await take_turns(self.controller.decide_in_steps(key, self._world, answers, self._clock()))

    async def _look_up(self, question: Question) -> Sequence[Object]:
        kind, namespace, name, review, path = question
        if path:
            try:
                document = await self._client.read(path)
            except ApiError as error:
                document = error.status
            return (Object(kind, question.key, 0, raw=document),)
        if review:
            return (await self._client.create(kind, msgspec.json.decode(review)),)
        if not name:
            try:
                return (await self._client.list_all(kind, namespace)).items
            except ApiError as error:
                if error.code != 404:
                    raise
                return ()  # an older or smaller API server, which does not serve the kind
        return await find(self._client, kind, name, namespace)

    def _retry(self, key: str) -> None:
        """Queue a key with a growing delay, which stays short while the API server is unreachable."""
        max_delay = _MAX_DELAY_UNREACHED if key in self._unreached else None
        self._unreached.discard(key)
        self.queue.add_failed(key, loop_time(), max_delay)

    def _note_unreached(self, key: str, error: Exception) -> None:
        if isinstance(error, Unreachable):
            self._unreached.add(key)

    async def _resolve_uncertain(self, key: str) -> bool:
        """Look up what became of writes without an answer. Return whether that was possible."""
        try:
            found = await self._uncertain.look(key)
        except (ApiError, Unreachable) as error:
            _LOG.debug(2, "Looking something up failed", controller=self.controller.name, key=key, err=str(error))
            self._note_unreached(key, error)
            return False
        self._expectations.expect_found(key, found, loop_time())
        return True

    # -- carrying out -------------------------------------------------------------------------------------------------

    async def _carry_out(self, key: str, plan: Plan) -> bool:
        """Carry out a plan up to the first refusal. Return whether everything was done."""
        waiting = deque(plan.actions)
        refusals: list[Action] = []
        while waiting:
            together = [waiting.popleft()]
            action_type = type(together[0])
            while action_type in _FIRST_BATCH and waiting and type(waiting[0]) is action_type:
                together.append(waiting.popleft())
            if not await self._do_all(key, together, refusals):
                for action in refusals:
                    await self._do(key, action, None)
                return False
        return True

    async def _do_all(self, key: str, actions: Sequence[Action], refusals: list[Action]) -> bool:
        """Carry out actions in growing batches: an invalid template is refused once, not once per replica."""
        if len(actions) == 1:
            return await self._do(key, actions[0], refusals)
        start, size = 0, _FIRST_BATCH[type(actions[0])]
        while start < len(actions):
            batch = actions[start : start + size]
            done = await asyncio.gather(*(self._do(key, action, refusals) for action in batch))
            if not all(done):
                return False
            start, size = start + size, min(size * 2, _MAX_BATCH)
        return True

    async def _do(self, key: str, action: Action, refusals: list[Action] | None) -> bool:
        """Carry out one action. `refusals` collects what to do if it is refused; None to do nothing then."""
        if isinstance(action, Report):
            self._report(action)
            return True
        try:
            await self._request(key, action)
        except ApiError as error:
            return self._refused(key, action, error, refusals)
        except Unreachable as error:
            event = "The Lease has run out" if isinstance(error, LeaseRanOut) else "The API server cannot be reached"
            _LOG.warning(event, controller=self.controller.name, err=str(error))
            self._note_unreached(key, error)
            if isinstance(action, Create | Delete) and not isinstance(error, NotSent):
                self._uncertain.add(key, action)
            return False
        return True

    def _report(self, report: Report, name: str = "") -> None:
        if report.event:
            self._recorder.rewrite(*report)
            return
        message = report.message.replace("{name}", name) if name else report.message
        self._recorder.report(report.regarding, report.type, report.reason, message)

    async def _request(self, key: str, action: Action) -> None:
        client = self._client
        if isinstance(action, Delete | Evict):
            kind = KINDS.POD if isinstance(action, Evict) else action.kind
            if isinstance(action, Evict):
                await client.evict(action.namespace, action.name, action.uid)
            else:
                await client.delete(kind, action.name, action.namespace, **action.demands)
            self._expectations.expect_deletion(key, kind, action.key, action.uid, loop_time())
            if action.report is not None:
                self._report(action.report)
            return
        if isinstance(action, Create):
            written = await client.create(action.kind, action.document, action.namespace)
        elif isinstance(action, Update):
            written = await client.update(action.kind, action.document, subresource=action.subresource)
            while action.then is not None:
                action = action.then.following(written.revision)
                written = await client.update(action.kind, action.document, subresource=action.subresource)
        else:
            assert isinstance(action, Patch)
            kind, namespace, name, patch, subresource, patch_type = action
            written = await client.patch(kind, name, namespace, patch, subresource=subresource, patch_type=patch_type)
        self._expectations.expect_revision(key, action.kind, written.revision, loop_time())
        if isinstance(action, Create) and action.report is not None:
            self._report(action.report, written.name)

    def _refused(self, key: str, action: Action, error: ApiError, refusals: list[Action] | None) -> bool:
        """Ask the controller what to do about a refusal. Deleting what is gone already counts as done."""
        if isinstance(action, Delete | Evict) and error.code == 404:
            return True
        self._refusals.inc()
        if refusals is not None:
            is_first = not refusals
            for answer in self.controller.refused(key, action, error, self._world):
                if isinstance(answer, Report):
                    self._report(answer)
                elif is_first:
                    refusals.append(answer)
        if error.reason != "Conflict":
            _LOG.debug(2, "Refused", controller=self.controller.name, key=key, err=error.message)
        return False


class ControllerManager:
    """Informers, the world they fill, and a runner for each controller. `clock` is the time of day."""

    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        controllers: Iterable[Controller],
        metrics: Metrics | None = None,
        *,
        clients: Mapping[str, Client] = MappingProxyType({}),
        clock: Callable[[], float] = time.time,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        """`clients` are those of controllers that act under an identity of their own, by their names."""
        self.world = World()
        counted = ControllerMetrics(metrics or Metrics(), loop_time)
        self.runners: list[Runner] = []
        for controller in controllers:
            named = recorder.named(controller.component or controller.name)
            own = clients.get(controller.name, client)
            self.runners.append(Runner(controller, own, self.world, named, self._seen, counted, random, clock))
        kinds = dict.fromkeys(kind for runner in self.runners for kind in runner.controller.watches)
        self._of_custom = [runner for runner in self.runners if runner.controller.watches_custom]
        if self._of_custom:
            kinds[KINDS.CUSTOM_RESOURCE_DEFINITION] = None
        self._custom = CustomInformers(client, self.world, self._custom_changed, self._custom_added)
        self.informers = {kind: Informer(client, kind, self._handler(kind)) for kind in kinds}

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for informer in self.informers.values():
                    group.create_task(informer.run())
                for informer in self.informers.values():
                    await informer.synced()
                _LOG.info("Caches are synced", controllers=len(self.runners))
                for runner in self.runners:
                    group.create_task(runner.run())
        finally:
            await self._custom.close()

    @property
    def has_synced(self) -> bool:
        return all(informer.has_synced for informer in self.informers.values())

    def _seen(self, kind: Kind) -> int:
        informer = self.informers.get(kind)
        if informer is not None:
            return informer.revision
        seen = self._custom.seen(kind) if isinstance(kind, CustomKind) else None
        return 1 << 63 if seen is None else seen

    def _custom_changed(self, kind: Kind, deltas: list[Delta]) -> None:
        now = loop_time()
        for delta in deltas:
            self.world.apply(kind, delta)
            for runner in self._of_custom:
                runner.changed(kind, *delta, now)
        for runner in self._of_custom:
            runner.noticed()

    def _custom_added(self, kind: CustomKind) -> None:
        for runner in self._of_custom:
            runner.wake(runner.controller.kind_added(kind))

    def _handler(self, kind: Kind) -> Callable[[list[Delta]], None]:
        watching = [runner for runner in self.runners if kind in runner.controller.watches]

        def changed(deltas: list[Delta]) -> None:
            now = loop_time()
            for delta in deltas:
                self.world.apply(kind, delta)
                for runner in watching:
                    runner.changed(kind, *delta, now)
            for runner in watching:
                runner.noticed()
            if kind is KINDS.CUSTOM_RESOURCE_DEFINITION and self._of_custom:
                self._custom.definitions_changed(deltas)

        return changed
