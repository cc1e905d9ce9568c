"""DynamicResources, with its codes and tables, says what a naive allocator says that asks each node anew."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_devices import GATES, RandomDevices

from moorage.columns.cluster import Cluster
from moorage.columns.devices.devices import Devices
from moorage.columns.devices.use import DeviceUse
from moorage.match.devices.allocation.allocate import allocate
from moorage.match.devices.allocation.features import AllocationError, allocator_features
from moorage.match.devices.allocation.pools import gather_pools
from moorage.match.devices.allocation.published import AllocationNode, PublishedSlice
from moorage.match.devices.allocation.requests import compile_claim
from moorage.match.devices.allocation.search import ClaimToAllocate
from moorage.match.node_selector import compile_node_selector
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import AllocationResult, DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from moorage.model.types.pod import Pod
from moorage.schedule.candidates import Engine
from moorage.schedule.config.default_profile import DEFAULT_SCHEDULER, default_profile
from moorage.schedule.cycle import Bind, Scheduler
from moorage.schedule.plugins.devices.dynamic_resources import DynamicResources

_FEATURES = allocator_features(GATES)
_SETTINGS = settings(LAW_SETTINGS, max_examples=examples(150))
Raw = dict[str, Any]


def naive_answer(world: RandomDevices, pod: Pod, node: str) -> tuple[str, list[Raw]]:
    """Return "" and the allocations if the pod's claims can be had on a node, otherwise a reason."""
    objects = world.objects
    classes = {name: convert_view(raw, DeviceClass) for name, raw in objects["classes"].items()}
    rules = [convert_view(raw, DeviceTaintRule) for _, raw in sorted(objects["rules"].items())]
    slices = [convert_view(raw, ResourceSlice) for _, raw in sorted(objects["slices"].items())]
    claims = {name: convert_view(raw, ResourceClaim) for name, raw in objects["claims"].items()}
    use = DeviceUse()
    for name, claim in claims.items():
        use.hold(name, claim.status.allocation)
    for key, allocation in world.cluster.devices.promises.items():
        use.hold("/".join(key), allocation)
    nodes = world.cluster.nodes
    here = AllocationNode(node, nodes.node(nodes.slot_of[node]).metadata.labels)
    wanted = [claims[entry.resourceClaimName or ""] for entry in pod.spec.resourceClaims]
    waiting = [claim for claim in wanted if claim.status.allocation is None]
    pools = gather_pools([PublishedSlice(one, GATES, rules) for one in slices], here, _FEATURES)
    asked = [
        ClaimToAllocate(f"default/{claim.metadata.name}", compile_claim(claim.spec, classes.get, GATES))
        for claim in waiting
    ]
    found: list[Raw] | None = []
    if asked:
        try:
            found = allocate(pools, asked, use, here, _FEATURES, new_share_id=lambda: "*")
        except AllocationError as error:
            return str(error), []
    if found is None:
        return "cannot allocate all claims", []
    for claim in wanted:
        written = claim.status.allocation
        selector = written.nodeSelector if written is not None else None
        if selector is not None and not compile_node_selector(selector, GATES).match(here.labels, node):
            return "resourceclaim not available on the node", []
    return "", found


def naive_score(world: RandomDevices, pod: Pod, new: list[Raw]) -> int:
    """Add eight for every first alternative that is used, seven for every second one."""
    score, left = 0, list(new)
    for entry in pod.spec.resourceClaims:
        raw = world.objects["claims"][entry.resourceClaimName or ""]
        allocation = (raw.get("status") or {}).get("allocation") or left.pop(0)
        used = {result["request"] for result in allocation["devices"].get("results", [])}
        for request in raw["spec"]["devices"]["requests"]:
            for i, one in enumerate(request.get("firstAvailable", [])):
                score += 8 - i if f"{request['name']}/{one['name']}" in used else 0
    return score


def plugin_is_naive(make: Callable[[], DynamicResources]) -> Callable[[], None]:
    @_SETTINGS
    @given(st.integers(0, 2**32), st.integers(1, 12))
    def law(seed: int, steps: int) -> None:
        world, plugin = RandomDevices(seed), make()
        profile = default_profile(GATES)
        filters = tuple(plugin if one.name == plugin.name else one for one in profile.filters)
        engine = Engine(type(profile)(profile.name, filters, ()), world.cluster)
        for _ in range(steps):
            world.step()
            if world.objects["claims"]:
                compare(world, plugin, engine)

    return law


