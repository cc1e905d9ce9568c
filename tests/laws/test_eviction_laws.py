"""Whoever is evicted had to go, and whoever has to go is gone in time: whatever happens to taints, pods and clocks.

The real controller and the real API server, in virtual time. A witness stands between the two and judges every
deletion when it is asked for; a look around after each step judges who is still there. Both judge by a naive reading
of SEMANTICS.md's rule, written anew here.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.controller_context import controller_context
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.unit.control.cluster_objects import node, pod, taint
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import run_virtual, time_of_day

from moorage.client.protocol import Client, Object
from moorage.control.framework.actions import NOTHING, Plan
from moorage.control.framework.controller import ControllerContext
from moorage.control.framework.world import World
from moorage.control.taint_eviction import TaintEvictionController
from moorage.model.gates import GateSet, gates_from
from moorage.model.kinds import KINDS, Kind
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]
_ON, _OFF = gates_from({"AllAlpha": True}), gates_from({})
_NODES, _KEYS, _LONGEST = ("n1", "n2"), ("a", "b"), 40
_SETTINGS = settings(LAW_SETTINGS, max_examples=examples(60))
#: Times in objects are whole seconds, and what is noticed is rounded up.
_ROUNDING = 2.0

# -- the rule, naively ------------------------------------------------------------------------------------------------


def _matches(toleration: Raw, given_taint: Raw, gates: GateSet) -> bool:
    value = given_taint.get("value", "")
    if "expression" in toleration:
        return gates is _ON and f"taint.value == '{value}'" == toleration["expression"]
    if toleration.get("effect", "NoExecute") != "NoExecute" or toleration.get("key") != given_taint["key"]:
        return False
    operator, wanted = toleration.get("operator", "Equal"), toleration.get("value", "")
    if operator in ("Lt", "Gt"):
        if gates is not _ON or not value.isdigit():
            return False
        return bool(int(value) < int(wanted) if operator == "Lt" else int(value) > int(wanted))
    return bool(operator == "Exists" or value == wanted)


def _seconds(text: str | None) -> float | None:
    return datetime.fromisoformat(text).timestamp() if text else None


class Verdict(NamedTuple):
    """When the pod has to go: minus infinity for at once, None for never; `is_open` if nobody has noted a time yet.

    `begun` is since when its time runs, by the keys of taints.
    """

    due: float | None
    is_open: bool = False
    begun: dict[str, float] | None = None


def _judge(found: Raw, taints: list[Raw], gates: GateSet, now: float, ran: dict[str, float] | None = None) -> Verdict:
    """`ran` is since when the pod's time runs already, by key: another value of a taint does not begin it anew."""
    conditions = found["status"].get("conditions", ())
    placed = next((one.get("lastTransitionTime") for one in conditions if one["type"] == "PodScheduled"), None)
    start = _seconds(placed) or _seconds(found["metadata"]["creationTimestamp"]) or 0.0
    start = start if start <= now + 5 else 0.0
    due, is_open = None, False
    begun: dict[str, float] = {}
    for one in taints:
        if one["effect"] != "NoExecute":
            continue
        first = next((each for each in found["spec"]["tolerations"] if _matches(each, one, gates)), None)
        if first is None:
            return Verdict(float("-inf"))
        limit = first.get("tolerationSeconds")
        if limit is None:
            continue
        if limit <= 0:
            return Verdict(float("-inf"))
        added = _seconds(one.get("timeAdded"))
        known = [each for each in (added, (ran or {}).get(one["key"])) if each is not None and each <= now + 5]
        if not known:
            is_open = True
            continue
        begun[one["key"]] = min(known)
        due = min(max(min(known), start) + limit, due if due is not None else float("inf"))
    return Verdict(due, is_open, begun)


# -- what happens -----------------------------------------------------------------------------------------------------

_VALUES = st.sampled_from(["1", "5", "9", "x"])
_TAINTS = st.builds(taint, st.sampled_from(_KEYS), _VALUES, st.sampled_from(["NoExecute"] * 5 + ["NoSchedule"]))
_LIMITS = st.sampled_from([None, 0, 3, 10, 25, _LONGEST])


@st.composite
def tolerations(draw: st.DrawFn) -> Raw:
    kind = draw(st.sampled_from(["Exists", "Exists", "Exists", "Equal", "Lt", "Gt", "expression"]))
    made: Raw
    if kind == "expression":
        made = {"expression": f"taint.value == '{draw(_VALUES)}'"}
    else:
        made = {"key": draw(st.sampled_from(_KEYS)), "operator": kind, "effect": "NoExecute"}
        if kind != "Exists":
            made["value"] = draw(st.sampled_from(["1", "5", "9"]))
    limit = draw(_LIMITS)
    return made if limit is None else {**made, "tolerationSeconds": limit}


