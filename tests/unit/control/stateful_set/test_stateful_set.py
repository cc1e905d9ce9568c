"""StatefulSets: names and numbers, in order or at once, claims, failures, status and events."""

from typing import Any

import pytest
from tests.unit.control.stateful_set.stateful_sets import claim_template, numbered, stateful_set
from tests.unit.control.workloads import pod

from moorage.client.protocol import Object
from moorage.control.stateful_set.members import parent_and_ordinal
from moorage.model.kinds import KINDS


async def test_pods_have_names_numbers_and_a_place_in_the_service() -> None:
    async with numbered() as found:
        made = await found.create(stateful_set(ordinals={"start": 5}))
        assert await found.names() == ["web-5", "web-6", "web-7"]
        first = (await found.pods())[0]
        (revision,) = await found.revisions()
        assert first.raw["metadata"]["labels"] == {
            "app": "web",
            "statefulset.kubernetes.io/pod-name": "web-5",
            "apps.kubernetes.io/pod-index": "5",
            "controller-revision-hash": revision.name,
        }
        assert revision.name == f"web-{revision.raw['metadata']['labels']['controller.kubernetes.io/hash']}"
        assert first.view.metadata.ownerReferences[0].uid == made.uid
        assert (first.view.spec.hostname, first.view.spec.subdomain) == ("web-5", "nginx")
        assert await found.status() == {
            "replicas": 3,
            "availableReplicas": 3,
            "observedGeneration": 1,
            "readyReplicas": 3,
            "currentReplicas": 3,
            "updatedReplicas": 3,
            "currentRevision": revision.name,
            "updateRevision": revision.name,
            "collisionCount": 0,
        }
        assert found.messages("SuccessfulCreate") == [
            f"Create Pod web-{number} in StatefulSet web successful" for number in (5, 6, 7)
        ]


async def test_one_after_the_other_up_and_down() -> None:
    async with numbered(seconds_to_start=lambda pod: 10, seconds_to_stop=5) as found:
        await found.create(stateful_set(), settle=15)
        assert await found.names() == ["web-0", "web-1"]
        await found.cluster.settle(30)
        assert await found.names() == ["web-0", "web-1", "web-2"]
        await found.change({"replicas": 0}, settle=1)
        assert await found.names() == ["web-0", "web-1"]
        await found.cluster.settle(5)
        assert await found.names() == ["web-0"]
        await found.cluster.settle(20)
        assert await found.names() == []
        assert found.messages("SuccessfulDelete") == [
            f"Delete Pod web-{number} in StatefulSet web successful" for number in (2, 1, 0)
        ]


async def test_in_parallel_all_at_once() -> None:
    async with numbered(seconds_to_start=lambda pod: 1000, seconds_to_stop=5) as found:
        await found.create(stateful_set(replicas=5, podManagementPolicy="Parallel"), settle=1)
        assert len(await found.names()) == 5
        await found.change({"replicas": 1}, settle=1)
        assert await found.names() == ["web-0"]


async def test_a_pod_must_be_available_before_the_next() -> None:
    async with numbered() as found:
        await found.create(stateful_set(replicas=2, minReadySeconds=20), settle=15)
        assert await found.names() == ["web-0"]
        status = await found.status()
        assert (status["readyReplicas"], status["availableReplicas"]) == (1, 0)
        await found.cluster.settle(10)
        assert await found.names() == ["web-0", "web-1"]


async def test_failed_pods_are_made_anew_under_the_same_name() -> None:
    async with numbered() as found:
        await found.create(stateful_set())
        before = await found.pods()
        await found.kubelet.fail(before[1])
        await found.cluster.settle(20)
        after = await found.pods()
        assert [one.name for one in after] == ["web-0", "web-1", "web-2"]
        assert [one.uid == other.uid for one, other in zip(before, after, strict=True)] == [True, False, True]


