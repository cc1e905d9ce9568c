"""What lowering has written and others have changed is repaired, or reported where a repair would do harm."""

from copy import deepcopy
from typing import Any

import pytest
from tests.unit.attach.workloads import pod as short_pod
from tests.unit.attach.workloads import term, workload
from tests.unit.attached.controller.attached_cluster import ALL_OFF, attached, lowered_pod, metric, tolerates
from tests.unit.control.cluster_objects import pod
from tests.virtual_cluster import VirtualCluster

from moorage.attach import formats
from moorage.attach.formats import marker
from moorage.attach.objects import lowered, pod_of
from moorage.attached.controller.template_repair import LEAST_BETWEEN
from moorage.attached.names import EXEMPT_LABEL
from moorage.client.protocol import PatchType
from moorage.model.kinds import KINDS
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SPOT = tolerates("Gt", "950", effect="NoSchedule")
LAX = tolerates("Gt", "900", effect="NoSchedule")


def running(metrics: Metrics | None = None) -> Any:
    return VirtualCluster.running(
        lambda: attached("pod-repair", "template-repair", metrics=metrics), gates=ALL_OFF, collects_garbage=True
    )


def template(kind: str, *tolerations: Raw, **spec: Any) -> Raw:
    """Return a lowered workload of a kind, as the webhook stores it."""
    document = workload(kind, short_pod(*tolerations))
    own = document.setdefault("spec", {})
    if kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
        own["selector"] = {"matchLabels": {"app": "w"}}
    if kind == "ReplicationController":
        own["selector"] = {"app": "w"}
    if kind == "StatefulSet":
        own["serviceName"] = "w"
    if kind in ("Job", "CronJob"):
        inner = own["jobTemplate"]["spec"] if kind == "CronJob" else own
        inner["template"]["spec"]["restartPolicy"] = "Never"
    if kind == "PodTemplate":
        del document["spec"]
    own.update(spec)
    return lowered(document)


def within(document: Raw) -> Raw:
    found = pod_of(document)
    assert found is not None
    return found


def applied_plain(document: Raw, *tolerations: Raw) -> Raw:
    """Return what is stored if a manifest with other tolerations is applied while the webhook is away.

    Annotation and affinity are not the manifest's, so they stay.
    """
    changed = deepcopy(document)
    within(changed)["spec"]["tolerations"] = list(tolerations)
    return changed


async def store(cluster: VirtualCluster, document: Raw) -> Any:
    kind = KINDS[document["apiVersion"], document["kind"]]
    await cluster.client.create(kind, document, "default")
    await cluster.settle()
    return await cluster.client.get(kind, document["metadata"]["name"], "default")


def said(cluster: VirtualCluster) -> list[tuple[str, str]]:
    return [(event.reason, event.message) for event in cluster.events]


# -- templates ---------------------------------------------------------------------------------------------------------

KINDS_TO_REPAIR = (
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "CronJob",
    "ReplicationController",
    "PodTemplate",
)


@pytest.mark.parametrize("kind", KINDS_TO_REPAIR)
async def test_a_template_whose_affinity_was_left_behind_places_as_its_tolerations_say_again(kind: str) -> None:
    metrics = Metrics()
    exists = tolerates("Exists", effect="NoSchedule")
    async with running(metrics) as cluster:
        found = await store(cluster, applied_plain(template(kind, SPOT), exists))
        pod = within(found.raw)
        assert pod["spec"]["tolerations"] == [exists]
        assert "affinity" not in pod["spec"]
        assert formats.TOLERATIONS not in pod.get("metadata", {}).get("annotations", {})
        assert said(cluster) == [
            (
                "LoweringRepaired",
                "Lowered the pod template again: annotation attach.moorage.dev/tolerations was left behind: "
                "the tolerations are not lowered; it would have placed pods wrongly",
            )
        ]
        assert metric(metrics, 'moorage_attach_repairs_total{reason="template"}') == 1
        await cluster.settle(LEAST_BETWEEN * 2)
        assert len(cluster.events) == 1


