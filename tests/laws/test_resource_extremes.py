"""Amounts near the ends of int64 are added, compared and scored as Kubernetes does it, and nothing raises."""

from collections.abc import Callable
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.laws import naive_int64 as naive
from tests.laws.falsify import LAW_SETTINGS, assert_notices

from moorage.admit.plugins import Forbidden
from moorage.admit.plugins.quota import QuotaBalance, quota_charges, without_object
from moorage.columns import resources
from moorage.columns.cluster import Cluster
from moorage.columns.priority_levels import PriorityLevels
from moorage.match.devices.allocation.capacity import consumed_amounts, fits_capacity
from moorage.match.quota.usage import usage_of
from moorage.model.kinds import KINDS
from moorage.model.quantity import Quantity, parse_quantity
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import DeviceCapacity
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.types.policy import ResourceQuota
from moorage.run.admission import Load, no_room
from moorage.schedule.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from moorage.schedule.plugins.node_resources_fit import NodeResourcesFit, least_allocated, most_allocated
from moorage.watch.usage import NodeUsage

Raw = dict[str, Any]
_TEXTS = (
    *("0", "1", "1m", "100u", "0.5m", "1500m", "1.5", "200Mi", "3"),
    *(
        "9223372036854775807",
        "9223372036854775806",
        "9223372036854775808",
        "4611686018427387904",
        "4611686018427387905",
    ),
    *("18446744073709551615", "18446744073709551617", "9223372036854775807m", "9223372036854775", "9223372036854776"),
    *("9007199254740993", "92233720368547758", "92233720368547759", "8Ei", "7Ei", "4Ei", "3.5Ei", "9E", "10E", "92E"),
    *("1e19", "1e30", "1e300", "27670116110564327424", "12297829382473034411"),
)
_NAMES = ("cpu", "memory", "ephemeral-storage", "example.com/part", "hugepages-2Mi")
_LISTS = st.dictionaries(st.sampled_from(_NAMES), st.sampled_from(_TEXTS), max_size=4)
_CONTAINERS = st.builds(lambda requests: {"name": "c", "resources": {"requests": requests}}, _LISTS)
_INIT = st.builds(
    lambda container, policy: {**container, **policy},
    _CONTAINERS,
    st.sampled_from([{}, {"restartPolicy": "Always"}]),
)


def _pod(containers: list[Raw], init: list[Raw], overhead: Raw, priority: int) -> Raw:
    spec = {"containers": containers, "initContainers": init, "overhead": overhead, "priority": priority}
    return {"metadata": {"name": "p", "namespace": "default"}, "spec": spec}


_PODS = st.builds(
    _pod,
    st.lists(_CONTAINERS, min_size=1, max_size=3),
    st.lists(_INIT, max_size=3),
    st.one_of(st.just({}), _LISTS),
    st.integers(0, 2),
)
_NODES = st.builds(
    lambda amounts, pods: {"metadata": {"name": "n"}, "status": {"allocatable": {**amounts, "pods": pods}}},
    st.fixed_dictionaries({}, optional={name: st.sampled_from(_TEXTS) for name in _NAMES}),
    st.sampled_from(["0", "1", "3", "110", "110", "9223372036854775807", "-9223372036854775807", "10E"]),
)
_DEFAULTS = {"cpu": "100m", "memory": "209715200"}
Check = Callable[[Raw, Raw, list[Raw]], None]


def law_of(check: Check) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(_PODS, _NODES, st.lists(_PODS, max_size=3))
    def law(pod: Raw, node: Raw, others: list[Raw]) -> None:
        check(pod, node, others)

    return law


def _cluster(node: Raw, others: list[Raw]) -> Cluster:
    cluster = Cluster()
    cluster.set_namespace("default", {})
    cluster.add_node(convert_view({"metadata": {"name": "n"}}, Node))
    for number, raw in enumerate(others):
        cluster.add_pod(cluster.record(f"default/{number}", convert_view(raw, Pod)), 0)
    cluster.update_node(convert_view(node, Node))  # amounts that come after the pods
    gone = cluster.record("default/gone", convert_view(others[0], Pod)) if others else None
    if gone is not None:
        cluster.add_pod(gone, 0)
        cluster.remove_pod(gone)
    return cluster


