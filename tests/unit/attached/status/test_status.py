"""`attach status` over clusters in which one piece is broken: the item that says so, and the command that mends it."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.attached.status.live import (
    GT_IS_NATIVE,
    certificate,
    gt,
    lease,
    node,
    running,
    snapshot_of,
    taint,
    workload,
)

from moorage.attach.objects import lowered
from moorage.attached import names
from moorage.attached.install.settings import REFUSE, Installation
from moorage.attached.status.check import Status, check_status, status_lines
from moorage.attached.status.finding import Level
from moorage.attached.status.installed import install_command, installation_of
from moorage.attached.status.pool_sources import read_templates
from moorage.lint.sources import Source

Raw = dict[str, Any]
INSTALLATIONS = {
    "policies mirror": Installation("r/m:1"),
    "older cluster": Installation("r/m:1", minor=33),
    "policies only": Installation("r/m:1", policies_only=True),
    "cert-manager": Installation("r/m:1", minor=34, cert_manager=True, namespace="elsewhere"),
    "going away": Installation("r/m:1", new_comparisons=REFUSE),
    "policies only, going away": Installation("r/m:1", policies_only=True, new_comparisons=REFUSE),
}
USUAL = INSTALLATIONS["policies mirror"]
OLDER = INSTALLATIONS["older cluster"]


def status_of(documents: list[Raw], installation: Installation = USUAL, **more: Any) -> Status:
    return check_status(snapshot_of(documents, installation, **more))


def found(status: Status, level: Level = Level.WRONG) -> list[tuple[str, str]]:
    return [(item.text, item.mend) for item in status.items(level)]


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_an_installation_that_works_has_nothing_wrong_and_is_read_back(name: str) -> None:
    installation = INSTALLATIONS[name]
    documents = [*running(installation), node("a", taint("960")), node("b")]
    status = status_of(documents, installation)
    assert found(status) == []
    assert status.level in (Level.FINE, Level.NOTE)
    assert status_lines(status)[-1] == "nothing is wrong"
    assert installation_of(snapshot_of(documents, installation)) == installation
    assert ("moorage attach uninstall" in str(found(status, Level.NOTE))) is (name == "going away")


def test_an_empty_cluster_is_said_in_one_item() -> None:
    status = status_of([node("a")])
    assert found(status) == [
        (
            "nothing of moorage attach is there, looked for in namespace moorage-system",
            "moorage attach install --image IMAGE | kubectl apply -f -",
        )
    ]


def without(kind: str, name: str) -> Callable[[list[Raw]], list[Raw]]:
    return lambda documents: [each for each in documents if (each["kind"], each["metadata"]["name"]) != (kind, name)]


def changed(kind: str, name: str, change: Callable[[Raw], None]) -> Callable[[list[Raw]], list[Raw]]:
    def do(documents: list[Raw]) -> list[Raw]:
        for each in documents:
            if (each["kind"], each["metadata"]["name"]) == (kind, name):
                change(each)
        return documents

    return do


AGAIN = "moorage attach install --image r/m:1 | kubectl apply -f -"
LOGS = "kubectl -n moorage-system logs -l app.kubernetes.io/name=moorage-attach-controller --tail=50"
RESTART = "kubectl -n moorage-system rollout restart deployment moorage-attach-controller"


@pytest.mark.parametrize(
    ("breaking", "words", "mend"),
    [
        (without("MutatingAdmissionPolicy", names.MIRRORING), "Policy mirror.attach.moorage.dev is absent", AGAIN),
        (
            changed(
                "MutatingAdmissionPolicy", names.MIRRORING, lambda each: each["spec"].update(failurePolicy="Ignore")
            ),
            "is not as it is printed: spec.failurePolicy: Ignore instead of Fail",
            AGAIN,
        ),
        (
            changed("MutatingWebhookConfiguration", names.LOWERING, lambda each: each["webhooks"][0]["rules"].pop()),
            "webhooks[0].rules: 2 instead of 3 items",
            AGAIN,
        ),
        (
            changed("ClusterRole", names.CONTROLLER, lambda each: each["rules"].clear()),
            "ClusterRole moorage-attach-controller is not as it is printed",
            AGAIN,
        ),
        (without("PodDisruptionBudget", names.WEBHOOK), "PodDisruptionBudget moorage-attach-webhook is absent", AGAIN),
        (without("Deployment", names.CONTROLLER), "no pod is evicted by a value", AGAIN),
        (
            changed("Deployment", names.WEBHOOK, lambda each: each.update(status={"readyReplicas": 1})),
            "1 of 2 replicas are ready",
            "kubectl -n moorage-system describe pods -l app.kubernetes.io/name=moorage-attach-webhook",
        ),
        (
            changed("Deployment", names.WEBHOOK, lambda each: each.update(status={})),
            "0 of 2 replicas are ready, image r/m:1: operators that Kubernetes does not know are refused",
            "kubectl -n moorage-system describe pods -l app.kubernetes.io/name=moorage-attach-webhook",
        ),
        (without("Lease", names.CONTROLLER), "no replica has led yet", LOGS),
        (
            lambda documents: [*without("Lease", names.CONTROLLER)(documents), lease(USUAL, age=60.0)],
            "replica-1 renewed the Lease 60 s ago",
            LOGS,
        ),
        (
            lambda documents: [*without("Lease", names.CONTROLLER)(documents), lease(USUAL, holder="")],
            "the Lease has no holder",
            LOGS,
        ),
        (without("Secret", names.CERTIFICATES), "Secret moorage-attach-certificates is absent", RESTART),
        (
            lambda documents: [*without("Secret", names.CERTIFICATES)(documents), certificate(USUAL)[0]],
            "caBundle of lower.attach.moorage.dev does not trust the certificate that is served",
            RESTART,
        ),
        (
            changed(
                "Secret", names.CERTIFICATES, lambda each: each.update(data={"tls.crt": "AA==", "tls.key": "AA=="})
            ),
            "the certificate cannot be read",
            RESTART,
        ),
    ],
)
def test_a_broken_piece_is_named_with_what_mends_it(
    breaking: Callable[[list[Raw]], list[Raw]], words: str, mend: str
) -> None:
    told = found(status_of(breaking(running(USUAL))))
    assert [each for each in told if words in each[0] and each[1] == mend], told


@pytest.mark.parametrize(
    ("age_days", "words"),
    [(61.0, ""), (80.0, "10 days left: it should have been replaced"), (91.0, "the certificate has expired")],
)
def test_certificates_have_to_be_replaced_in_time(age_days: float, words: str) -> None:
    told = found(status_of(running(USUAL, age_days=age_days)))
    assert bool(words) is bool(told)
    assert words in str(told)


def test_another_release_is_a_note_and_no_difference() -> None:
    documents = running(USUAL._replace(release="0.1.0"))
    changed("MutatingAdmissionPolicy", names.MIRRORING, lambda each: each["spec"].pop("variables"))(documents)
    status = status_of(documents)
    assert found(status) == []
    assert "MutatingAdmissionPolicy mirror.attach.moorage.dev is of release 0.1.0" in str(found(status, Level.NOTE))


def test_what_may_not_be_read_is_not_checked_and_not_fine() -> None:
    status = status_of(running(USUAL), unread={"secrets": "secrets is forbidden", "nodes": "nodes is forbidden"})
    assert found(status) == []
    assert status.level is Level.UNKNOWN
    assert "Secret moorage-attach-certificates: secrets is forbidden" in str(found(status, Level.UNKNOWN))


def test_an_installation_in_another_namespace_is_found() -> None:
    there = Installation("r/m:1", namespace="elsewhere")
    status = check_status(snapshot_of(running(there), USUAL))
    assert "moorage attach status --namespace elsewhere" in str(found(status))


def test_options_that_were_chosen_are_in_the_command() -> None:
    chosen = Installation("r/m:2", namespace="n", evict_by="eviction", native="Lt,Gt", priority_class="high")
    read = installation_of(snapshot_of(running(chosen), chosen))
    assert install_command(read) == (
        "moorage attach install --image r/m:2 --namespace n --evict-by eviction --native Lt,Gt --priority-class high "
        "| kubectl apply -f -"
    )


# -- nodes -------------------------------------------------------------------------------------------------------------


def test_every_node_is_compared_with_its_taints() -> None:
    nodes = [
        node("right", taint("960")),
        node("bare", taint("960"), mirror=False),
        node("forged", labels={"moorage.dev/mirrored": "v1", "num.noschedule.taint.moorage.dev/spot": "5"}),
        node("old", taint("10"), labels={"num.noschedule.taint.moorage.dev/spot": "960"}),
    ]
    status = status_of([*running(USUAL), *nodes])
    (part,) = [each for each in status.sections if each.name == "nodes"]
    assert {row["name"]: (row["missing"], row["forged"]) for row in part.details["nodes"]} == {
        "right": ([], []),
        "bare": (
            [
                "moorage.dev/mirrored",
                "num.noschedule.taint.moorage.dev/spot",
                "raw.noschedule.taint.moorage.dev/spot",
                "ver.noschedule.taint.moorage.dev/spot",
            ],
            [],
        ),
        "forged": ([], ["num.noschedule.taint.moorage.dev/spot"]),
        "old": (["num.noschedule.taint.moorage.dev/spot"], []),
    }
    told = found(status)
    assert "2 nodes lack labels" in told[0][0]
    assert told[0][1] == "kubectl label node bare old moorage.dev/mirrored=v1 --overwrite"
    assert "1 node has labels of taints that are not there" in told[1][0]


CEL = {"key": "spot", "operator": "CEL", "value": "int(taint.value) % 2 == 0", "effect": "NoExecute"}


def test_match_labels_are_asked_of_every_node_again() -> None:
    pod = lowered(workload("Pod", "even", CEL))
    (term,) = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    label = term["matchExpressions"][0]["key"]
    even, odd = taint("4", effect="NoExecute"), taint("5", effect="NoExecute")
    nodes = [
        node("even", even, labels={label: "true"}),
        node("odd", odd),
        node("waiting", even),
        node("forged", odd, labels={label: "true"}),
        node("left-over", odd, labels={f"{label[:-2]}00": "true"}),
    ]
    status = status_of([*running(USUAL), *nodes, pod])
    (part,) = [each for each in status.sections if each.name == "match labels"]
    assert part.details["missing"] == [f"waiting: {label}"]
    assert part.details["wrong"] == [f"forged: {label}"]
    assert "1 label is not asked for any more" in str(found(status, Level.NOTE))


# -- lowered objects ---------------------------------------------------------------------------------------------------


def test_lowered_objects_are_counted_with_what_they_rely_on() -> None:
    documents = [
        lowered(workload("Deployment", "spot", gt())),
        lowered(workload("StatefulSet", "cel", CEL)),
        lowered(workload("Pod", "leaves", gt(effect="NoExecute"))),
        workload("Deployment", "ordinary"),
    ]
    status = status_of([*running(USUAL), *documents])
    (part,) = [each for each in status.sections if each.name == "lowered"]
    assert [item.text for item in part.items] == [
        "Deployment: 1 lowered, relying on: mirror 1",
        "StatefulSet: 1 lowered, relying on: match labels 1, eviction 1",
        "Pod: 1 lowered, relying on: mirror 1, eviction 1",
    ]
    assert part.details["objects"][0]["compares"] == ["spot > 950 (NoSchedule)"]


def test_inconsistent_objects_are_named() -> None:
    left_behind = lowered(workload("Pod", "left-behind", gt()))
    left_behind["spec"]["tolerations"] = []
    other = lowered(workload("Deployment", "other", gt()))
    kept = other["spec"]["template"]["metadata"]["annotations"]
    kept["attach.moorage.dev/tolerations"] = kept["attach.moorage.dev/tolerations"].replace("950", "1")
    told = found(status_of([*running(USUAL), left_behind, other]))
    assert [text.partition(":")[0] for text, _ in told] == ["Deployment default/other", "Pod default/left-behind"]
    assert told[1][1] == "kubectl -n default annotate pod left-behind attach.moorage.dev/tolerations-"


def test_the_way_over_is_proposed_when_the_cluster_knows_the_operators() -> None:
    documents = [
        *running(USUAL),
        lowered(workload("Deployment", "spot", gt())),
        lowered(workload("CronJob", "nightly", gt())),
        lowered(workload("Deployment", "versions", gt("1.2.3", operator="SemverGt"))),
    ]
    assert "native" not in [each.name for each in status_of(documents).sections]
    status = status_of(documents, gates=GT_IS_NATIVE)
    (part,) = [each for each in status.sections if each.name == "native"]
    annotation = '{"metadata":{"annotations":{"attach.moorage.dev/native":"true"}}}'
    assert [item.mend for item in part.items[1:]] == [
        f'kubectl -n default patch deployment spot --type=merge -p \'{{"spec":{{"template":{annotation}}}}}\'',
        "kubectl -n default patch cronjob nightly --type=merge -p "
        f'\'{{"spec":{{"jobTemplate":{{"spec":{{"template":{annotation}}}}}}}}}\'',
    ]


def test_without_the_webhook_the_manifest_goes_over() -> None:
    only = INSTALLATIONS["policies only"]
    documents = [*running(only), lowered(workload("Deployment", "spot", gt()))]
    (part,) = [each for each in status_of(documents, only, gates=GT_IS_NATIVE).sections if each.name == "native"]
    assert part.items[1].mend.startswith("apply its manifest with the annotation attach.moorage.dev/native")


# -- pools -------------------------------------------------------------------------------------------------------------

NODE_POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: spot}
spec:
  template:
    metadata: {labels: %s}
    spec: {taints: [{key: spot, value: x1, effect: NoSchedule}]}
"""
GROUPS = """{"AutoScalingGroups": [{"AutoScalingGroupName": "spot", "MinSize": 0, "MaxSize": 3, "Tags": [
  {"Key": "k8s.io/cluster-autoscaler/node-template/taint/spot", "Value": "x1:NoSchedule"}]}]}"""


