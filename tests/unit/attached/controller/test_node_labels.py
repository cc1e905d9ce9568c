"""Nodes carry the labels that answer the questions of lowered pods, for as long as they are asked, and no others."""

from collections import Counter
from typing import Any

import pytest
from tests.unit.attach.workloads import workload
from tests.unit.attached.controller.attached_cluster import (
    ALL_OFF,
    attached,
    lowered_pod,
    metric,
    put_node,
    taint,
    tolerates,
)
from tests.unit.control.cluster_objects import pod
from tests.virtual_cluster import VirtualCluster

from moorage.attach.formats import is_match_label
from moorage.attach.objects import lowered
from moorage.attach.pods import node_affinity_of
from moorage.attach.questions import asked_labels
from moorage.attached.controller import asking
from moorage.attached.controller.asking import FORGET_SECONDS
from moorage.attached.controller.node_labels import TOO_MANY
from moorage.client.protocol import Client, PatchType
from moorage.match.evaluation.accounts import Account, CelAnswer, CelQuestion, Compute, Evaluations, Undecided
from moorage.model.kinds import KINDS, Kind
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]
ODD = tolerates("CEL", "int(taint.value) % 2 == 1", effect="NoSchedule")
FORGED = "match.moorage.dev/0123456789abcdef0123"


def spot(value: str) -> Raw:
    return taint("spot", value, "NoSchedule")


def running(metrics: Metrics | None = None, **more: Any) -> Any:
    return VirtualCluster.running(lambda: attached("node-labels", metrics=metrics), gates=ALL_OFF, **more)


def asking_pod(name: str, *tolerations: Raw, **more: Any) -> Raw:
    return lowered_pod(name, "", *(tolerations or (ODD,)), **more)


def label_of(document: Raw) -> str:
    (label,) = asked_labels(document["spec"])
    return label


async def labels(cluster: VirtualCluster, name: str) -> Raw:
    return dict((await cluster.client.get(KINDS.NODE, name)).raw["metadata"]["labels"])


async def answering(cluster: VirtualCluster, label: str) -> set[str]:
    """Return the nodes that have a label."""
    return {node.name for node in await cluster.all(KINDS.NODE) if label in node.view.metadata.labels}


async def set_labels(cluster: VirtualCluster, name: str, **changes: str | None) -> None:
    patch = {"metadata": {"labels": changes}}
    await cluster.client.patch(KINDS.NODE, name, "", patch, patch_type=PatchType.MERGE)


async def test_the_nodes_that_answer_yes_are_labelled_once_and_again_after_every_change() -> None:
    metrics = Metrics()
    document = asking_pod("p")
    label = label_of(document)
    async with running(metrics) as cluster:
        for name, taints in {"n1": [spot("1")], "n2": [spot("2")], "n3": [], "n4": [spot("word")]}.items():
            await put_node(cluster, name, *taints)
        await cluster.settle()
        assert await answering(cluster, label) == set()
        await cluster.client.create(KINDS.POD, document)
        await cluster.settle()
        assert await answering(cluster, label) == {"n1", "n3"}
        assert metric(metrics, "moorage_attach_match_questions") == 1
        assert metric(metrics, "moorage_attach_match_label_writes_total") == 2
        await put_node(cluster, "n1", spot("3"))  # the mirror takes the label away in this write
        await cluster.settle()
        await put_node(cluster, "n2", spot("5"))
        await put_node(cluster, "n3", spot("6"))
        await cluster.settle()
        assert await answering(cluster, label) == {"n1", "n2"}
        assert cluster.events == []
        assert metric(metrics, "moorage_attach_match_label_writes_total") == 4


