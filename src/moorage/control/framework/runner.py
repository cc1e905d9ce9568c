"""One controller at work: keys from its queue, plans from its decisions, requests to the API server.

In: a controller, a client, a world that others keep up to date. Out: what was planned, done. Workers take one key
each, so that an object is never worked on twice at a time. A key whose writes have not been seen in the world yet
waits for them, so that nothing is made twice; if they do not come in time, it goes on without. What is refused is
tried again, later each time. Controllers are told the time of day; waiting goes by the event loop's clock, which
nobody sets. Kubernetes: the workers of pkg/controller, with expectations.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from moorage.client.protocol import Client, NotSent, Object, Unreachable
from moorage.control.framework.actions import Action, Create, Delete, Patch, Plan, Question, Report, Update
from moorage.control.framework.controller import Controller, HearsOfSuccess, Inquires, ManyHands
from moorage.control.framework.metrics import ControllerMetrics
from moorage.control.framework.uncertain_writes import UncertainWrites
from moorage.control.framework.work_queue import WorkQueue
from moorage.control.framework.world import World
from moorage.model.api_error import ApiError
from moorage.model.kinds import Kind
from moorage.telemetry.logs import get_logger

_LOG = get_logger("controller-manager")
#: How long the world may lag behind what a key has written; and behind what was found after the server was away,
#: when it takes a while until everything is watched again.
_PATIENCE, _LONG_PATIENCE = 10.0, 60.0
_MAX_DELAY_UNREACHED = 10.0
#: What is done together if it is planned in a row, and how many at first.
_TOGETHER: dict[type[Action], int] = {Create: 1, Delete: 64}
_LARGEST_BATCH = 256


def loop_time() -> float:
    """The event loop's clock, by which waiting goes; whoever reads metrics from elsewhere gets the one like it."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return time.monotonic()


class Recorder(Protocol):
    """Where events go."""

    def report(self, involved: dict[str, object], kind: str, reason: str, message: str) -> None: ...


@runtime_checkable
class NamedRecorders(Protocol):
    """A recorder that has others like it, one for each component that reports."""

    def named(self, component: str) -> Recorder: ...


class _Expected:
    """What a key has written and the world has not shown yet."""

    __slots__ = ("deleted", "revisions", "until")

    def __init__(self, until: float) -> None:
        self.until = until
        self.revisions: dict[Kind, int] = {}
        self.deleted: list[tuple[Kind, str, str]] = []