def compare(world: RandomDevices, plugin: DynamicResources, engine: Engine) -> None:
    cluster, pod = world.cluster, world.pod()
    record = cluster.record("default/pod", pod)
    candidates = engine.candidates(record.shape)
    prepared = candidates.prepared[plugin]
    if prepared.rejection is not None:
        return
    want = prepared.want
    mask, feasible = plugin.filter(want, cluster), candidates.feasible()
    for name, slot in cluster.nodes.slot_of.items():
        reason, allocations = naive_answer(world, pod, name)
        verdict = plugin.explain(want, cluster, slot)
        assert (verdict.reasons[0] if verdict is not None else "") == reason
        assert mask[slot] == plugin.filter_slot(want, cluster, slot) == feasible[slot] == (not reason)
        if not reason and prepared.scores:
            assert plugin.score_slot(want, cluster, slot) == naive_score(world, pod, allocations)
        if not reason and allocations:
            plugin.reserve(want, cluster, record, slot)
            promised = cluster.devices.promises.of("default/pod")
            names = [key[1] for key in promised]
            asked = [entry.resourceClaimName or "" for entry in pod.spec.resourceClaims]
            waiting = [one for one in asked if not world.objects["claims"][one].get("status", {}).get("allocation")]
            by_name = dict(zip(waiting, allocations, strict=True))
            assert [_without_shares(promised["default", one]) for one in names] == [by_name[one] for one in names]
            plugin.unreserve(want, cluster, record)
    assert not cluster.devices.promises


def _without_shares(raw: Raw) -> Raw:
    results = [{**one, "shareID": "*"} if "shareID" in one else one for one in raw["devices"].get("results", [])]
    return {**raw, "devices": {**raw["devices"], **({"results": results} if results else {})}}


def test_the_plugin_says_what_a_naive_allocator_says() -> None:
    plugin_is_naive(lambda: DynamicResources(GATES))()


class NeverAsksAgain(DynamicResources):
    """A twin that believes what it knew about a slot."""

    def filter_slot(self, want: Any, cluster: Cluster, slot: int) -> bool:
        known = self.__dict__.setdefault("known", {})
        answer: bool = known.setdefault((id(want), slot), super().filter_slot(want, cluster, slot))
        return answer


class LikesNoAlternative(DynamicResources):
    """A twin without preferences."""

    def score_slot(self, want: Any, cluster: Cluster, slot: int) -> int:
        return 0


class BelievesWhatIsShared(DynamicResources):
    """A twin that never asks nodes again because the use of devices changed that many of them share."""

    def epoch(self, want: Any, cluster: Cluster) -> Any:
        want.epoch(cluster)
        return 0


def test_the_law_notices_answers_about_shared_devices_that_are_kept() -> None:
    assert_notices(plugin_is_naive(lambda: BelievesWhatIsShared(GATES)))


def test_the_law_notices_wrong_scores() -> None:
    assert_notices(plugin_is_naive(lambda: LikesNoAlternative(GATES)))


def test_the_law_notices_stale_answers() -> None:
    assert_notices(plugin_is_naive(lambda: NeverAsksAgain(GATES)))


# -- no device twice ---------------------------------------------------------------------------------------------------


def no_device_twice(damage: Callable[[Devices], None]) -> Callable[[], None]:
    @_SETTINGS
    @given(st.integers(0, 2**32), st.integers(1, 25))
    def law(seed: int, steps: int) -> None:
        world = RandomDevices(seed)
        damage(world.cluster.devices)
        scheduler = Scheduler({DEFAULT_SCHEDULER: default_profile(GATES)}, world.cluster)
        for number in range(steps):
            if world.random.random() < 0.4:
                world.step()
            if not world.objects["claims"]:
                continue
            pod = world.pod()
            record = world.cluster.record(f"default/pod-{number}", pod)
            scheduler.queue.add(record, float(number))
            before = whole_devices(world)
            action = scheduler.step(float(number))
            if not isinstance(action, Bind):
                scheduler.delete(record.key, float(number))
                continue
            promised = world.cluster.devices.promises.of(record.key)
            new = Counter(device for raw in promised.values() for device in _whole(raw))
            assert not any(before[device] or count > 1 for device, count in new.items())
            written_or_not(world, scheduler, action, float(number))

    return law


def written_or_not(world: RandomDevices, scheduler: Scheduler, action: Bind, now: float) -> None:
    """Let the watch show what was promised, or the binding fail, or nothing happen for now."""
    fate = world.random.random()
    if fate < 0.2:
        scheduler.bind_failed(action, now)
        scheduler.delete(action.record.key, now)
        assert not world.cluster.devices.promises.of(action.record.key)
    elif fate < 0.7:
        for (_, name), raw in world.cluster.devices.promises.of(action.record.key).items():
            world._set("claims", {**world.objects["claims"][name], "status": {"allocation": raw}})


def whole_devices(world: RandomDevices) -> Counter[tuple[str, str, str]]:
    """Return the devices that claims have as a whole, by the objects and the promises."""
    held = [raw["status"]["allocation"] for raw in world.objects["claims"].values() if raw.get("status")]
    promises = world.cluster.devices.promises
    held += [raw for pod in world.cluster.pods for raw in promises.of(pod).values()]
    return Counter(device for raw in held for device in _whole(raw))


def _whole(raw: Raw) -> list[tuple[str, str, str]]:
    results = convert_view(raw, AllocationResult).devices.results
    return [(one.driver, one.pool, one.device) for one in results if one.shareID is None and not one.adminAccess]


def test_no_device_is_given_away_twice() -> None:
    no_device_twice(lambda devices: None)()


def _do_not_count(devices: Devices) -> None:
    devices.promises._count = lambda holder, allocation: None


def test_the_law_notices_promises_that_do_not_count() -> None:
    assert_notices(no_device_twice(_do_not_count))
