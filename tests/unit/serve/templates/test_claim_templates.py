"""Claims that are generated for the pods of one template are admitted at once, as if each went the usual way."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.control.devices.claimed import Raw, claim_spec
from tests.virtual_cluster import VirtualCluster

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.serve.templates import claims as claim_templates


def generated(pod: str, **changes: Any) -> Raw:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": f"uid-of-{pod}", "controller": True}
    metadata: Raw = {
        "name": f"{pod}-gpu-abcde",
        "generateName": f"{pod}-gpu-",
        "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
        "ownerReferences": [owner],
        **changes,
    }
    return {
        "apiVersion": KINDS.RESOURCE_CLAIM.api_version,
        "kind": KINDS.RESOURCE_CLAIM.name,
        "metadata": metadata,
        "spec": claim_spec(),
    }


async def made(cluster: VirtualCluster, document: Raw) -> tuple[Raw, Any]:
    found = await cluster.client.create(KINDS.RESOURCE_CLAIM, document, "default")
    raw = (await cluster.client.get(KINDS.RESOURCE_CLAIM, found.name, "default")).raw
    for field in ("uid", "resourceVersion"):
        del raw["metadata"][field]
    return raw, found.view


def plain(pod: str, **changes: Any) -> Raw:
    """A claim that a user has made."""
    document = generated(pod, **changes)
    for field in ("generateName", "annotations", "ownerReferences"):
        del document["metadata"][field]
    return document


@pytest.mark.parametrize("document", [generated, plain])
@pytest.mark.parametrize("more", [{}, {"labels": {"a": "b"}}])
async def test_claims_are_the_same_as_if_they_went_the_usual_way(
    monkeypatch: pytest.MonkeyPatch, more: Raw, document: Callable[..., Raw]
) -> None:
    async with VirtualCluster.running(list) as cluster:
        at_once = [await made(cluster, document(f"p{number}", **more)) for number in range(4)]
        assert len(cluster.api.claim_templates._known) == 1
    monkeypatch.setattr(claim_templates, "_likeness", lambda *arguments: b"")
    async with VirtualCluster.running(list) as cluster:
        usual = [await made(cluster, document(f"p{number}", **more)) for number in range(4)]
        assert not cluster.api.claim_templates._known
    assert [raw for raw, _ in at_once] == [raw for raw, _ in usual]
    for (_, one), (_, other) in zip(at_once, usual, strict=True):
        assert one.spec == other.spec
        assert one.metadata.ownerReferences == other.metadata.ownerReferences
        assert (one.metadata.name, one.metadata.labels) == (other.metadata.name, other.metadata.labels)


async def test_what_the_usual_way_refuses_is_refused() -> None:
    async with VirtualCluster.running(list) as cluster:
        for number in range(2):
            await made(cluster, generated(f"p{number}"))
        with pytest.raises(ApiError, match="already exists"):
            await made(cluster, generated("p1"))
        changes: list[Raw] = [{"name": "UP"}, {"generateName": "x_"}, {"labels": {"a b": ""}}]
        for change in (*changes, {"ownerReferences": [{}]}):
            with pytest.raises(ApiError, match="is invalid"):
                await made(cluster, generated("q", **change))
        bad = generated("q")
        bad["spec"] = claim_spec(count=-1)
        with pytest.raises(ApiError, match="is invalid"):
            await made(cluster, bad)


async def test_no_claim_is_made_in_a_namespace_that_is_being_deleted() -> None:
    async with VirtualCluster.running(list) as cluster:
        await cluster.client.create(
            KINDS.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
        )
        for number in range(2):
            await cluster.client.create(KINDS.RESOURCE_CLAIM, generated(f"p{number}"), "team")
        await cluster.client.delete(KINDS.NAMESPACE, "team")
        with pytest.raises(ApiError, match="because it is being terminated"):
            await cluster.client.create(KINDS.RESOURCE_CLAIM, generated("q"), "team")
