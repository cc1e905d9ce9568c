"""Claims that are not the StatefulSet's to give away are left alone; others' controllers are told of."""

from typing import Any

from tests.unit.control.stateful_set.stateful_sets import claim_template, numbered, stateful_set

from moorage.client.protocol import PatchType
from moorage.model.kinds import KINDS


def owner(kind: str, name: str, api_version: str = "v1", *, controls: bool = True) -> dict[str, Any]:
    reference = {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-{name}"}
    return {**reference, "controller": True} if controls else reference


def policy(deleted: str) -> dict[str, str]:
    return {"whenDeleted": deleted, "whenScaled": "Retain"}


async def test_somebody_else_controls_the_claim() -> None:
    async with numbered() as found:
        await found.create(
            stateful_set(
                replicas=1,
                volumeClaimTemplates=[claim_template()],
                persistentVolumeClaimRetentionPolicy=policy("Delete"),
            )
        )
        (claim,) = await found.claims()
        ours = claim.raw["metadata"]["ownerReferences"]
        other = owner("ConfigMap", "other")
        references = [{**ours[0], "controller": False}, other]
        patch = {"metadata": {"ownerReferences": references}}
        await found.cluster.client.patch(
            KINDS.PERSISTENT_VOLUME_CLAIM, claim.name, "default", patch, patch_type=PatchType.MERGE
        )
        await found.change({"minReadySeconds": 1})
        (claim,) = await found.claims()
        assert [one["name"] for one in claim.raw["metadata"]["ownerReferences"]] == ["other"]
        assert found.messages("ConflictingController") == [
            "PersistentVolumeClaim www-web-0 has a conflicting OwnerReference that acts as a manging controller, "
            "the retention policy is ignored for this claim"
        ]


async def test_the_claim_of_an_earlier_set_of_that_name_is_left_alone() -> None:
    async with numbered() as found:
        claim = {
            **claim_template(),
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": "www-web-0",
                "ownerReferences": [owner("StatefulSet", "web", "apps/v1", controls=False)],
            },
        }
        await found.cluster.client.create(KINDS.PERSISTENT_VOLUME_CLAIM, claim, "default")
        await found.create(
            stateful_set(
                replicas=1,
                volumeClaimTemplates=[claim_template()],
                persistentVolumeClaimRetentionPolicy=policy("Delete"),
            )
        )
        (kept,) = await found.claims()
        assert kept.raw["metadata"]["ownerReferences"] == claim["metadata"]["ownerReferences"]
        assert await found.names() == ["web-0"]


async def test_a_claim_that_is_going_is_waited_for() -> None:
    async with numbered() as found:
        claim = {
            **claim_template(),
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "www-web-0", "finalizers": ["example.com/wait"]},
        }
        await found.cluster.client.create(KINDS.PERSISTENT_VOLUME_CLAIM, claim, "default")
        await found.cluster.client.delete(KINDS.PERSISTENT_VOLUME_CLAIM, "www-web-0", "default")
        await found.create(stateful_set(replicas=1, volumeClaimTemplates=[claim_template()]))
        assert await found.names() == []
        text = "Create Pod web-0 in StatefulSet web failed error: pvc www-web-0 is being deleted"
        assert set(found.messages("FailedCreate")) == {text}
        patch = {"metadata": {"finalizers": None}}
        await found.cluster.client.patch(
            KINDS.PERSISTENT_VOLUME_CLAIM, "www-web-0", "default", patch, patch_type=PatchType.MERGE
        )
        await found.cluster.settle(10)
        assert await found.names() == ["web-0"]


async def test_a_claim_that_is_refused_is_told() -> None:
    async with numbered() as found:
        template = claim_template()
        template["metadata"]["annotations"] = {"no key": "x"}
        await found.create(stateful_set(replicas=1, volumeClaimTemplates=[template]), settle=5)
        assert await found.names() == []
        texts = found.messages("FailedCreate")
        assert texts[0].startswith("Create Claim www-web-0 for Pod web-0 in StatefulSet web failed error: Persist")
        refused = "Create Pod web-0 in StatefulSet web failed error: failed to create PVC www-web-0: Persist"
        assert texts[1].startswith(refused)
