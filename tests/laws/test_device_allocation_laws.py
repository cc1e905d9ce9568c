"""The allocator of devices agrees with a naive one, and never gives away what is not there."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import integers
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.naive_device_allocation import (
    DRIVER,
    NODE,
    Assignment,
    DeviceWorld,
    NaiveClaim,
    NaiveDevice,
    NaiveRequest,
    Raw,
    allocate_naively,
    device_worlds,
    holds,
)

from moorage.columns.devices.use import DeviceUse
from moorage.match.devices.allocation import search as searching
from moorage.match.devices.allocation.capacity import CounterBudget
from moorage.match.devices.allocation.constraints import could_fit
from moorage.match.devices.allocation.explain import explain_request, why_not_device
from moorage.match.devices.allocation.features import SearchLimitError, allocator_features
from moorage.match.devices.allocation.offer import Offer, PoolBlock
from moorage.match.devices.allocation.pools import DevicePool, gather_pools
from moorage.match.devices.allocation.published import AllocationNode, PublishedDevice, PublishedSlice
from moorage.match.devices.allocation.requests import CompiledRequest, compile_claim
from moorage.match.devices.allocation.search import ClaimToAllocate, Search
from moorage.model.gates import default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import AllocationResult, DeviceClass, ResourceClaimSpec, ResourceSlice

_GATES = default_gates()
_FEATURES = allocator_features(_GATES)
_NODE = AllocationNode(NODE, {})
_CLASS = DeviceClass()
#: The first request must leave the first device to the second.
_SECOND_THOUGHTS = DeviceWorld(
    (NaiveDevice("p0", "d0", "a", False, 0, 0), NaiveDevice("p0", "d1", "b", False, 0, 0)),
    0,
    frozenset(),
    claims=(
        NaiveClaim(
            (
                (NaiveRequest("r0", 1, None, False, False, 0),),
                (NaiveRequest("r1", 1, "a", False, False, 0),),
            ),
            False,
        ),
    ),
)
_SETTINGS = settings(LAW_SETTINGS, max_examples=examples(600))


def claim_of(claim: NaiveClaim) -> ClaimToAllocate:
    requests: list[Raw] = []
    for index, alternatives in enumerate(claim.requests):
        raws = [request.raw() for request in alternatives]
        if len(raws) == 1:
            requests.append({"name": f"r{index}", "exactly": raws[0]})
        else:
            named = [{"name": one.name, **raw} for one, raw in zip(alternatives, raws, strict=True)]
            requests.append({"name": f"r{index}", "firstAvailable": named})
    devices: Raw = {"requests": requests}
    if claim.same_model:
        devices["constraints"] = [{"matchAttribute": f"{DRIVER}/model"}]
    spec = convert_view({"devices": devices}, ResourceClaimSpec)
    return ClaimToAllocate("default/claim", compile_claim(spec, lambda _: _CLASS, _GATES))


def pools_of(world: DeviceWorld) -> list[DevicePool]:
    published = []
    for pool in sorted({device.pool for device in world.devices}):
        about = {"name": pool, "generation": 1, "resourceSliceCount": 2}
        spec = {"driver": DRIVER, "nodeName": NODE, "pool": about}
        devices = [device.raw() for device in world.devices if device.pool == pool]
        counters = [{"name": "c", "counters": {"units": {"value": str(world.units)}}}]
        for name, content in (("a", {"devices": devices}), ("b", {"sharedCounters": counters})):
            raw = {"metadata": {"name": f"{pool}-{name}"}, "spec": spec | content}
            published.append(PublishedSlice(convert_view(raw, ResourceSlice), _GATES))
    return gather_pools(published, _NODE, _FEATURES)


def use_of(world: DeviceWorld) -> DeviceUse:
    use = DeviceUse()
    results: list[Raw] = []
    for at in world.taken:
        device = world.devices[at]
        results.append({"driver": DRIVER, "pool": device.pool, "device": device.name})
    for at, amount in world.shares.items():
        device = world.devices[at]
        shared = {"shareID": f"share-{at}", "consumedCapacity": {"memory": str(amount)}}
        results.append({"driver": DRIVER, "pool": device.pool, "device": device.name, **shared})
    use.hold("others", convert_view({"devices": {"results": results}}, AllocationResult))
    return use


def allocate_really(world: DeviceWorld, kind: type[Search]) -> Assignment | None:
    search = kind(pools_of(world), [claim_of(claim) for claim in world.claims], use_of(world), _NODE, _FEATURES)
    if not search.run():
        return None
    positions = {(device.pool, device.name): at for at, device in enumerate(world.devices)}
    found = []
    for claim, choices in enumerate(search.chosen):
        for index, choice in enumerate(choices):
            base = f"r{index}"
            mine = [one for one in search.picked[claim] if (one.request.parent or one.request.name) == base]
            found.append((choice, tuple(positions[one.device.id[1:]] for one in mine)))
    return tuple(found)


def agreement(kind: type[Search] = Search) -> Callable[[], None]:
    """Allocate the same devices as the naive allocator, or none."""

    @_SETTINGS
    @given(device_worlds())
    @example(_SECOND_THOUGHTS)
    def law(world: DeviceWorld) -> None:
        assert allocate_really(world, kind) == allocate_naively(world)

    return law


def soundness(kind: type[Search] = Search) -> Callable[[], None]:
    """Give no device away twice and overdraw neither counters nor capacity."""

    @_SETTINGS
    @given(device_worlds())
    def law(world: DeviceWorld) -> None:
        found = allocate_really(world, kind)
        assert found is None or holds(world, found)

    return law


test_the_first_fit_is_that_of_a_naive_allocator = agreement()
test_nothing_is_given_away_twice = soundness()


@_SETTINGS
@given(device_worlds())
def test_what_cannot_fit_is_never_allocated(world: DeviceWorld) -> None:
    claims = [claim_of(claim) for claim in world.claims]

    def selects(request: CompiledRequest, device: PublishedDevice, claim: str) -> bool:
        return request.selects(device.description, claim)

    if not could_fit(pools_of(world), claims, use_of(world), selects, _FEATURES):
        assert allocate_naively(world) is None


@_SETTINGS
@given(device_worlds())
def test_a_device_without_a_reason_against_it_is_one_that_can_be_had(world: DeviceWorld) -> None:
    pools, use = pools_of(world), use_of(world)
    for request in (one for claim in world.claims for alternatives in claim.requests for one in alternatives):
        alone = replace(world, claims=(NaiveClaim(((replace(request, count=1),),), False),))
        compiled = claim_of(alone.claims[0]).compiled.requests[0][0]
        for at, device in enumerate(alone.devices):
            pool = next(pool for pool in pools if pool.id[1] == device.pool)
            published = next(one for one in pool.devices if one.id[2] == device.name)
            why = why_not_device(compiled, published, pool, use, _NODE, _FEATURES)
            naively = request.selects(device) and holds(alone, ((0, (at,)),))
            assert (why is None) is naively, why


class _Forgetful(Search):
    """Forgets what is picked already."""

    def _is_unavailable(self, request: CompiledRequest, device: PublishedDevice, claim: int) -> bool:
        return False


class _Hasty(Search):
    """Takes all devices for alike."""

    def _like(self, device: PublishedDevice) -> object:
        return "alike"


class _Spendthrift(CounterBudget):
    """Never runs out of counters."""

    def take(self, device: PublishedDevice) -> bool:
        super().take(device)
        return True


def test_the_laws_notice_a_device_given_away_twice() -> None:
    assert_notices(soundness(_Forgetful))


def test_the_laws_notice_devices_wrongly_taken_for_alike() -> None:
    assert_notices(agreement(_Hasty))


def test_the_laws_notice_counters_overdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "CounterBudget", _Spendthrift)
    assert_notices(soundness())


def test_the_laws_notice_capacity_overdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "fits_capacity", lambda *_: True)
    assert_notices(soundness())


def test_reasons_are_counted_in_words() -> None:
    devices = (
        NaiveDevice("p0", "d0", "a", False, 0, 0),
        NaiveDevice("p0", "d1", "a", True, 0, 0),
        NaiveDevice("p0", "d2", "b", False, 0, 0),
        NaiveDevice("p0", "d3", "a", False, 4, 0),
        NaiveDevice("p0", "d4", "b", False, 0, 0),
    )
    world = DeviceWorld(devices, 3, frozenset((0,)))
    request = claim_of(NaiveClaim(((NaiveRequest("r0", 1, "a", False, False, 0),),), False)).compiled.requests[0][0]
    model = 'device.attributes["gpu.example.com"].model'
    assert explain_request(request, pools_of(world), use_of(world), _NODE, _FEATURES) == {
        "it is in use by another claim": 1,
        "taint bad is not tolerated: no toleration is for its key and effect": 1,
        f'selector #0 of the request is not true: has({model}) && {model} == "a"': 2,
        "it consumes 4 of counter units in counter set c, of which 3 are left": 1,
    }


def test_costly_selectors_count_as_many_steps() -> None:
    devices = [{"name": f"d{n}", "attributes": {"n": {"int": n}}} for n in range(8)]
    costly = f'lists.range(9000).all(x, x >= 0) && device.attributes["{DRIVER}"].n == 7'
    one = {
        "deviceClassName": "any",
        "allocationMode": "ExactCount",
        "count": 1,
        "selectors": [{"cel": {"expression": costly}}],
    }
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    raw = {"metadata": {"name": "s"}, "spec": {"driver": DRIVER, "nodeName": NODE, "pool": pool, "devices": devices}}
    pools = gather_pools([PublishedSlice(convert_view(raw, ResourceSlice), _GATES)], _NODE, _FEATURES)
    spec = convert_view({"devices": {"requests": [{"name": "r0", "exactly": one}]}}, ResourceClaimSpec)
    claim = ClaimToAllocate("default/claim", compile_claim(spec, lambda _: _CLASS, _GATES))
    attempts = 0
    while True:
        attempts += 1
        try:
            assert Search(pools, [claim], DeviceUse(), _NODE, _FEATURES, max_steps=3_000).run()
            break
        except SearchLimitError:
            assert attempts < 8, "answers are remembered, so every attempt gets further"
    assert attempts > 1


def test_a_search_is_given_up_after_so_many_steps() -> None:
    world = [{"name": f"d{n}", "attributes": {"n": {"int": n // 2}}} for n in range(40)]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    raw = {"metadata": {"name": "s"}, "spec": {"driver": DRIVER, "nodeName": NODE, "pool": pool, "devices": world}}
    pools = gather_pools([PublishedSlice(convert_view(raw, ResourceSlice), _GATES)], _NODE, _FEATURES)
    one = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
    requests = [{"name": f"r{n}", "exactly": one} for n in range(24)]
    different = [{"distinctAttribute": f"{DRIVER}/n"}]
    spec = convert_view({"devices": {"requests": requests, "constraints": different}}, ResourceClaimSpec)
    claim = ClaimToAllocate("default/claim", compile_claim(spec, lambda _: _CLASS, _GATES))
    with pytest.raises(SearchLimitError, match="gave up allocating devices after 20000 steps") as found:
        Search(pools, [claim], DeviceUse(), _NODE, _FEATURES, max_steps=20_000).run()
    assert found.value.node_only


# -- what many nodes see alike -----------------------------------------------------------------------------------------


def sharing(make: Callable[[list[DevicePool], PoolBlock], Offer]) -> Callable[[], None]:
    """Pools that are shared with other nodes and the node's own ones are searched as one list of pools."""

    @_SETTINGS
    @given(device_worlds(), integers(0, 2**16))
    def law(world: DeviceWorld, seed: int) -> None:
        random = Random(seed)
        every, use = pools_of(world), use_of(world)
        own = [pool for pool in every if random.random() < 0.5]
        offer = make(own, PoolBlock(pool for pool in every if pool not in own))
        assert list(offer) == every
        devices = [device for pool in every for device in pool.devices]
        assert [offer.device(position) for position in range(offer.size)] == devices
        claims = [claim_of(claim) for claim in world.claims]
        for _ in range(2):  # what was asked about is remembered
            alone, together = Search(every, claims, use, _NODE, _FEATURES), Search(offer, claims, use, _NODE, _FEATURES)
            assert alone.run() == together.run()
            assert picked_of(alone) == picked_of(together)

    return law