def fit_is_upstreams(pod: Raw, node: Raw, others: list[Raw]) -> None:
    cluster, plugin = _cluster(node, others), NodeResourcesFit()
    want = plugin.prepare(cluster.shape_of(convert_view(pod, Pod)), cluster).want
    lacking = naive.refusals(pod, node, others)
    assert bool(plugin.filter(want, cluster)[0]) is plugin.filter_slot(want, cluster, 0) is (not lacking)
    verdict = plugin.explain(want, cluster, 0)
    reasons = {"Too many pods" if name == "pods" else f"Insufficient {name}" for name in lacking}
    assert set(verdict.reasons if verdict is not None else ()) == reasons


def scores_are_upstreams(pod: Raw, node: Raw, others: list[Raw]) -> None:
    cluster = _cluster(node, others)
    shape = cluster.shape_of(convert_view(pod, Pod))
    has, asked = naive.allocatable(node), naive.requested(pod, _DEFAULTS)
    taken = naive.non_zero(others, _DEFAULTS)
    needs = [(naive.go(taken.get(name, 0) + asked[name]), has.get(name, 0)) for name in _DEFAULTS]
    for strategy, scorer in ((least_allocated(), naive.least), (most_allocated(), naive.most)):
        plugin = NodeResourcesFit(strategy)
        want = plugin.prepare(shape, cluster).want
        wanted = naive.weighted(scorer, needs)
        assert int(plugin.score(want, cluster, cluster.nodes.alive)[0]) == wanted
        assert plugin.score_slot(want, cluster, 0) == wanted


def balance_is_upstreams(pod: Raw, node: Raw, others: list[Raw]) -> None:
    cluster, plugin = _cluster(node, others), NodeResourcesBalancedAllocation()
    prepared = plugin.prepare(cluster.shape_of(convert_view(pod, Pod)), cluster)
    has, asked, taken = naive.allocatable(node), naive.requested(pod), naive.used(others)
    if not any(asked.get(name) for name in _DEFAULTS):
        return
    before = [(taken.get(name, 0), has.get(name, 0)) for name in _DEFAULTS]
    after = [(naive.go(taken.get(name, 0) + asked.get(name, 0)), has.get(name, 0)) for name in _DEFAULTS]
    wanted = naive.improved(before, after)
    assert int(plugin.score(prepared.want, cluster, cluster.nodes.alive)[0]) == wanted
    assert plugin.score_slot(prepared.want, cluster, 0) == wanted


def kubelet_is_upstreams(pod: Raw, node: Raw, others: list[Raw]) -> None:
    load = Load([convert_view(other, Pod) for other in others])
    load.add(convert_view(pod, Pod))
    load.remove(convert_view(pod, Pod))
    refusal = no_room(convert_view(pod, Pod), convert_view(node, Node), load)
    has = naive.allocatable(node)
    lacking = {name for name in naive.refusals(pod, node, others) if name in has or "/" not in name}
    assert (refusal is None) is (not lacking)
    assert refusal is None or refusal.reason.removeprefix("OutOf") in lacking


def sums_of_priorities_are_upstreams(pod: Raw, node: Raw, others: list[Raw]) -> None:
    cluster = _cluster(node, others)
    for level, sums in PriorityLevels(cluster).below(3):
        of_level = naive.used([other for other in others if other["spec"]["priority"] == level])
        assert {name: int(array.values[0]) for name, array in sums.items() if name != "pods" and array.values[0]} == {
            name: amount for name, amount in of_level.items() if amount
        }


def usage_of_the_page_is_what_is_requested(pod: Raw, node: Raw, others: list[Raw]) -> None:
    usage = NodeUsage()
    for number, other in enumerate((pod, *others)):
        placed = {**other, "spec": {**other["spec"], "nodeName": "n"}}
        usage.count(str(number), convert_view(placed, Pod))
    usage.count("0", None)
    expected = {**naive.used(others), "pods": len(others)}
    assert {name: n for name, n in usage.of("n").items() if n} == {name: n for name, n in expected.items() if n}


_CHECKS: list[Check] = [
    fit_is_upstreams,
    scores_are_upstreams,
    balance_is_upstreams,
    kubelet_is_upstreams,
    sums_of_priorities_are_upstreams,
    usage_of_the_page_is_what_is_requested,
]


@pytest.mark.parametrize("check", _CHECKS, ids=lambda check: check.__name__)
def test_amounts_are_counted_as_upstream_counts_them(check: Check) -> None:
    law_of(check)()


