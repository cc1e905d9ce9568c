"""The changes of a what-if as writes: what is stored is what was asked, and nothing else."""

from typing import Any

import pytest
from tests.unit.dashboard.actions.test_actions import connected, spec_of
from tests.unit.plan.planning import node

from moorage.dashboard.actions import ActionContext, ActionError, act
from moorage.model.kinds import KINDS

pytestmark = pytest.mark.real_time
_OTHER = {"key": "other", "value": "1", "effect": "NoSchedule"}
_OLD = {"key": "level", "value": "3", "effect": "NoExecute"}


def tainted(value: str, nodes: Any = "all") -> dict[str, Any]:
    return {"taint": {"nodes": nodes, "key": "level", "value": value, "effect": "NoExecute"}}


async def add_pool(context: ActionContext) -> None:
    assert context.client is not None
    for name in ("spot-1", "spot-2"):
        await context.client.create(KINDS.NODE, node(name, taints=[_OLD, _OTHER], pool="spot"))


async def taints_of(context: ActionContext, name: str) -> list[dict[str, str]]:
    taints: list[dict[str, str]] = (await spec_of(context, KINDS.NODE, name)).get("taints", [])
    return sorted(taints, key=lambda one: one["key"])


async def test_a_taint_is_moved_on_a_pool_and_others_stay() -> None:
    async with connected() as context:
        await add_pool(context)
        change = tainted("9", {"label": {"key": "pool", "value": "spot"}})
        tried = await act("dry-run", {"changes": [change]}, context)
        assert [one["target"]["name"] for one in tried["results"]] == ["spot-1", "spot-2"]
        assert await taints_of(context, "spot-1") == [_OLD, _OTHER]
        made = await act("apply", {"changes": [change]}, context)
        assert (made["ok"], made["done"]) == (True, 2)
        for name in ("spot-1", "spot-2"):
            assert await taints_of(context, name) == [{**_OLD, "value": "9"}, _OTHER]
        assert await taints_of(context, "node-0") == []


async def test_a_patch_has_only_the_differences() -> None:
    async with connected() as context:
        await add_pool(context)
        tried = await act("dry-run", {"changes": [tainted("9", ["spot-1"])]}, context)
        changes = [one for one in tried["results"][0]["changes"] if one["op"] != "test"]
        assert changes == [{"op": "replace", "path": "/spec/taints/0/value", "value": "9"}]


async def test_nodes_that_are_so_already_are_left_alone() -> None:
    async with connected() as context:
        await add_pool(context)
        again = await act("apply", {"changes": [tainted("3", ["spot-1", "node-0"])]}, context)
        assert [one["target"]["name"] for one in again["results"]] == ["node-0"]
        again = await act("apply", {"changes": [tainted("3", ["spot-1", "node-0"])]}, context)
        assert (again["ok"], again["results"]) == (True, [])


async def test_several_changes_of_a_node_are_one_patch() -> None:
    async with connected() as context:
        await add_pool(context)
        changes = [
            {"untaint": {"nodes": ["spot-1"], "key": "level"}},
            {"label": {"nodes": ["spot-1"], "key": "zone", "value": "a"}},
            {"cordon": "spot-1"},
            {"scale": {"workload": "deployment/default/web", "replicas": 4}},
        ]
        made = await act("apply", {"changes": changes}, context)
        assert [(one["target"]["kind"], one["ok"]) for one in made["results"]] == [("Node", True), ("Deployment", True)]
        assert await taints_of(context, "spot-1") == [_OTHER]
        assert (await spec_of(context, KINDS.NODE, "spot-1"))["unschedulable"] is True
        assert (await spec_of(context, KINDS.DEPLOYMENT, "web", "default"))["replicas"] == 4
        assert context.client is not None
        labels = (await context.client.get(KINDS.NODE, "spot-1")).raw["metadata"]["labels"]
        assert labels["zone"] == "a"


async def test_a_pool_is_cordoned_by_its_label() -> None:
    async with connected() as context:
        await add_pool(context)
        pool = {"label": {"key": "pool", "value": "spot"}}
        made = await act("apply", {"changes": [{"cordon": {"nodes": pool}}]}, context)
        assert [(one["target"]["name"], one["ok"]) for one in made["results"]] == [("spot-1", True), ("spot-2", True)]


async def test_a_device_taint_is_one_rule_that_moves_with_its_value() -> None:
    async with connected(gates={"DRADeviceTaintRules": True}) as context:
        assert context.client is not None

        def change(value: str) -> dict[str, Any]:
            taint = {"driver": "gpu.example.com", "pool": "p", "key": "hours", "value": value, "effect": "NoExecute"}
            return {"changes": [{"deviceTaint": taint}]}

        tried = await act("dry-run", change("9"), context)
        taint = {"key": "hours", "value": "9", "effect": "NoExecute"}
        spec = {"deviceSelector": {"driver": "gpu.example.com", "pool": "p"}, "taint": taint}
        assert tried["results"][0]["changes"] == [{"op": "add", "path": "/spec", "value": spec}]
        for value in ("9", "5"):
            made = await act("apply", change(value), context)
            assert made["ok"], made["results"]
            (rule,) = (await context.client.list_all(KINDS.DEVICE_TAINT_RULE)).items
            assert rule.raw["spec"]["taint"]["value"] == value
            assert rule.raw["spec"]["deviceSelector"] == {"driver": "gpu.example.com", "pool": "p"}
        again = await act("apply", change("5"), context)
        assert again["results"] == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([{"drain": "node-0"}], "kubectl drain"),
        ([{"remove": "node-0"}], "kubectl delete node"),
        ([{"apply": "kind: Pod"}], "kubectl apply"),
        ([tainted("1", ["node-9"])], "there is no node 'node-9'"),
        ([{"taint": {"key": "level"}}], "changes[0].taint"),
        ([{"scale": {"workload": "web", "replicas": 2}}], "KIND/NAMESPACE/NAME"),
        ([{"scale": {"workload": "deployment/default/gone", "replicas": 2}}], "not found"),
        ("all", "must be a list"),
    ],
)
async def test_what_cannot_be_written_is_refused(changes: Any, message: str) -> None:
    async with connected() as context:
        with pytest.raises(ActionError, match=message.replace("[", r"\[")):
            await act("apply", {"changes": changes}, context)
