"""A pod that uses a tainted device is gone in time, and no other pod is evicted: whatever happens to slices and rules.

The real controller and the real API server, in virtual time. A witness between the two judges every deletion when it is
asked for; a look around after each step judges the pods that are left. Both judge the whole state at once, by the rule
that the vectors check, so what is tested is how the controller follows changes.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.unit.control.devices.claimed import Claims, Raw, claim, context, device_slice
from tests.unit.control.devices.claimed import pod as pod_with
from tests.unit.control.devices.claimed import rule as rule_for
from tests.virtual_time import run_virtual, time_of_day

from moorage.client.protocol import Client, Object
from moorage.control.device_taints.controller import DeviceTaintEvictionController
from moorage.control.framework.actions import Plan
from moorage.control.framework.controller import ControllerContext
from moorage.control.framework.world import World
from moorage.match.devices.eviction import DeviceEviction, PublishedDevices, claim_eviction, pod_eviction
from moorage.match.devices.tolerations import compile_device_tolerations
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.devices import ResourceClaim

Story = list[tuple[str, Any, Any]]
_GATES = gates_from({"DRADeviceTaintRules": True, "TaintTolerationComparisonOperators": True})
_DEVICES, _SLICES, _RULES, _LONGEST = ("a", "b", "c"), ("s1", "s2"), ("r1", "r2"), 40
_SETTINGS = settings(LAW_SETTINGS, max_examples=examples(40))
_ROUNDING = 2.0

_VALUES = st.sampled_from(["1", "5", "9"])
_TAINTS = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["x", "y"]),
        "value": _VALUES,
        "effect": st.sampled_from(["NoExecute", "NoExecute", "NoExecute", "NoSchedule"]),
    }
)
_TOLERATIONS = st.builds(
    lambda key, operator, value, effect, seconds: {
        "key": key,
        "operator": operator,
        **({"value": value} if operator != "Exists" else {}),
        **({"effect": effect} if effect else {}),
        **({"tolerationSeconds": seconds} if effect == "NoExecute" and seconds is not None else {}),
    },
    st.sampled_from(["x", "y"]),
    st.sampled_from(["Exists", "Exists", "Equal", "Lt"]),
    _VALUES,
    st.sampled_from(["NoExecute", "NoExecute", "NoExecute", ""]),
    st.sampled_from([None, 0, 5, 20, _LONGEST]),
)
_PODS = st.tuples(st.just("pod"), st.sampled_from(_DEVICES), st.lists(_TOLERATIONS, max_size=2))
_PUBLISHED = st.tuples(
    st.just("slice"),
    st.tuples(st.sampled_from(_SLICES), st.integers(1, 2)),
    st.dictionaries(st.sampled_from(_DEVICES), st.lists(_TAINTS, max_size=1), min_size=1),
)
_RULED = st.tuples(
    st.just("rule"),
    st.sampled_from(_RULES),
    st.tuples(_TAINTS, st.sampled_from([{"device": one} for one in _DEVICES] + [{"pool": "pool"}, {"pool": "z"}])),
)
_OTHERS = st.one_of(
    st.tuples(st.just("wait"), st.floats(0.1, 50.0), st.none()),
    st.tuples(st.just("unpublish"), st.sampled_from(_SLICES), st.none()),
    st.tuples(st.just("unrule"), st.sampled_from(_RULES), st.none()),
    st.tuples(st.just("restart"), st.none(), st.none()),
    st.tuples(st.just("down"), st.floats(0.1, 50.0), st.none()),
)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    steps = [draw(_PUBLISHED), draw(_PODS), draw(_PODS)]
    for _ in range(draw(st.integers(2, 5))):
        steps += [draw(st.one_of(_PUBLISHED, _RULED)), draw(_OTHERS), draw(st.one_of(_PODS, _PUBLISHED, _OTHERS))]
    return steps


class Stage:
    """A cluster in which the story is the scheduler, the driver and the administrator."""

    cluster: Claims

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._pods = 0
        self._changed_at, self._before = 0.0, dict[str, float]()

    async def evictions(self) -> dict[str, float]:
        """When each pod has to go, by the state that the API server has."""
        cluster = self.cluster
        devices = PublishedDevices([found.view for found in await cluster.all(KINDS.RESOURCE_SLICE)])
        rules = [found.view for found in await cluster.all(KINDS.DEVICE_TAINT_RULE)]
        claims = {found.key: found.view for found in await cluster.all(KINDS.RESOURCE_CLAIM)}

        def eviction_of(one: ResourceClaim) -> DeviceEviction | None:
            return claim_eviction(one, devices, rules, lambda some: compile_device_tolerations(some, _GATES))

        found = {}
        for pod in await cluster.all(KINDS.POD):
            eviction = pod_eviction(pod.view, lambda space, name: claims.get(f"{space}/{name}"), eviction_of)
            if eviction is not None:
                found[pod.name] = eviction.when
        return found

    async def judge_deletion(self, name: str) -> None:
        """Is it time for this pod to go? What was true a moment ago counts: news take a moment."""
        now, cases = time_of_day(), [(await self.evictions()).get(name)]
        if now - self._changed_at < 0.1:
            cases.append(self._before.get(name))
        if not any(when is not None and when <= now + 0.001 for when in cases):
            self.problems.append(f"{name} was evicted at {now}, though {cases}")

    async def look_around(self) -> None:
        now = time_of_day()
        for name, when in (await self.evictions()).items():
            if when < now - _ROUNDING:
                self.problems.append(f"{name} is still there at {now}, though {when}")

    async def do(self, step: str, what: Any, more: Any) -> None:
        self._changed_at, self._before = time_of_day(), await self.evictions()
        cluster, client = self.cluster, self.cluster.client
        if step == "pod":
            self._pods += 1
            name = f"p{self._pods}"
            await cluster.make(claim(name), pod_with(name, "n", gpu=name))
            await cluster.allocate(name, name, device=what, tolerations=more)
        elif step == "slice":
            name, generation = what
            await self._replace(KINDS.RESOURCE_SLICE, device_slice(name, more, generation=generation))
        elif step == "rule":
            await self._replace(KINDS.DEVICE_TAINT_RULE, rule_for(what, more[0], **more[1]))
        elif step in ("unpublish", "unrule"):
            kind = KINDS.RESOURCE_SLICE if step == "unpublish" else KINDS.DEVICE_TAINT_RULE
            if what in {found.name for found in await cluster.all(kind)}:
                await client.delete(kind, what)
        elif step == "wait":
            await cluster.settle(what)
        elif step == "restart":
            await cluster.restart()
        else:
            await cluster.stop()
            await asyncio.sleep(what)
            await cluster.start()

    async def _replace(self, kind: Kind, document: Raw) -> None:
        for found in await self.cluster.all(kind):
            if found.name == document["metadata"]["name"]:
                await self.cluster.client.update(kind, {**found.raw, "spec": document["spec"]})
                return
        await self.cluster.make(document)


class Witness:
    """The controller's client, with a judge of every deletion."""

    def __init__(self, client: Client, stage: Stage) -> None:
        self._client, self._stage = client, stage

    async def delete(self, kind: Kind, name: str, namespace: str = "", **more: Any) -> None:
        await self._stage.judge_deletion(name)
        await self._client.delete(kind, name, namespace, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


Make = Callable[[ControllerContext], DeviceTaintEvictionController]


async def _play(story: Story, make: Make) -> None:
    stage = Stage()

    def connect(client: Client) -> Client:
        witness: Any = Witness(client, stage)
        trusted: Client = witness
        return trusted

    async with Claims.running(lambda: [make(context(_GATES))], gates=_GATES, connect=connect) as cluster:
        assert isinstance(cluster, Claims)
        stage.cluster = cluster
        for step in story:
            await stage.do(*step)
            await cluster.settle(0.5)
            await stage.look_around()
            assert not stage.problems
        await cluster.settle(_LONGEST + 10)
        await stage.look_around()
        assert not stage.problems


def _law(make: Make) -> Callable[[], None]:
    @_SETTINGS
    @given(stories())
    def law(story: Story) -> None:
        run_virtual(_play(story, make))

    return law


def test_pods_that_use_tainted_devices_are_gone_in_time_and_no_others() -> None:
    _law(DeviceTaintEvictionController)()


class Hasty(DeviceTaintEvictionController):
    """Does not wait for tolerationSeconds."""

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        plan = super().reconcile(key, world, now)
        is_early = plan.again_after is not None and "/" in key
        return super().reconcile(key, world, now + (plan.again_after or 0.0)) if is_early else plan


class Deaf(DeviceTaintEvictionController):
    """Does not follow changes of one kind."""

    kind = KINDS.RESOURCE_SLICE

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Any:
        return () if kind is self.kind and old is not None else super().concerns(kind, old, new, world)


class DeafToRules(Deaf):
    kind = KINDS.DEVICE_TAINT_RULE


def test_the_law_notices_a_controller_that_does_not_wait() -> None:
    assert_notices(_law(Hasty))


def test_the_law_notices_a_controller_that_does_not_follow_slices() -> None:
    assert_notices(_law(Deaf))


def test_the_law_notices_a_controller_that_does_not_follow_rules() -> None:
    assert_notices(_law(DeafToRules))