_PODS = st.tuples(st.just("pod"), st.sampled_from(_NODES), st.lists(tolerations(), min_size=1, max_size=3))
_TAINTED = st.tuples(
    st.just("taint"),
    st.sampled_from(_NODES),
    st.sampled_from([1, 1, 1, 2, 2, 0]).flatmap(
        lambda size: st.lists(_TAINTS, min_size=size, max_size=size, unique_by=lambda one: one["key"])
    ),
)
_OTHERS = st.one_of(
    st.tuples(st.just("tolerate"), st.integers(0, 9), tolerations()),
    st.tuples(st.just("limit"), st.integers(0, 9), st.integers(0, _LONGEST)),
    st.tuples(st.just("edit"), st.sampled_from(_NODES), _VALUES),
    st.tuples(st.just("wait"), st.floats(0.1, 60.0), st.none()),
    st.tuples(st.just("restart"), st.none(), st.none()),
    st.tuples(st.just("down"), st.floats(0.1, 60.0), st.none()),
    st.tuples(st.just("jump"), st.sampled_from([-1000.0, -20.0, 7.0, 1000.0]), st.none()),
)
Story = tuple[list[tuple[str, Any, Any]], bool]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Some pods, then taints and what else happens, in turn; and whether the controller's gates are on."""
    steps = [draw(_PODS) for _ in range(draw(st.integers(2, 4)))]
    for _ in range(draw(st.integers(2, 5))):
        steps += [draw(_TAINTED), draw(_OTHERS), draw(_PODS if draw(st.booleans()) else _OTHERS)]
    return steps, draw(st.booleans())


class Stage:
    """A cluster, its clock, and what its nodes' taints were just now."""

    def __init__(self, make: Callable[[ControllerContext], TaintEvictionController], gates: GateSet) -> None:
        self.gates, self.offset, self.has_jumped = gates, 0.0, False
        self.cluster: VirtualCluster
        self.pods = 0
        self.problems: list[str] = []
        self._before: dict[str, tuple[float, list[Raw]]] = {}
        self._begun: dict[str, dict[str, float] | None] = {}
        self._make = make

    def clock(self) -> float:
        return time_of_day() + self.offset

    def controllers(self) -> list[TaintEvictionController]:
        return [self._make(controller_context(self.gates, Metrics()))]

    async def taints(self, name: str) -> list[Raw]:
        found = (await self.cluster.client.get(KINDS.NODE, name)).raw
        return list(found["spec"].get("taints") or ())

    async def judge_deletion(self, namespace: str, name: str) -> None:
        """Is it time for this pod to go? What was true a moment ago counts: news take a moment."""
        found = (await self.cluster.client.get(KINDS.POD, name, namespace)).raw
        on = found["spec"]["nodeName"]
        cases = [await self.taints(on)]
        since, before = self._before.get(on, (0.0, []))
        if time_of_day() - since < 0.1:
            cases.append(before)
        now = self.clock()
        verdicts = [_judge(found, case, self.gates, now, self._begun.get(name)) for case in cases]
        if not any(verdict.due is not None and verdict.due <= now + 0.001 for verdict in verdicts):
            self.problems.append(f"{name} was evicted at {now} though {verdicts}")
        marked = [one["reason"] for one in found["status"]["conditions"] if one["type"] == "DisruptionTarget"]
        if marked != ["DeletionByTaintManager"]:
            self.problems.append(f"{name} was deleted without a word: {marked}")

    async def look_around(self) -> None:
        """Nobody is there whose time is over. If the clock was set, that can take as long as the time itself."""
        now = self.clock()
        for found in await self.cluster.all(KINDS.POD):
            taints = await self.taints(found.raw["spec"]["nodeName"])
            # A controller that was restarted knows only what is written down: that much time everybody may have.
            verdict = _judge(found.raw, taints, self.gates, now)
            self._begun[found.name] = _judge(found.raw, taints, self.gates, now, self._begun.get(found.name)).begun
            if verdict.due == float("-inf"):
                self.problems.append(f"{found.name} is still there")
            elif not self.has_jumped:
                assert not verdict.is_open, "nobody has noted when the taint was noticed"
                if verdict.due is not None and verdict.due < now - _ROUNDING:
                    self.problems.append(f"{found.name} is still there at {now}, though {verdict}")

    async def do(self, step: str, what: Any, more: Any) -> None:
        client = self.cluster.client
        if step == "taint":
            self._before[what] = (time_of_day(), await self.taints(what))
            await client.patch(KINDS.NODE, what, "", {"spec": {"taints": more}})
        elif step == "edit":
            taints = await self.taints(what)
            self._before[what] = (time_of_day(), taints)
            await client.patch(KINDS.NODE, what, "", {"spec": {"taints": [{**one, "value": more} for one in taints]}})
        elif step == "pod":
            self.pods += 1
            await client.create(KINDS.POD, pod(f"p{self.pods}", what, *more))
        elif step in ("tolerate", "limit"):
            await self._change_tolerations(step, what, more)
        elif step == "wait":
            await self.cluster.settle(what)
        elif step == "restart":
            await self.cluster.restart()
        elif step == "down":
            await self.cluster.stop()
            await asyncio.sleep(what)
            await self.cluster.start()
        else:
            self.has_jumped = True
            self.offset += what

    async def _change_tolerations(self, step: str, number: int, more: Any) -> None:
        found = await self.cluster.all(KINDS.POD)
        if not found:
            return
        chosen = found[number % len(found)]
        kept: list[Raw] = chosen.raw["spec"]["tolerations"]
        if step == "tolerate":
            changed = [more, *kept]
        else:
            changed = [{**one, "tolerationSeconds": more} if "tolerationSeconds" in one else one for one in kept]
        await self.cluster.client.patch(KINDS.POD, chosen.name, chosen.namespace, {"spec": {"tolerations": changed}})