async def test_several_labels_are_one_write() -> None:
    metrics = Metrics()
    async with running(metrics) as cluster:
        await put_node(cluster, "n", spot("7"))
        for number in range(5):
            odd = tolerates("CEL", f"int(taint.value) > {number}", effect="NoSchedule")
            await cluster.client.create(KINDS.POD, asking_pod(f"p{number}", odd))
        await cluster.settle()
        before = metric(metrics, "moorage_attach_match_label_writes_total")
        await put_node(cluster, "n", spot("9"))
        await cluster.settle()
        assert sum(map(is_match_label, await labels(cluster, "n"))) == 5
        assert metric(metrics, "moorage_attach_match_label_writes_total") == before + 1


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet", "CronJob", "PodTemplate", "Job"])
async def test_a_template_asks_before_its_first_pod(kind: str) -> None:
    document = lowered(workload(kind, pod("p", "", ODD)))
    row = KINDS[document["apiVersion"], kind]
    spec = document.get("spec", {})
    if kind in ("Deployment", "DaemonSet"):
        spec["selector"] = {"matchLabels": {"app": "w"}}
    job = spec.get("jobTemplate", document) if kind in ("Job", "CronJob") else None
    if job is not None:
        job["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    async with running() as cluster:
        await put_node(cluster, "n", spot("1"))
        await cluster.client.create(row, document, "default")
        await cluster.settle()
        assert sum(map(is_match_label, await labels(cluster, "n"))) == 1


async def test_a_question_that_is_not_asked_any_more_is_forgotten_after_a_while_without_an_event() -> None:
    metrics = Metrics()
    document = asking_pod("p", metadata={"name": "p"})
    label = label_of(document)
    async with running(metrics) as cluster:
        await put_node(cluster, "n", spot("1"))
        await cluster.client.create(KINDS.POD, document)
        await cluster.settle()
        await cluster.client.delete(KINDS.POD, "p", "default", grace_seconds=0)
        await cluster.settle(FORGET_SECONDS - 10)
        assert await answering(cluster, label) == {"n"}
        await cluster.client.create(KINDS.POD, document)
        await cluster.settle(20)
        assert await answering(cluster, label) == {"n"}
        await cluster.client.delete(KINDS.POD, "p", "default", grace_seconds=0)
        await cluster.settle(FORGET_SECONDS + 5)
        assert await answering(cluster, label) == set()
        assert metric(metrics, "moorage_attach_match_questions") == 0
        assert cluster.events == []


async def test_after_a_restart_labels_that_are_asked_for_stay_and_others_go_after_a_while() -> None:
    document, other = asking_pod("p"), asking_pod("q", tolerates("CEL", "taint.value == '1'", effect="NoSchedule"))
    async with running() as cluster:
        await put_node(cluster, "n", spot("1"))
        await cluster.client.create(KINDS.POD, document)
        await cluster.client.create(KINDS.POD, other)
        await cluster.settle()
        await cluster.stop()
        revision = (await cluster.client.get(KINDS.NODE, "n")).revision
        await cluster.client.delete(KINDS.POD, "q", "default", grace_seconds=0)
        await cluster.start()
        await cluster.settle(FORGET_SECONDS - 10)
        assert (await cluster.client.get(KINDS.NODE, "n")).revision == revision
        await cluster.settle(20)
        assert await answering(cluster, label_of(document)) == {"n"}
        assert await answering(cluster, label_of(other)) == set()
        assert cluster.events == []


# -- what users and kubelets forge -------------------------------------------------------------------------------------


async def test_forged_match_labels_are_removed_with_an_event() -> None:
    metrics = Metrics()
    document = asking_pod("p")
    label = label_of(document)
    async with running(metrics) as cluster:
        await put_node(cluster, "n1", spot("1"))
        await put_node(cluster, "n2", spot("2"))
        await cluster.client.create(KINDS.POD, document)
        await cluster.settle()
        await set_labels(cluster, "n2", **{label: "true"})
        await set_labels(cluster, "n1", **{FORGED: "true", label: "false"})
        await cluster.settle()
        assert await answering(cluster, label) == {"n1"}
        assert await answering(cluster, FORGED) == set()
        assert (await labels(cluster, "n1"))[label] == "true"
        assert {(event.involved["name"], event.type, event.reason) for event in cluster.events} == {
            ("n1", "Warning", "MatchLabelForged"),
            ("n2", "Warning", "MatchLabelForged"),
        }
        assert cluster.events[0].message == (
            f"Removed label {label}: not true of its taints; only moorage attach may write such labels"
        )
        assert metric(metrics, 'moorage_attach_repairs_total{reason="forged match label"}') == 2


async def test_a_mirror_that_is_wrong_or_absent_is_written_and_a_repair_is_reported() -> None:
    metrics = Metrics()
    async with running(metrics) as cluster:
        bare = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "new"}, "spec": {"taints": [spot("1.2.3")]}}
        await cluster.client.create(KINDS.NODE, bare)
        await put_node(cluster, "n", spot("7"), kernel="6.1")
        await cluster.settle()
        right = await labels(cluster, "n")
        assert (await labels(cluster, "new"))["ver.noschedule.taint.moorage.dev/spot"] == "2000004000007"
        assert cluster.events == []
        await set_labels(
            cluster,
            "n",
            **{
                "num.noschedule.taint.moorage.dev/spot": "9999",
                "raw.noexecute.taint.moorage.dev/x": "1",
                "ver.label.moorage.dev/kernel": None,
            },
        )
        await cluster.settle()
        assert await labels(cluster, "n") == right
        (event,) = cluster.events
        assert (event.involved["name"], event.reason) == ("n", "MirrorRepaired")
        assert event.message == (
            "Repaired labels num.noschedule.taint.moorage.dev/spot, raw.noexecute.taint.moorage.dev/x and "
            "ver.label.moorage.dev/kernel: its taints and labels have other values; "
            "is the policy mirror.attach.moorage.dev there?"
        )
        assert metric(metrics, 'moorage_attach_repairs_total{reason="labels of a node"}') == 1