@contextmanager
def _rounded_one_by_one(patch: pytest.MonkeyPatch) -> Any:
    """Convert the requests of each container to integers and add these, without an end."""

    def broken(spec: Any, defaults: Any, pod_level: Any) -> dict[str, int]:
        total: dict[str, int] = {}
        for container in spec.containers:
            for name, quantity in {**defaults, **container.resources.requests}.items():
                total[name] = total.get(name, 0) + resources.amount(name, quantity)
        return total

    with patch.context() as broken_twin:
        broken_twin.setattr(resources, "_requests", broken)
        yield


@pytest.mark.parametrize("check", _CHECKS, ids=lambda check: check.__name__)
def test_sums_that_do_not_end_are_noticed(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(pod: Raw, node: Raw, others: list[Raw]) -> None:
        try:
            check(pod, node, others)
        except OverflowError as error:
            raise AssertionError from error

    with _rounded_one_by_one(monkeypatch):
        assert_notices(law_of(raising))


# -- exact amounts ----------------------------------------------------------------------------------------------------


def _exact(quantity: Quantity) -> Fraction:
    return quantity.mantissa * Fraction(10) ** quantity.exponent


_FAR_APART = (*_TEXTS, "1e4250", "1n", "12345678901234567890123456789")


def quota_law(charges_of: Callable[..., Any]) -> Callable[[], None]:
    """A quota is compared with exact sums, and amounts of any distance are an answer."""

    @LAW_SETTINGS
    @given(
        st.sampled_from(_FAR_APART),
        st.sampled_from(_FAR_APART),
        st.sampled_from(_FAR_APART),
        st.none() | st.sampled_from(_FAR_APART),
    )
    @example("1e4250", "1", "1", "1n")
    @example("1n", "1e4250", "1", "1e4250")
    def law(asked: str, hard: str, used: str, before: str | None) -> None:
        def pod(text: str) -> Pod:
            raw = {"containers": [{"name": "c", "resources": {"requests": {"memory": text}}}]}
            return convert_view({"metadata": {"name": "p"}, "spec": raw}, Pod)

        status = {"hard": {"requests.memory": hard}, "used": {"requests.memory": used}}
        quota = convert_view(
            {"metadata": {"name": "q"}, "spec": {"hard": status["hard"]}, "status": status}, ResourceQuota
        )
        balance = QuotaBalance(quota, quota.status.used)
        counting = usage_of(KINDS.POD)
        old = None if before is None else pod(before)
        growth = _exact(parse_quantity(asked)) - (Fraction(0) if before is None else _exact(parse_quantity(before)))
        refused = growth > 0 and growth + _exact(parse_quantity(used)) > _exact(parse_quantity(hard))
        try:
            charges_of(counting, pod(asked), old, [balance], "" if old is None else "resize", 0.0)
        except Forbidden:
            assert refused
        else:
            assert not refused
        without_object(balance, KINDS.POD, pod(asked), 0.0)

    return law


def test_quotas_are_compared_exactly() -> None:
    quota_law(quota_charges)()


def test_a_quota_that_ignores_what_an_object_had_is_noticed() -> None:
    def forgetful(counting: Any, new: Any, old: Any, balances: Any, subresource: str, now: float) -> Any:
        return quota_charges(counting, new, None, balances, subresource, now)

    assert_notices(quota_law(forgetful))


def capacity_law(consumed: Callable[..., dict[str, Quantity]]) -> Callable[[], None]:
    """A share of a device is rounded up in steps as upstream's roundUpRange does, in int64."""

    @LAW_SETTINGS
    @given(*[st.sampled_from([text for text in _TEXTS if text != "0"])] * 4)
    def law(asked: str, least: str, step: str, value: str) -> None:
        policy = {"validRange": {"min": least, "step": step}, "default": least}
        capacity = convert_view({"value": value, "requestPolicy": policy}, DeviceCapacity)
        request = parse_quantity(asked)
        amount = consumed({"x": request}, {"x": capacity})["x"]
        low, by = parse_quantity(least), parse_quantity(step).value()
        if request.compare(low) < 0:
            assert amount == low
        elif by:
            added = naive.go(request.value() - low.value())
            steps = naive.divided(added, by)
            steps += naive.go(added - naive.go(by * steps)) != 0
            assert _exact(amount) == naive.go(low.value() + naive.go(by * steps))
        fits_capacity({"x": request}, {"x": capacity}, {"x": parse_quantity(value)})

    return law


def test_shares_of_devices_are_rounded_in_int64() -> None:
    capacity_law(consumed_amounts)()


def test_shares_that_are_not_rounded_are_noticed() -> None:
    assert_notices(capacity_law(lambda requested, capacity: dict(requested)))
