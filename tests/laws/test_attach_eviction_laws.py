"""Lowered pods leave when the originals would: two clusters over time, one with all gates on, one with none.

The second has the controllers of attach beside it, and the same pods, lowered. Values of taints cross, taints come and
go, controllers restart; each pod has to leave both clusters at the same second, or stay in both.
"""

import asyncio
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.controller_context import controller_context
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.test_attach_laws import natively
from tests.unit.attached.controller.attached_cluster import ALL_OFF, attached, put_node, taint, tolerates
from tests.unit.control.cluster_objects import pod
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import run_virtual, time_of_day

from moorage.attach.matching import compile_original
from moorage.attach.objects import lowered
from moorage.attached.controller.eviction import LoweredEviction
from moorage.attached.controller.lowered_pods import identity_of, read_lowered
from moorage.client.protocol import Client, Object
from moorage.control.framework.controller import Controller
from moorage.control.framework.taint_evictions import Taints
from moorage.control.taint_eviction import TaintEvictionController
from moorage.match.taint_eviction import Eviction, When, decide_eviction
from moorage.match.tolerations import ProgramCache, compile_tolerations
from moorage.model.gates import all_gates
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Taint
from moorage.model.types.pod import Pod

Raw = dict[str, Any]
_SETTINGS = settings(LAW_SETTINGS, max_examples=examples(60))
_NODES, _KEYS = ("n1", "n2"), ("spot", "example.com/driver")
_VALUES = ("940", "960", "980", "1.2.3", "2.0.0-rc.1", "word", "")
_OPERATORS = (
    *[("Gt", "950"), ("Gt", "970"), ("Lt", "950"), ("Gt", "930")] * 3,
    *[("Equal", "960"), ("Exists", ""), ("SemverGt", "1.2.0"), ("SemverLt", "2.0.0")],
    *[("CEL", "taint.value.startsWith('9')"), ("CEL", "int(taint.value) > 950")],
)


@st.composite
def _tolerations(draw: st.DrawFn) -> Raw:
    operator, value = draw(st.sampled_from(_OPERATORS))
    effect = draw(st.sampled_from(("NoExecute", "NoExecute", "NoExecute", "")))
    toleration = tolerates(operator, value, draw(st.sampled_from(_KEYS)), effect)
    seconds = draw(st.sampled_from((None, 0, 5, 20, 60))) if effect else None
    return toleration if seconds is None else {**toleration, "tolerationSeconds": seconds}


_TAINT = st.builds(
    taint, st.sampled_from(_KEYS), st.sampled_from(_VALUES), st.sampled_from(("NoExecute", "NoExecute", "NoSchedule"))
)
_TAINTS = st.lists(_TAINT, max_size=2, unique_by=lambda each: each["key"])
_PODS = st.lists(st.lists(_tolerations(), min_size=1, max_size=3), min_size=3, max_size=3)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("taint"), st.sampled_from(_NODES), _TAINTS),
        st.tuples(st.just("taint"), st.sampled_from(_NODES), _TAINTS),
        st.tuples(st.just("edit"), st.sampled_from(_NODES), st.sampled_from(_VALUES)),
        st.tuples(st.just("wait"), st.sampled_from((0.5, 3.0, 17.0, 40.0)), st.none()),
        st.tuples(st.just("restart"), st.none(), st.none()),
    ),
    min_size=3,
    max_size=7,
)


def is_exact(document: Raw) -> bool:
    """Whether no taint makes the cluster itself evict the lowered pod before the original has to leave.

    It does where a plain toleration with seconds, or an `Exists` for another effect, now comes before the one whose
    seconds counted: a limit of the format.
    """
    changed = convert_view(lowered(document), Pod)
    read = read_lowered(changed)
    if read is None or read.original is None:
        return True
    original = compile_original(read.original.counting, ProgramCache())
    plain = compile_tolerations(changed.spec.tolerations, all_gates())
    for key in _KEYS:
        for value in _VALUES:
            at = (Taint(key=key, value=value, effect="NoExecute"),)
            ours, theirs = decide_eviction(at, original), decide_eviction(at, plain)
            if ours.all_tolerated and _seconds(theirs) < _seconds(ours):
                return False
    return True


