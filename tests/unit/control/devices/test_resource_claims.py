"""Claims from templates, reservations and their end; in virtual time with the real API server."""

from collections.abc import Callable

import pytest
from tests.unit.control.devices.claimed import Claims, claim, context, pod, template

from moorage.control.resource_claim.controller import ResourceClaimController
from moorage.control.resource_claim.pod_claims import generate_name
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.model.well_known.finalizers import RESOURCE_CLAIM_IN_USE


def controllers() -> list[ResourceClaimController]:
    return [ResourceClaimController(context())]


async def test_a_claim_is_made_from_the_template_and_named_in_the_status_of_the_pod() -> None:
    async with Claims.running(controllers) as cluster:
        assert isinstance(cluster, Claims)
        described = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
        await cluster.make(template("gpus", described), claim("shared"), pod("p", own="of:gpus", other="shared"))
        await cluster.settle()
        names = await cluster.generated("p")
        assert list(names) == ["own"]
        made = (await cluster.get(names["own"])).view
        assert made.metadata.generateName == "p-own-"
        assert made.metadata.name.startswith("p-own-")
        assert len(made.metadata.name) == len("p-own-") + 5
        assert made.metadata.labels == {"a": "b"}
        assert made.metadata.annotations == {"c": "d", "resource.kubernetes.io/pod-claim-name": "own"}
        (owner,) = made.metadata.ownerReferences
        assert (owner.name, owner.uid, owner.controller) == ("p", (await cluster.pod("p")).uid, True)
        assert made.spec.devices.requests[0].exactly.deviceClassName == "gpu"
        assert not cluster.events


async def test_a_claim_that_was_deleted_is_made_again_and_one_that_was_not_recorded_is_found() -> None:
    async with Claims.running(controllers) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(template("gpus"), pod("p", own="of:gpus"))
        await cluster.settle()
        first = (await cluster.generated("p"))["own"]
        await cluster.client.delete(KINDS.RESOURCE_CLAIM, first, "default")
        await cluster.settle()
        second = (await cluster.generated("p"))["own"]
        assert second != first
        await cluster.stop()
        patch = {"status": {"resourceClaimStatuses": [{"$patch": "delete", "name": "own"}]}}
        await cluster.client.patch(KINDS.POD, "p", "default", patch, subresource="status")
        assert not await cluster.generated("p")
        await cluster.start()
        await cluster.settle()
        assert (await cluster.generated("p"))["own"] == second
        assert len(await cluster.all(KINDS.RESOURCE_CLAIM)) == 1


async def test_a_missing_template_is_reported_until_it_is_there() -> None:
    async with Claims.running(controllers) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(pod("p", own="of:gpus"))
        await cluster.settle()
        why = 'resource claim template "gpus": resourceclaimtemplate.resource.k8s.io "gpus" not found'
        assert set(cluster.messages("FailedResourceClaimCreation")) == {f"PodResourceClaim own: {why}"}
        await cluster.make(template("gpus"))
        await cluster.settle(0.2)
        assert await cluster.generated("p")


async def test_created_and_refused_claims_are_counted_and_refusals_reported() -> None:
    kept = controllers()

    async def allow(value: str | None) -> None:
        patch = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": value}}}
        await cluster.client.patch(KINDS.NAMESPACE, "default", "", patch)

    async with Claims.running(lambda: kept) as cluster:
        assert isinstance(cluster, Claims)
        await allow("true")
        await cluster.make(template("gpus"), template("admin", adminAccess=True), pod("fine", own="of:gpus"))
        await allow(None)
        await cluster.make(pod("p", own="of:admin"))
        await cluster.settle()
        message = cluster.messages("FailedResourceClaimCreation")[0]
        assert message.startswith("PodResourceClaim own: create ResourceClaim : ")
        assert "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label" in message
        text = kept[0].context.metrics.render()[0].decode()
        assert 'resourceclaim_controller_creates_total{status="success",admin_access="false"} 1' in text
        assert 'resourceclaim_controller_creates_total{status="failure",admin_access="true"}' in text
        labels = 'allocated="false",admin_access="false",source="resource_claim_template"'
        assert f"resourceclaim_controller_resource_claims{{{labels}}} 1" in text