def picked_of(search: Search) -> list[list[PublishedDevice]]:
    return [[picked.device for picked in of_claim] for of_claim in search.picked]


def test_shared_pools_are_searched_like_others() -> None:
    sharing(Offer)()


def test_the_laws_notice_pools_out_of_order() -> None:
    class OwnFirst(Offer):
        """Broken: has the node's own devices before all others."""

        def __init__(self, own: list[DevicePool], shared: PoolBlock) -> None:
            super().__init__([*own, *shared.pools])

    assert_notices(sharing(OwnFirst))


def test_a_claim_on_shared_devices_looks_at_few_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two hundred pools in use, the next search looks at as many devices as of twenty."""

    def looked_at(pools: int) -> int:
        published = []
        for number in range(pools):
            models = [{"name": f"d{i}", "attributes": {"model": {"int": number}}} for i in range(2)]
            about = {"name": f"p{number:04}", "generation": 1, "resourceSliceCount": 1}
            spec = {"driver": DRIVER, "pool": about, "devices": models, "allNodes": True}
            raw = {"metadata": {"name": f"s{number:04}"}, "spec": spec}
            published.append(PublishedSlice(convert_view(raw, ResourceSlice), _GATES))
        block = PoolBlock(gather_pools(published, _NODE, _FEATURES))
        request = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 2}
        raw_claim: Raw = {"requests": [{"name": "r0", "exactly": request}]}
        raw_claim["constraints"] = [{"matchAttribute": f"{DRIVER}/model"}]
        spec_of_claim = convert_view({"devices": raw_claim}, ResourceClaimSpec)
        claim = ClaimToAllocate("default/claim", compile_claim(spec_of_claim, lambda _: _CLASS, _GATES))
        use, hopeless, looks = DeviceUse(), searching.Hopeless(), [0]
        look = Offer.device

        def counted(offer: Offer, position: int) -> PublishedDevice:
            looks[0] += 1
            return look(offer, position)

        for number in range(pools):
            search = Search(Offer((), block), [claim], use, _NODE, _FEATURES, hopeless=hopeless)
            with monkeypatch.context() as patch:
                looks[0] = 0
                patch.setattr(Offer, "device", counted)
                assert search.run()
            results = [dict(zip(("driver", "pool", "device"), one.id, strict=True)) for one in picked_of(search)[0]]
            use.hold(f"claim-{number}", convert_view({"devices": {"results": results}}, AllocationResult))
        return looks[0]

    assert looked_at(200) == looked_at(20) < 8
