"""Claims and rules go with their owners and namespaces; in virtual time with the real API server."""

from tests.unit.control.devices.claimed import Claims, claim, context, device_slice, pod, rule, template

from moorage.control.framework.controller import Controller
from moorage.control.garbage import GarbageCollector
from moorage.control.namespace import NamespaceController
from moorage.control.resource_claim.controller import ResourceClaimController
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS

_GATES = gates_from({"DRADeviceTaintRules": True})


def controllers() -> list[Controller]:
    return [one(context(_GATES)) for one in (ResourceClaimController, GarbageCollector, NamespaceController)]


async def test_the_claim_of_a_deleted_pod_goes_with_it() -> None:
    async with Claims.running(controllers, gates=_GATES, collects_garbage=True) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(template("gpus"), pod("p", "n", own="of:gpus"), pod("q", own="of:gpus"))
        await cluster.settle()
        await cluster.allocate((await cluster.generated("p"))["own"], "p")
        for name in ("p", "q"):
            await cluster.client.delete(KINDS.POD, name, "default")
        await cluster.settle(5)
        assert not await cluster.all(KINDS.RESOURCE_CLAIM)
        assert await cluster.all(KINDS.RESOURCE_CLAIM_TEMPLATE)


async def test_a_deleted_namespace_is_emptied_of_claims_and_templates() -> None:
    async with Claims.running(controllers, gates=_GATES, collects_garbage=True) as cluster:
        assert isinstance(cluster, Claims)
        cluster.namespace = "team"
        await cluster.make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        await cluster.make(template("gpus"), claim("shared"), pod("p", "n", own="of:gpus", other="shared"))
        await cluster.settle()
        await cluster.allocate((await cluster.generated("p"))["own"], "p")
        await cluster.allocate("shared", "p", device="gpu-1")
        await cluster.client.delete(KINDS.NAMESPACE, "team")
        await cluster.settle(60)
        assert "team" not in {found.name for found in await cluster.all(KINDS.NAMESPACE)}
        for kind in (KINDS.POD, KINDS.RESOURCE_CLAIM, KINDS.RESOURCE_CLAIM_TEMPLATE):
            assert not await cluster.all(kind)


async def test_a_rule_goes_with_the_slice_that_owns_it() -> None:
    async with Claims.running(controllers, gates=_GATES, collects_garbage=True) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(device_slice("s", {"a": []}))
        uid = (await cluster.client.get(KINDS.RESOURCE_SLICE, "s")).uid
        owned = rule("bad", {"key": "k", "effect": "NoSchedule"}, device="a")
        owner = {
            "apiVersion": KINDS.RESOURCE_SLICE.api_version,
            "kind": KINDS.RESOURCE_SLICE.name,
            "name": "s",
            "uid": uid,
        }
        owned["metadata"]["ownerReferences"] = [owner]
        await cluster.make(owned)
        await cluster.client.delete(KINDS.RESOURCE_SLICE, "s")
        await cluster.settle(5)
        assert not await cluster.all(KINDS.DEVICE_TAINT_RULE)