async def test_affinity_of_other_tolerations_is_written_again() -> None:
    broken = template("Deployment", SPOT)
    within(broken)["spec"]["affinity"] = within(template("Deployment", LAX))["spec"]["affinity"]
    async with running() as cluster:
        found = await store(cluster, broken)
        assert within(found.raw)["spec"]["affinity"] == within(template("Deployment", SPOT))["spec"]["affinity"]
        assert said(cluster)[0][0] == "LoweringRepaired"


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
async def test_a_template_that_places_rightly_is_reported_and_not_rolled_out(kind: str) -> None:
    metrics = Metrics()
    broken = applied_plain(template(kind, SPOT))
    del within(broken)["spec"]["affinity"]
    async with running(metrics) as cluster:
        found = await store(cluster, broken)
        assert found.raw["metadata"]["generation"] == 1
        assert formats.TOLERATIONS in within(found.raw)["metadata"]["annotations"]
        assert said(cluster) == [
            (
                "LoweringInconsistent",
                "annotation attach.moorage.dev/tolerations was left behind: the tolerations are not lowered; "
                "pods are placed rightly, and a repair would replace them all",
            )
        ]
        assert metric(metrics, 'moorage_attach_repairs_total{reason="reported template"}') == 1


async def test_a_template_that_places_rightly_is_repaired_where_nothing_is_rolled_out() -> None:
    broken = applied_plain(template("Deployment", SPOT, paused=True))
    del within(broken)["spec"]["affinity"]
    async with running() as cluster:
        found = await store(cluster, broken)
        assert formats.TOLERATIONS not in within(found.raw)["metadata"].get("annotations", {})


async def test_requirements_of_others_and_another_order_are_no_fault() -> None:
    document = template("Deployment", SPOT)
    required = within(document)["spec"]["affinity"]["nodeAffinity"][REQUIRED]
    for each in required["nodeSelectorTerms"]:
        each["matchExpressions"].insert(0, {"key": "zone", "operator": "In", "values": ["a"]})
    required["nodeSelectorTerms"].reverse()
    async with running() as cluster:
        found = await store(cluster, document)
        assert within(found.raw)["spec"]["affinity"] == within(document)["spec"]["affinity"]
        assert cluster.events == []


async def test_the_template_of_a_job_is_only_reported() -> None:
    async with running() as cluster:
        found = await store(cluster, applied_plain(template("Job", SPOT), tolerates("Exists", effect="NoSchedule")))
        assert "affinity" in within(found.raw)["spec"]
        assert said(cluster)[0][0] == "LoweringInconsistent"
        assert said(cluster)[0][1].endswith("and the template of a Job cannot be changed; create it again")


@pytest.mark.parametrize("annotation", ["", "{}", "[[", '[{"operator":"Gt","key":"","value":"5"}]', "[" * 2000])
async def test_a_template_whose_annotation_is_not_ours_is_reported(annotation: str) -> None:
    broken = template("Deployment", SPOT)
    within(broken)["metadata"]["annotations"][formats.TOLERATIONS] = annotation
    async with running() as cluster:
        found = await store(cluster, broken)
        assert found.raw["metadata"]["generation"] == 1
        ((reason, message),) = said(cluster)
        assert reason == "LoweringInconsistent"
        assert "is not what moorage attach has written" in message


async def test_a_repair_that_others_undo_is_not_fought_over() -> None:
    exists = tolerates("Exists", effect="NoSchedule")
    broken = applied_plain(template("Deployment", SPOT), exists)
    async with running() as cluster:
        await store(cluster, broken)
        for _ in range(5):
            await cluster.client.patch(
                KINDS.DEPLOYMENT, "w", "default", {"spec": broken["spec"]}, patch_type=PatchType.MERGE
            )
            await cluster.settle(10)
        assert [reason for reason, _ in said(cluster)] == ["LoweringRepaired"]
        await cluster.settle(LEAST_BETWEEN)
        assert [reason for reason, _ in said(cluster)] == ["LoweringRepaired"] * 2