@pytest.mark.parametrize("end", ["Succeeded", "Failed"])
async def test_the_claim_of_a_finished_pod_is_released_and_deleted(end: str) -> None:
    async with Claims.running(controllers) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(
            template("gpus"),
            claim("shared"),
            pod("p", "n", own="of:gpus", other="shared"),
            pod("q", "n", other="shared"),
        )
        await cluster.settle()
        own = (await cluster.generated("p"))["own"]
        await cluster.allocate(own, "p")
        await cluster.allocate("shared", "p", "q", device="gpu-1")
        await cluster.settle()
        assert len((await cluster.get("shared")).view.status.reservedFor) == 2
        await cluster.finish("p", end)
        await cluster.settle()
        shared = (await cluster.get("shared")).view
        assert [one.name for one in shared.status.reservedFor] == ["q"]
        assert shared.status.allocation is not None
        assert shared.metadata.finalizers == (RESOURCE_CLAIM_IN_USE,)
        with pytest.raises(ApiError, match="not found"):
            await cluster.get(own)


async def delete_pod(cluster: Claims) -> None:
    await cluster.client.delete(KINDS.POD, "p", "default")


async def replace_pod(cluster: Claims) -> None:
    await delete_pod(cluster)
    await cluster.make(pod("p", other="shared"))


async def delete_while_stopped(cluster: Claims) -> None:
    await cluster.stop()
    await delete_pod(cluster)
    await cluster.start()


@pytest.mark.parametrize("end", [delete_pod, replace_pod, delete_while_stopped])
async def test_a_claim_that_nothing_uses_is_deallocated_but_stays(end: Callable[[Claims], object]) -> None:
    async with Claims.running(controllers) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(claim("shared"), pod("p", "n", other="shared"))
        await cluster.allocate("shared", "p")
        await cluster.settle()
        assert (await cluster.get("shared")).view.status.allocation is not None
        await end(cluster)  # type: ignore[misc]
        await cluster.settle()
        shared = (await cluster.get("shared")).view
        assert shared.status.allocation is None
        assert not shared.status.reservedFor
        assert not shared.metadata.finalizers


async def test_a_claim_that_was_never_reserved_stays_allocated_until_it_is_deleted() -> None:
    async with Claims.running(controllers) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(claim("free"))
        await cluster.allocate("free")
        await cluster.settle()
        assert (await cluster.get("free")).view.status.allocation is not None
        await cluster.client.delete(KINDS.RESOURCE_CLAIM, "free", "default")
        await cluster.settle()
        assert not await cluster.all(KINDS.RESOURCE_CLAIM)


async def test_a_used_claim_that_is_deleted_stays_until_its_pod_is_done() -> None:
    async with Claims.running(controllers) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(claim("shared"), pod("p", "n", other="shared"))
        await cluster.allocate("shared", "p")
        await cluster.client.delete(KINDS.RESOURCE_CLAIM, "shared", "default")
        await cluster.settle(5)
        assert await cluster.all(KINDS.RESOURCE_CLAIM)
        await cluster.finish("p")
        await cluster.settle()
        assert not await cluster.all(KINDS.RESOURCE_CLAIM)


async def test_an_allocated_claim_is_reserved_for_a_pod_that_was_bound_without_the_scheduler() -> None:
    async with Claims.running(controllers) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(claim("shared"), pod("p", "n", other="shared"))
        await cluster.settle()
        assert not (await cluster.get("shared")).view.status.reservedFor
        await cluster.allocate("shared")
        await cluster.settle()
        assert [one.name for one in (await cluster.get("shared")).view.status.reservedFor] == ["p"]


async def test_the_claim_for_extended_resources_of_a_finished_pod_is_deleted() -> None:
    async with Claims.running(controllers) as cluster:
        assert isinstance(cluster, Claims)
        extended = pod("p", "n")
        extended["spec"]["containers"][0]["resources"] = {"limits": {"example.com/gpu": "1"}}
        await cluster.make(extended)
        owner = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "p",
            "uid": (await cluster.pod("p")).uid,
            "controller": True,
        }
        made = claim("p-extended-resources-x")
        made["metadata"] |= {
            "ownerReferences": [owner],
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        }
        await cluster.make(made)
        await cluster.allocate("p-extended-resources-x", "p")
        mapping = {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "gpu"}
        status = {"resourceClaimName": "p-extended-resources-x", "requestMappings": [mapping]}
        patch = {"status": {"extendedResourceClaimStatus": status}}
        await cluster.client.patch(KINDS.POD, "p", "default", patch, subresource="status")
        await cluster.settle()
        assert await cluster.all(KINDS.RESOURCE_CLAIM)
        await cluster.finish("p")
        await cluster.settle()
        assert not await cluster.all(KINDS.RESOURCE_CLAIM)


def test_long_names_are_cut_in_proportion() -> None:
    assert generate_name("web", "gpu") == "web-gpu-"
    assert generate_name("p" * 52, "gpu") == "p" * 52 + "-gpu-"
    assert generate_name("p" * 53, "gpu") == "p" * 52 + "-gp"
    assert len(generate_name("p" * 253, "c" * 63)) <= 57