async def test_claims_come_before_their_pods_and_stay() -> None:
    async with numbered() as found:
        wanted = stateful_set(replicas=2, volumeClaimTemplates=[claim_template()])
        volumes = [{"name": "www", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]
        wanted["spec"]["template"]["spec"]["volumes"] = volumes
        await found.create(wanted)
        assert [claim.name for claim in await found.claims()] == ["www-web-0", "www-web-1"]
        assert (await found.claims())[0].view.metadata.labels == {"app": "web"}
        used = (await found.pods())[0].raw["spec"]["volumes"]
        assert used == [
            {"name": "www", "persistentVolumeClaim": {"claimName": "www-web-0"}},
            {"name": "tmp", "emptyDir": {}},
        ]
        said = found.messages("SuccessfulCreate")
        assert said[:2] == [
            "Create Claim www-web-0 Pod web-0 in StatefulSet web success",
            "Create Pod web-0 in StatefulSet web successful",
        ]
        await found.change({"replicas": 0})
        claims = await found.claims()
        assert len(claims) == 2
        assert not any(claim.view.metadata.ownerReferences for claim in claims)


def _owners(claim: Object) -> list[str]:
    return [owner.kind for owner in claim.view.metadata.ownerReferences]


@pytest.mark.parametrize(
    ("deleted", "scaled", "owners", "condemned"),
    [
        ("Retain", "Retain", [], []),
        ("Delete", "Retain", ["StatefulSet"], ["StatefulSet"]),
        ("Retain", "Delete", [], ["Pod"]),
        ("Delete", "Delete", ["StatefulSet"], ["Pod"]),
    ],
)
async def test_who_takes_claims_along(deleted: str, scaled: str, owners: list[str], condemned: list[str]) -> None:
    async with numbered(seconds_to_stop=20) as found:
        policy = {"whenDeleted": deleted, "whenScaled": scaled}
        wanted = stateful_set(
            replicas=2, volumeClaimTemplates=[claim_template()], persistentVolumeClaimRetentionPolicy=policy
        )
        await found.create(wanted)
        assert [_owners(claim) for claim in await found.claims()] == [owners, owners]
        await found.change({"replicas": 1}, settle=5)
        assert [_owners(claim) for claim in await found.claims()] == [owners, condemned]
        both = {"whenDeleted": "Retain", "whenScaled": "Retain"}
        await found.change({"replicas": 2, "persistentVolumeClaimRetentionPolicy": both}, settle=60)
        assert [_owners(claim) for claim in await found.claims()] == [[], []]


async def test_a_claim_that_will_go_with_an_earlier_pod_is_waited_for() -> None:
    async with numbered(seconds_to_stop=2) as found:
        policy = {"whenDeleted": "Retain", "whenScaled": "Delete"}
        templates = [claim_template()]
        await found.create(
            stateful_set(replicas=1, volumeClaimTemplates=templates, persistentVolumeClaimRetentionPolicy=policy)
        )
        await found.change({"replicas": 0})
        assert [_owners(claim) for claim in await found.claims()] == [["Pod"]]
        await found.change({"replicas": 1})
        assert await found.names() == []
        await found.cluster.client.delete(KINDS.PERSISTENT_VOLUME_CLAIM, "www-web-0", "default")
        await found.cluster.settle(10)
        assert await found.names() == ["web-0"]


async def test_a_refused_template_is_told_and_tried_ever_less_often() -> None:
    affinity: dict[str, Any] = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "zone",
                    "labelSelector": {"matchLabels": {"app": "web"}},
                    "matchLabelKeys": ["app"],
                }
            ]
        }
    }
    async with numbered() as found:
        wanted = stateful_set()
        wanted["spec"]["template"]["spec"]["affinity"] = affinity
        await found.create(wanted, settle=100)
        texts = found.messages("FailedCreate")
        assert 5 < len(texts) < 30
        assert texts[0].startswith('Create Pod web-0 in StatefulSet web failed error: Pod "web-0" is invalid')


async def test_only_members_are_adopted_and_labelled() -> None:
    async with numbered() as found:
        for name in ("web-0", "other-0"):
            await found.cluster.client.create(KINDS.POD, pod(name, {"app": "web"}))
        await found.cluster.settle(5)
        await found.create(stateful_set(replicas=1, updateStrategy={"type": "OnDelete"}))
        pods = {one.name: one.view.metadata for one in await found.cluster.all(KINDS.POD)}
        assert [bool(pods[name].ownerReferences) for name in ("web-0", "other-0")] == [True, False]
        assert pods["web-0"].labels["statefulset.kubernetes.io/pod-name"] == "web-0"
        assert found.messages("SuccessfulUpdate") == ["Update Pod web-0 in StatefulSet web successful"]


async def test_while_it_goes_nothing_is_made() -> None:
    async with numbered() as found:
        wanted = stateful_set()
        wanted["metadata"]["finalizers"] = ["example.com/wait"]
        await found.create(wanted)
        await found.cluster.client.delete(KINDS.STATEFUL_SET, "web", "default")
        await found.cluster.client.delete(KINDS.POD, "web-1", "default")
        await found.cluster.settle(20)
        assert await found.names() == ["web-0", "web-2"]
        assert (await found.status())["replicas"] == 2


@pytest.mark.parametrize(
    ("name", "parts"),
    [("web-0", ("web", 0)), ("a-b-12", ("a-b", 12)), ("web", ("", -1)), ("web-99999999999", ("web", -1))],
)
def test_numbers_in_names(name: str, parts: tuple[str, int]) -> None:
    assert parent_and_ordinal(name) == parts