def _seconds(eviction: Eviction) -> float:
    if eviction.when is When.NEVER:
        return float("inf")
    return eviction.seconds if eviction.when is When.AFTER else 0


class Deletions:
    """Notes when each pod is deleted, on the way to the API server."""

    def __init__(self) -> None:
        self.times: dict[str, int] = {}

    def connect(self, client: Client) -> Client:
        delete = client.delete

        async def noting(kind: Any, name: str, namespace: str = "", **demands: Any) -> None:
            await delete(kind, name, namespace, **demands)
            if kind is KINDS.POD:
                self.times.setdefault(name, round(time_of_day()))

        client.delete = noting  # type: ignore[method-assign]
        return client


Make = Callable[[], Iterable[Controller]]


def _originals() -> Iterable[Controller]:
    return [TaintEvictionController(controller_context(all_gates()))]


def _beside(*controllers: Controller) -> Iterable[Controller]:
    return [TaintEvictionController(controller_context(ALL_OFF)), *controllers]


def _as_attached() -> Iterable[Controller]:
    return _beside(*attached("lowered-eviction"))


async def _play(pods: list[list[Raw]], steps: list[Any], make: Make) -> tuple[dict[str, int], dict[str, int]]:
    before, after = Deletions(), Deletions()
    async with (
        VirtualCluster.running(_originals, gates=all_gates(), connect=before.connect) as originals,
        VirtualCluster.running(make, gates=ALL_OFF, connect=after.connect) as plain,
    ):
        clusters = (originals, plain)
        for name in _NODES:
            for cluster in clusters:
                await put_node(cluster, name)
        for number, tolerations in enumerate(pods):
            document = pod(f"p{number}", _NODES[number % 2], *tolerations)
            await originals.client.create(KINDS.POD, natively(deepcopy(document)))
            await plain.client.create(KINDS.POD, lowered(document))
        for step in [*steps, ("wait", 80.0, None)]:
            for cluster in clusters:
                await _take(step, cluster)
            await asyncio.sleep(step[1] if step[0] == "wait" else 0.25)
            for cluster in clusters:
                cluster.check()
    return before.times, after.times


async def _take(step: Any, cluster: VirtualCluster) -> None:
    match step:
        case "taint", name, taints:
            await put_node(cluster, name, *taints)
        case "edit", name, value:
            taints = (await cluster.client.get(KINDS.NODE, name)).raw["spec"].get("taints") or []
            await put_node(cluster, name, *({**each, "value": value} for each in taints))
        case "restart", _, _:
            await cluster.restart()


def eviction_law(make: Make) -> Callable[[], None]:
    @_SETTINGS
    @given(_PODS, _STEPS)
    def law(pods: list[list[Raw]], steps: list[Any]) -> None:
        assume(all(is_exact(pod("p", "n1", *each)) for each in pods))
        originals, beside = run_virtual(_play(pods, steps, make))
        assert beside == originals

    return law


def test_lowered_pods_leave_at_the_second_at_which_the_originals_do() -> None:
    eviction_law(_as_attached)()


class Trusting(LoweredEviction):
    """Takes the seconds of the lowered list for those of the original."""

    def judge(self, taints: Taints, pod: Object, node: str) -> Eviction:
        found = super().judge(taints, pod, node)
        theirs = decide_eviction(taints, compile_tolerations(identity_of(pod.view).tolerations, all_gates()))
        return theirs if found.when is When.AFTER else found


def test_seconds_of_the_lowered_list_are_noticed() -> None:
    def make() -> Iterable[Controller]:
        (real,) = attached("lowered-eviction")
        real.__class__ = Trusting
        return _beside(real)

    assert_notices(eviction_law(make))


def test_a_cluster_without_the_controller_is_noticed() -> None:
    assert_notices(eviction_law(_beside))