def templates(text: str, name: str = "pools.yaml") -> Any:
    return read_templates([Source(name, content=text.encode())])


@pytest.mark.parametrize(
    ("text", "name", "compares", "level", "mend"),
    [
        (
            NODE_POOL % "{}",
            "pools.yaml",
            True,
            Level.WRONG,
            'kubectl patch nodepool spot --type=merge -p \'{"spec":{"template":{"metadata":{"labels":'
            '{"raw.noschedule.taint.moorage.dev/spot":"x1"}}}}}\'',
        ),
        (NODE_POOL % "{}", "pools.yaml", False, Level.NOTE, "kubectl patch nodepool spot"),
        (NODE_POOL % "{raw.noschedule.taint.moorage.dev/spot: x1}", "pools.yaml", True, Level.FINE, ""),
        (NODE_POOL % "{raw.noschedule.taint.moorage.dev/spot: x2}", "pools.yaml", True, Level.WRONG, "kubectl patch"),
        (
            GROUPS,
            "groups.json",
            True,
            Level.WRONG,
            "tag the group k8s.io/cluster-autoscaler/node-template/label/raw.noschedule.taint.moorage.dev/spot=x1",
        ),
    ],
)
def test_templates_of_pools_need_the_labels_of_their_taints(
    text: str, name: str, compares: bool, level: Level, mend: str
) -> None:
    found_templates, problems = templates(text, name)
    assert problems == []
    documents = [*running(USUAL), *([lowered(workload("Deployment", "spot", gt()))] if compares else [])]
    status = check_status(snapshot_of(documents, USUAL), found_templates)
    (part,) = [each for each in status.sections if each.name == "pools"]
    assert part.level is level
    assert mend in part.items[0].mend


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("kind: [", "pools.yaml", "pools.yaml:"),
        ('{"AutoScalingGroups": 3}', "groups.json", "groups.json: AutoScalingGroups"),
        ('{"AutoScalingGroups": ', "groups.json", "groups.json: not JSON"),
        (
            "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: {template: 3}\n",
            "p.yaml",
            "p.yaml:1: NodePool: its fields",
        ),
    ],
)
def test_pools_that_cannot_be_read_are_one_line(text: str, name: str, words: str) -> None:
    found_templates, problems = templates(text, name)
    assert found_templates == []
    assert words in problems[0]


def test_policies_that_attach_policies_has_printed_are_as_they_have_to_be() -> None:
    """It prints no labels, as it does not know of an installation."""
    policies_only = INSTALLATIONS["policies only"]
    documents = running(policies_only)
    for document in documents:
        if document["kind"].startswith("MutatingAdmissionPolicy"):
            del document["metadata"]["labels"]
    assert found(status_of([*documents, node("a")], policies_only)) == []