async def test_a_label_that_no_annotation_explains_is_no_question() -> None:
    """Affinity may name any label, and an annotation may claim anything: only the hash of the annotation counts."""
    document = asking_pod("p")
    node_affinity_of(document)["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] = [
        {"matchExpressions": [{"key": FORGED, "operator": "In", "values": ["true"]}]}
    ]
    async with running() as cluster:
        await put_node(cluster, "n", spot("1"))
        await cluster.client.create(KINDS.POD, document)
        await cluster.settle()
        assert not any(map(is_match_label, await labels(cluster, "n")))


# -- bounds ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MOST_ASKED", 4)
    monkeypatch.setattr(asking, "MOST_OF_NAMESPACE", 3)


@pytest.mark.usefixtures("small")
async def test_more_questions_than_there_is_room_for_wait_and_one_namespace_leaves_room_for_others() -> None:
    metrics = Metrics()
    async with running(metrics) as cluster:
        await put_node(cluster, "n", spot("9"))
        for namespace in ("default", "team"):
            metadata = {"metadata": {"name": namespace}}
            if namespace != "default":
                await cluster.client.create(KINDS.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", **metadata})
            for number in range(5):
                odd = tolerates("CEL", f"taint.value != '{namespace}-{number}'", effect="NoSchedule")
                document = asking_pod(f"p{number}", odd)
                document["metadata"]["namespace"] = namespace
                await cluster.client.create(KINDS.POD, document, namespace)
        await cluster.settle()
        assert sum(map(is_match_label, await labels(cluster, "n"))) == 4
        assert metric(metrics, "moorage_attach_match_questions") == 4
        assert metric(metrics, "moorage_attach_match_questions_waiting") == 6
        told = Counter(event.message for event in cluster.events if event.reason == TOO_MANY)
        text = "Its pods need a match label on nodes, of which there are too many: {}; they wait until one is not used"
        assert told == {
            text.format("3 different lists of tolerations in namespace default have one"): 2,
            text.format("4 different lists of tolerations have one"): 4,
        }
        for number in range(5):
            await cluster.client.delete(KINDS.POD, f"p{number}", "default", grace_seconds=0)
        await cluster.settle(FORGET_SECONDS + 5)
        assert metric(metrics, "moorage_attach_match_questions") == 3  # all that one namespace may have
        assert sum(map(is_match_label, await labels(cluster, "n"))) == 3


class Later(Evaluations):
    """Answers when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[tuple[Account, CelQuestion, Compute]] = []

    def decide(
        self, account: Account, question: CelQuestion, compute: Compute, *, patiently: bool = False
    ) -> CelAnswer:
        if question in account.answers:
            return account.answers[question]
        self.waiting.append((account, question, compute))
        account.asked[question] = None
        raise Undecided((account,))

    def answer(self) -> None:
        waiting, self.waiting = self.waiting, []
        for account, question, compute in waiting:
            account.note(question, compute())
            account.asked.pop(question, None)
            account.call_waiters()


async def test_an_expensive_expression_is_answered_elsewhere_and_does_not_hold_up_others() -> None:
    later = Later()
    steps = "'abcdefghijklmnopqrstuvwxyz'.split('')"
    slow = f"{steps}.all(a, {steps}.all(b, {steps}.exists(c, c == taint.value)))"
    expensive = asking_pod("slow", tolerates("CEL", slow, effect="NoSchedule"))
    cheap = asking_pod("fast", tolerates("CEL", "taint.value != 'z'", effect="NoSchedule"))

    def make() -> Any:
        return attached("node-labels", evaluations=later)

    async with VirtualCluster.running(make, gates=ALL_OFF) as cluster:
        await put_node(cluster, "n", spot("k"))
        for document in (expensive, cheap):
            await cluster.client.create(KINDS.POD, document)
        await cluster.settle()
        assert await answering(cluster, label_of(cheap)) == {"n"}
        assert await answering(cluster, label_of(expensive)) == set()
        assert later.waiting
        later.answer()
        await cluster.settle()
        assert await answering(cluster, label_of(expensive)) == {"n"}


# -- conflicts ---------------------------------------------------------------------------------------------------------


async def test_an_answer_about_earlier_taints_is_never_written() -> None:
    """The taint changes while the answer is on its way: the API server refuses the answer, and another one follows."""
    document = asking_pod("p")
    label = label_of(document)
    seen: list[bool] = []
    raced: list[VirtualCluster] = []

    def connect(client: Client) -> Client:
        patch = client.patch

        async def racing(kind: Kind, name: str, *rest: Any, **more: Any) -> Any:
            if kind is KINDS.NODE and not seen:
                seen.append(True)
                await put_node(raced[0], "n", spot("2"))
            return await patch(kind, name, *rest, **more)

        client.patch = racing  # type: ignore[method-assign]
        return client

    async with running(connect=connect) as cluster:
        raced.append(cluster)
        await put_node(cluster, "n", spot("1"))
        await cluster.settle()
        await cluster.client.create(KINDS.POD, document)
        await cluster.settle()
        assert seen
        assert await answering(cluster, label) == set()
        await put_node(cluster, "n", spot("3"))
        await cluster.settle()
        assert await answering(cluster, label) == {"n"}
        assert cluster.events == []
