"""Claims for the ephemeral volumes of pods; in virtual time with the real API server."""

from tests.controller_context import controller_context
from tests.unit.control.volumes.stored import Raw, Storage, claim, pod

from moorage.control.volumes.ephemeral import EphemeralVolumes
from moorage.model.kinds import KINDS


def scratchy(name: str, **metadata: Raw) -> Raw:
    document = pod(name)
    template = {"metadata": metadata, "spec": claim("x")["spec"]}
    document["spec"]["volumes"] = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    return document


async def test_a_claim_is_made_of_the_template_and_made_again_but_never_taken_from_others() -> None:
    kept: list[Storage] = []

    def make() -> list[EphemeralVolumes]:
        return [EphemeralVolumes(controller_context(metrics=kept[0].metrics))] if kept else []

    async with Storage.running(make) as cluster:
        assert isinstance(cluster, Storage)
        kept.append(cluster)
        await cluster.restart()
        await cluster.make(claim("other-scratch"), scratchy("p", labels={"a": "b"}), scratchy("other"), pod("plain"))
        await cluster.settle()
        made = await cluster.claim("p-scratch")
        owner = (await cluster.client.get(KINDS.POD, "p", "default")).uid
        (reference,) = made.view.metadata.ownerReferences
        assert (reference.uid, reference.controller, reference.blockOwnerDeletion) == (owner, True, True)
        assert made.view.metadata.labels == {"a": "b"}
        assert made.view.spec.storageClassName == "manual"
        assert len(await cluster.all(KINDS.PERSISTENT_VOLUME_CLAIM)) == 2
        text = "PVC default/other-scratch was not created for pod default/other (pod is not owner)"
        assert set(cluster.messages("other", "FailedBinding")) == {f"ephemeral volume scratch: {text}"}
        await cluster.client.delete(KINDS.PERSISTENT_VOLUME_CLAIM, "p-scratch", "default")
        await cluster.settle()
        assert (await cluster.claim("p-scratch")).uid != made.uid
        assert "ephemeral_volume_controller_create_total 2" in cluster.metrics.render()[0].decode()