@pytest.mark.parametrize("where", ["object", "namespace"])
async def test_what_is_exempt_is_left_alone(where: str) -> None:
    exempt = {"metadata": {"labels": {EXEMPT_LABEL: "true"}}}
    broken = applied_plain(template("Deployment", SPOT), tolerates("Exists", effect="NoSchedule"))
    async with running() as cluster:
        if where == "namespace":
            await cluster.client.patch(KINDS.NAMESPACE, "default", "", exempt)
            await cluster.settle()
        else:
            broken["metadata"] |= exempt["metadata"]
        found = await store(cluster, broken)
        assert "affinity" in within(found.raw)["spec"]
        assert cluster.events == []


async def test_ordinary_templates_and_rightly_lowered_ones_cost_nothing() -> None:
    async with running() as cluster:
        for number, document in enumerate((template("Deployment", SPOT), template("Deployment"))):
            document["metadata"]["name"] = f"w{number}"
            found = await store(cluster, document)
            assert found.raw["metadata"]["generation"] == 1
        assert cluster.events == []


# -- pods --------------------------------------------------------------------------------------------------------------


async def test_an_annotation_without_the_marker_is_removed_from_a_pod() -> None:
    metrics = Metrics()
    claim = {formats.TOLERATIONS: formats.written([SPOT]), "example.com/own": "stays"}
    async with running(metrics) as cluster:
        found = await store(cluster, pod("p", "n", tolerates("Exists"), metadata={"annotations": claim}))
        assert found.raw["metadata"]["annotations"] == {"example.com/own": "stays"}
        assert said(cluster) == [
            (
                "LoweringRepaired",
                "Removed the annotation attach.moorage.dev/tolerations: its tolerations are not lowered",
            )
        ]
        assert metric(metrics, 'moorage_attach_repairs_total{reason="annotation of a pod"}') == 1


async def test_a_lost_annotation_comes_back_from_the_owner() -> None:
    async with running() as cluster:
        owner = await store(cluster, template("ReplicaSet", SPOT))
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w", "uid": owner.uid, "controller": True}
        document = lowered_pod("p", "n", SPOT, metadata={"ownerReferences": [reference]})
        wanted = document["metadata"].pop("annotations")
        found = await store(cluster, document)
        assert found.raw["metadata"]["annotations"] == wanted
        assert said(cluster) == [
            ("LoweringRepaired", "Restored the annotations of attach.moorage.dev from ReplicaSet w")
        ]


async def test_an_annotation_of_the_owner_does_not_belong_to_a_pod_with_other_tolerations() -> None:
    async with running() as cluster:
        owner = await store(cluster, template("ReplicaSet", SPOT))
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w", "uid": owner.uid, "controller": True}
        other = pod("p", "n", tolerates("Exists", key="other"), marker(), metadata={"ownerReferences": [reference]})
        found = await store(cluster, other)
        assert "annotations" not in found.raw["metadata"]
        ((reason, message),) = said(cluster)
        assert reason == "LoweringInconsistent"
        assert message.startswith("Lowered, but its values of taints are not compared: metadata.annotations")


async def test_affinity_of_a_pod_that_does_not_belong_to_its_tolerations_is_reported_once() -> None:
    broken = lowered_pod("p", "n", SPOT)
    broken["spec"]["affinity"] = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term()]}}}
    broken["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] = [
        {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
    ]
    async with running() as cluster:
        await store(cluster, broken)
        await cluster.client.patch(KINDS.POD, "p", "default", {"metadata": {"labels": {"a": "b"}}})
        await cluster.settle()
        assert said(cluster) == [
            (
                "LoweringInconsistent",
                "Lowered, but placed by other rules: its node affinity is not what the tolerations become; "
                "delete it, and create it again",
            )
        ]


async def test_daemon_pods_have_affinity_of_their_controller() -> None:
    async with running() as cluster:
        owner = await store(cluster, template("DaemonSet", SPOT))
        reference = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "w", "uid": owner.uid, "controller": True}
        document = lowered_pod("p", "n", SPOT, metadata={"ownerReferences": [reference]})
        field = {"key": "metadata.name", "operator": "In", "values": ["n"]}
        terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        document["spec"]["affinity"] = {"nodeAffinity": {REQUIRED: terms}}
        await store(cluster, document)
        assert cluster.events == []