class Witness:
    """The controller's client, with somebody who looks at every deletion."""

    def __init__(self, client: Client, stage: Stage) -> None:
        self._client, self._stage = client, stage

    async def delete(self, facts: Kind, name: str, namespace: str = "", **more: Any) -> None:
        await self._stage.judge_deletion(namespace, name)
        await self._client.delete(facts, name, namespace, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


async def _play(story: Story, make: Callable[[ControllerContext], TaintEvictionController]) -> None:
    steps, has_gates = story
    stage = Stage(make, _ON if has_gates else _OFF)

    def connect(client: Client) -> Client:
        witness: Any = Witness(client, stage)
        trusted: Client = witness
        return trusted

    async with VirtualCluster.running(stage.controllers, gates=_ON, connect=connect, clock=stage.clock) as cluster:
        stage.cluster = cluster
        for name in _NODES:
            await cluster.client.create(KINDS.NODE, node(name))
        for step in steps:
            await stage.do(*step)
            await cluster.settle(0.5)
            await stage.look_around()
            assert not stage.problems
        # If a clock was set back while a time ran, the time runs once more from the beginning.
        await cluster.settle(2 * _LONGEST + 10)
        for found in await cluster.all(KINDS.POD):
            verdict = _judge(found.raw, await stage.taints(found.raw["spec"]["nodeName"]), stage.gates, stage.clock())
            if verdict.due is not None or verdict.is_open:
                stage.problems.append(f"{found.name} is left at the end: {verdict}")
        assert not stage.problems


def _law(make: Callable[[ControllerContext], TaintEvictionController]) -> Callable[[], None]:
    @_SETTINGS
    @given(stories())
    def law(story: Story) -> None:
        run_virtual(_play(story, make))

    return law


def test_whoever_is_evicted_had_to_go_and_whoever_has_to_go_is_gone_in_time() -> None:
    _law(TaintEvictionController)()


class Hasty(TaintEvictionController):
    """Gives nobody the time that they have."""

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        plan = super().reconcile(key, world, now)
        return plan if plan.again_after is None else super().reconcile(key, world, now + plan.again_after)


class Deaf(TaintEvictionController):
    """Does not hear of taints that change."""

    def concerns(self, facts: Kind, old: Object | None, new: Object | None, world: World) -> Any:
        return () if facts is KINDS.NODE and old is not None else super().concerns(facts, old, new, world)


class Forgetful(TaintEvictionController):
    """Does not note when it noticed a taint."""

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return NOTHING if "/" not in key else super().reconcile(key, world, now)


def test_the_law_notices_who_does_not_wait() -> None:
    assert_notices(_law(Hasty))


def test_the_law_notices_who_does_not_listen() -> None:
    assert_notices(_law(Deaf))


def test_the_law_notices_who_does_not_take_notes() -> None:
    assert_notices(_law(Forgetful))