class Runner:
    """See the module. `seen` gives the revision up to which the world knows a kind."""

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
        workers: int = 8,
    ) -> None:
        self.controller, self.queue = controller, WorkQueue(random)
        self._client, self._world, self._recorder, self._seen = client, world, recorder, seen
        self._metrics, self._clock = metrics, clock
        self._workers = controller.workers if isinstance(controller, ManyHands) else workers
        self._hears = controller if isinstance(controller, HearsOfSuccess) else None
        self._inquires = controller if isinstance(controller, Inquires) else None
        self._expected: dict[str, _Expected] = {}
        self._doubts = UncertainWrites(client)
        self._unreached: set[str] = set()  # keys whose last request did not reach the server
        self._loop: asyncio.AbstractEventLoop | None = None
        self._at_work: set[asyncio.Task[None]] = set()
        self._timer: asyncio.Handle | None = None
        self._rings_at = float("inf")  # kept here: uvloop's handle of what is due at once does not know its time

    def changed(self, facts: Kind, old: Object | None, new: Object | None) -> None:
        """Something happened to an object of a kind that the controller watches."""
        now: float | None = None
        for key in self.controller.concerns(facts, old, new, self._world):
            now = loop_time() if now is None else now
            self.queue.add(key, now)
        if now is not None:
            self._wake()

    async def run(self) -> None:
        """Until cancelled."""
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

    @property
    def is_idle(self) -> bool:
        """Whether nothing is ready and nobody works."""
        return not len(self.queue) and not self.queue.longest_running(loop_time() + 1)

    def _wake(self) -> None:
        """As many workers as there are keys, up to the limit; and one look at the clock for what is due later."""
        if self._loop is None:
            return
        self.queue.take_due(self._loop.time())
        for _ in range(min(len(self.queue), self._workers - len(self._at_work))):
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

    async def _work(self) -> None:
        """One key after another, until none is ready."""
        while (key := self.queue.pop(loop_time())) is not None:
            began = loop_time()
            self._metrics.waited(self.controller.name, self.queue.waited(key, began))
            try:
                await self._reconcile(key)
            except Exception:
                _LOG.exception("Reconciling failed", controller=self.controller.name, key=key)
                self._retry(key)
            finally:
                self._metrics.worked(self.controller.name, loop_time() - began)
                self.queue.done(key)

    async def _reconcile(self, key: str) -> None:
        if key in self._doubts and not await self._clear_doubts(key):
            self._retry(key)
            return
        now = loop_time()
        if self._is_early(key, now):
            self.queue.add_after(key, 0.05, now)
            return
        plan = await self._plan(key)
        if plan is None or not await self._carry_out(key, plan):
            self._retry(key)
            return
        if plan.retries:
            self._retry(key)
            return
        self.queue.forget(key)
        now = loop_time()
        if plan.actions and self._hears is not None:
            self._hears.done(key, plan, self._clock())
        if plan.again_after is not None:
            self.queue.add_after(key, plan.again_after, now)
        for other in plan.wakes:
            self.queue.add(other, now)

    async def _plan(self, key: str) -> Plan | None:
        """None if a question could not be answered."""
        now = self._clock()
        questions = self._inquires.questions(key, self._world, now) if self._inquires is not None else ()
        if not questions or self._inquires is None:
            return self.controller.reconcile(key, self._world, now)
        try:
            answers = {question: await self._look_up(question) for question in questions}
        except (ApiError, Unreachable) as error:
            _LOG.warning("Looking something up failed", controller=self.controller.name, key=key, err=str(error))
            self._note_unreached(key, error)
            return None
        return self._inquires.decide(key, self._world, answers, self._clock())

    async def _look_up(self, question: Question) -> Sequence[Object]:
        facts, namespace, name = question
        if not name:
            return (await self._client.list_all(facts, namespace)).items
        try:
            return (await self._client.get(facts, name, namespace),)
        except ApiError as error:
            if error.code != 404:
                raise
            return ()

    def _retry(self, key: str) -> None:
        """Later each time, but soon after a server that was away is back."""
        most_delay = _MAX_DELAY_UNREACHED if key in self._unreached else None
        self._unreached.discard(key)
        self.queue.add_failed(key, loop_time(), most_delay)

    def _note_unreached(self, key: str, error: Exception) -> None:
        if isinstance(error, Unreachable):
            self._unreached.add(key)

    async def _clear_doubts(self, key: str) -> bool:
        """Find out what became of writes that were not answered; whether that was possible."""
        try:
            found = await self._doubts.look(key)
        except (ApiError, Unreachable) as error:
            _LOG.debug(2, "Looking something up failed", controller=self.controller.name, key=key, err=str(error))
            self._note_unreached(key, error)
            return False
        for facts, revision in found.revisions:
            self._expect(key, facts, revision)
        expected = self._expecting(key)
        expected.deleted += found.deleted
        expected.until = loop_time() + _LONG_PATIENCE
        return True

    def _is_early(self, key: str, now: float) -> bool:
        """Whether the world does not show yet what this key has written."""
        expected = self._expected.get(key)
        if expected is None:
            return False
        waits = now < expected.until and (
            any(self._seen(facts) < revision for facts, revision in expected.revisions.items())
            or any(self._is_there(*deleted) for deleted in expected.deleted)
        )
        if not waits:
            del self._expected[key]
        return waits

    def _is_there(self, facts: Kind, key: str, uid: str) -> bool:
        found = self._world.get(facts, key)
        if found is None:
            return False
        metadata = found.view.metadata
        return metadata.uid == uid and metadata.deletionTimestamp is None

    # -- carrying out -------------------------------------------------------------------------------------------------

    async def _carry_out(self, key: str, plan: Plan) -> bool:
        """Whether everything was done. The first refusal ends it; creates in a row, and deletes, are done together."""
        waiting = deque(plan.actions)
        refusals: list[Action] = []
        while waiting:
            together = [waiting.popleft()]
            kind = type(together[0])
            while kind in _TOGETHER and waiting and type(waiting[0]) is kind:
                together.append(waiting.popleft())
            if not await self._do_all(key, together, refusals):
                for action in refusals:
                    await self._do(key, action, None)
                return False
        return True

    async def _do_all(self, key: str, actions: Sequence[Action], refusals: list[Action]) -> bool:
        """A few creates at first: a template that is refused is refused once, and not once per replica."""
        if len(actions) == 1:
            return await self._do(key, actions[0], refusals)
        start, size = 0, _TOGETHER[type(actions[0])]
        while start < len(actions):
            batch = actions[start : start + size]
            done = await asyncio.gather(*(self._do(key, action, refusals) for action in batch))
            if not all(done):
                return False
            start, size = start + size, min(size * 2, _LARGEST_BATCH)
        return True

    async def _do(self, key: str, action: Action, refusals: list[Action] | None) -> bool:
        """`refusals` gets what is to be done about the first refusal; without it nobody is asked."""
        if isinstance(action, Report):
            self._report(action)
            return True
        try:
            await self._request(key, action)
        except ApiError as error:
            return self._refused(key, action, error, refusals)
        except Unreachable as error:
            _LOG.warning("The API server cannot be reached", controller=self.controller.name, err=str(error))
            self._note_unreached(key, error)
            if isinstance(action, Create | Delete) and not isinstance(error, NotSent):
                self._doubts.add(key, action)
            return False
        return True

    def _report(self, report: Report, name: str = "") -> None:
        message = report.message.replace("{name}", name) if name else report.message
        self._recorder.report(report.regarding, report.type, report.reason, message)

    async def _request(self, key: str, action: Action) -> None:
        client = self._client
        if isinstance(action, Create):
            made = await client.create(action.kind, action.document, action.namespace)
            self._expect(key, action.kind, made.revision)
            if action.report is not None:
                self._report(action.report, made.name)
        elif isinstance(action, Update):
            made = await client.update(action.kind, action.document, subresource=action.subresource)
            self._expect(key, action.kind, made.revision)
        elif isinstance(action, Patch):
            made = await client.patch(
                action.kind,
                action.name,
                action.namespace,
                action.patch,
                subresource=action.subresource,
                patch_type=action.patch_type,
            )
            self._expect(key, action.kind, made.revision)
        elif isinstance(action, Delete):
            await client.delete(
                action.kind,
                action.name,
                action.namespace,
                uid=action.uid,
                grace_seconds=action.grace_seconds,
                propagation=action.propagation,
                revision=action.revision,
            )
            where = f"{action.namespace}/{action.name}" if action.namespace else action.name
            self._expecting(key).deleted.append((action.kind, where, action.uid))
            if action.report is not None:
                self._report(action.report)

    def _refused(self, key: str, action: Action, error: ApiError, refusals: list[Action] | None) -> bool:
        """What is gone already need not be deleted; everything else is worth another look at the world."""
        if isinstance(action, Delete) and error.code == 404:
            return True
        self._metrics.refused(self.controller.name)
        if refusals is not None:
            is_first = not refusals
            for said in self.controller.refused(key, action, error, self._world):
                if isinstance(said, Report):
                    self._report(said)
                elif is_first:
                    refusals.append(said)
        if error.reason != "Conflict":
            _LOG.debug(2, "Refused", controller=self.controller.name, key=key, err=error.message)
        return False

    def _expect(self, key: str, facts: Kind, revision: int) -> None:
        revisions = self._expecting(key).revisions
        revisions[facts] = max(revision, revisions.get(facts, 0))

    def _expecting(self, key: str) -> _Expected:
        expected = self._expected.get(key)
        if expected is None:
            now = loop_time()
            self._forget_expired(now)
            expected = self._expected[key] = _Expected(now + _PATIENCE)
        return expected

    def _forget_expired(self, now: float) -> None:
        """The oldest come first. A key that is never looked at again, its object being gone, must not be kept."""
        while self._expected:
            key, oldest = next(iter(self._expected.items()))
            if now < oldest.until:
                return
            del self._expected[key]
