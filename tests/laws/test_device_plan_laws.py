"""What a plan says of devices is what a cluster does: the same pods, on the same nodes, with the same devices.

Pods of one workload are interchangeable, so devices are compared by workload. Claims that are generated are compared by
the workload of their pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_worlds import World
from tests.laws.world_in_cluster import objects_in_cluster
from tests.laws.world_picture import row_of, shortened, workload_of
from tests.unit.plan.device_worlds import (
    above,
    claim,
    device_class,
    gpu,
    of_claim,
    of_template,
    request,
    template,
    with_claim,
    with_gpus,
)
from tests.unit.plan.planning import Plan, Raw, workload

from moorage.match.devices.claims import claim_keys
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.plan.devices import device_lines

GATES = {"TaintTolerationComparisonOperators": True}
BUDGETS = st.sampled_from(["", "8", "30"])
MODELS = st.sampled_from(["m0", "m1", "m2", "c"])
NAMED = ("Pod", "ResourceClaim")
#: Long enough for every pod that waits to be tried again.
SECONDS = 400.0

Summary = dict[str, Any]


@st.composite
def requests(draw: st.DrawFn, model: str) -> list[Raw]:
    expression = f"device.attributes['gpu.example.com'].model == '{model}'"
    fields: Raw = {"count": draw(st.integers(1, 2)), "selectors": [{"cel": {"expression": expression}}]}
    if draw(st.booleans()):
        fields["tolerations"] = above(draw(st.sampled_from(["5", "24"])))
    return [request(**fields)]


@st.composite
def device_worlds(draw: st.DrawFn) -> list[Raw]:
    """Nodes with devices, then pods and workloads that use them, each those of another model.

    Which of two workloads gets the last device depends on which of their claims is made first.
    """
    made: list[Raw] = [device_class(), claim("c", *draw(requests("c")))]
    for number in range(draw(st.integers(1, 3))):
        devices = [gpu(f"gpu-{i}", draw(BUDGETS), draw(MODELS)) for i in range(draw(st.integers(0, 5)))]
        node, published = with_gpus(f"n{number}", *devices)
        made += [node, published] if devices else [node]
    for number in range(draw(st.integers(1, 3))):
        made.append(template(f"t{number}", *draw(requests(f"m{number}"))))
        claims = draw(
            st.sampled_from([of_template(f"t{number}"), of_claim("c"), of_claim("absent"), of_template("absent")])
        )
        if draw(st.booleans()):
            made.append(with_claim(f"w{number}", claims))
        else:
            replicas = draw(st.integers(1, 3))
            made.append(workload("Deployment", f"w{number}", "100m", {"resourceClaims": claims}, replicas=replicas))
    return made


def plan_summary(documents: list[Raw]) -> Summary:
    plan = Plan(*documents, gates=GATES)
    world = plan.simulation.world
    found = {name: list(world.all(kind)) for (_, name), kind in KINDS.items() if name in NAMED}
    waiting = [line.message for line in plan.outcome.pending if line.reason == "Unschedulable"]
    shown = Counter(
        (line.workload or line.name, one.name) for line in plan.outcome.pods if line.node for one in line.devices
    )
    assert sum(shown.values()) == sum(given_devices(found).values())
    return device_summary(found) | {"reasons": Counter(map(shortened, waiting))}


def cluster_summary(documents: list[Raw]) -> Summary:
    return device_summary(objects_in_cluster(World(documents, gates_from(GATES), {}), SECONDS, NAMED))


def device_summary(found: dict[str, list[Any]]) -> Summary:
    claims = Counter(
        (one.view.status.allocation is not None, len(one.view.status.reservedFor)) for one in found[NAMED[1]]
    )
    rows = [row_of(one.view) for one in found["Pod"]]
    return {
        "placements": Counter((row.workload, row.node, row.phase) for row in rows),
        "reasons": Counter(row.message for row in rows if row.reason),
        "devices": given_devices(found),
        "claims": claims,
    }


def given_devices(found: dict[str, list[Any]]) -> Counter[tuple[str, str]]:
    """Count the devices that pods with a node have, by workload and device."""
    claims = {one.key: one.view for one in found["ResourceClaim"]}
    return Counter(
        (workload_of(one.view), line.name)
        for one in found["Pod"]
        if one.view.spec.nodeName
        for line in _lines(one, claims)
    )


def _lines(pod: Any, claims: dict[str, Any]) -> Iterable[Any]:
    for namespace, name in claim_keys(pod.view):
        held = claims.get(f"{namespace}/{name}")
        if held is not None and held.status.allocation is not None:
            yield from device_lines(name, held.status.allocation)


def law_of_one_truth(plan: Callable[[list[Raw]], Summary]) -> None:
    @settings(LAW_SETTINGS, max_examples=examples(30))
    @given(device_worlds())
    def law(documents: list[Raw]) -> None:
        assert plan(documents) == cluster_summary(documents)

    law()


def test_a_plan_says_which_devices_a_cluster_gives() -> None:
    law_of_one_truth(plan_summary)


def test_a_plan_that_ignores_the_taints_of_devices_is_noticed() -> None:
    def careless(documents: list[Raw]) -> Summary:
        return plan_summary([_untainted(one) if one["kind"] == "ResourceSlice" else one for one in documents])

    assert_notices(lambda: law_of_one_truth(careless))


def _untainted(published: Raw) -> Raw:
    devices = [{name: value for name, value in one.items() if name != "taints"} for one in published["spec"]["devices"]]
    return {**published, "spec": {**published["spec"], "devices": devices}}
