"""`attach uninstall`: the stage of a cluster, what lowered objects could become; the mirror never goes first."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.attached.status.live import GT_IS_NATIVE, gt, node, running, snapshot_of, taint, workload

from moorage.attach.objects import lowered
from moorage.attach.policies.additions import Addition, addition_policy
from moorage.attached import names
from moorage.attached.install.settings import REFUSE, Installation
from moorage.attached.uninstall.report import way_back_lines
from moorage.attached.uninstall.stages import STAGES, WayBack, way_back

Raw = dict[str, Any]
ACCEPTING = Installation("r/m:1")
REFUSING = Installation("r/m:1", new_comparisons=REFUSE)
SPOT = lowered(workload("Deployment", "spot", gt()))


def back(documents: Sequence[Raw], installation: Installation = REFUSING, **more: Any) -> WayBack:
    return way_back(snapshot_of(documents, installation, **more))


def of(documents: Sequence[Raw], *kinds: str) -> list[Raw]:
    return [each for each in documents if each["kind"] in kinds]


def without(documents: Sequence[Raw], *which: tuple[str, str]) -> list[Raw]:
    return [each for each in documents if (each["kind"], each["metadata"]["name"]) not in which]


LOWERING = ("MutatingWebhookConfiguration", names.LOWERING)
MIRROR = (("MutatingAdmissionPolicy", names.MIRRORING), ("MutatingAdmissionPolicyBinding", names.MIRRORING))
DEPLOYMENTS = (("Deployment", names.CONTROLLER), ("Deployment", names.WEBHOOK))


def test_first_new_comparisons_are_refused() -> None:
    found = back([*running(ACCEPTING), SPOT], ACCEPTING)
    assert (found.stage, found.blocked) == (1, "")
    patch, wait = found.commands
    assert patch.startswith("kubectl -n moorage-system patch deployment moorage-attach-webhook -p '")
    assert '"--new-comparisons=refuse"]' in patch
    assert "--new-comparisons=accept" not in patch
    assert wait == "kubectl -n moorage-system rollout status deployment moorage-attach-webhook"


def test_policies_that_add_comparisons_go_first_and_others_last() -> None:
    selector = {"matchLabels": {"a": "b"}}
    added = [
        *addition_policy(Addition("spot", pods=selector, tolerations=[gt()])),
        *addition_policy(Addition("rollouts", pods=selector, match_label_keys=["pod-template-hash"])),
    ]
    first, second, *_ = back([*running(ACCEPTING), SPOT, *added], ACCEPTING).commands
    assert first == "kubectl delete mutatingadmissionpolicybindings spot.add.attach.moorage.dev"
    assert second == "kubectl delete mutatingadmissionpolicies spot.add.attach.moorage.dev"
    assert len(back(added).commands) == 4


def test_a_policy_is_printed_again_where_no_webhook_runs() -> None:
    only = Installation("r/m:1", policies_only=True)
    found = back([*running(only), SPOT], only)
    assert found.commands == ("moorage attach policies --lower --new-comparisons refuse | kubectl apply -f -",)
    refusing = only._replace(new_comparisons=REFUSE)
    assert back([*running(refusing), SPOT], refusing).stage == 2


def test_a_release_of_helm_is_upgraded_and_uninstalled() -> None:
    documents = running(ACCEPTING)
    for each in documents:
        each["metadata"] = {**each["metadata"], "annotations": {"meta.helm.sh/release-name": "attach"}}
    (upgrade,) = back([*documents, SPOT], ACCEPTING).commands
    assert upgrade == "helm upgrade attach CHART -n moorage-system --reuse-values --set newComparisons=refuse"
    left = without(documents, LOWERING, *MIRROR, *DEPLOYMENTS)
    assert "helm uninstall attach -n moorage-system" in back(left).commands


def test_owners_of_lowered_objects_have_to_change_them() -> None:
    nodes = [node("a", taint("960")), node("b", taint("10")), node("c", taint("1000"))]
    found = back([*running(REFUSING), *nodes, SPOT])
    assert (found.stage, found.commands) == (2, ())
    assert found.blocked.startswith("1 object is lowered")
    ((_, (becoming,)),) = found.lowered
    spot = {"key": "spot", "effect": "NoSchedule"}
    assert becoming.as_json() == {
        "toleration": gt(),
        "native": False,
        "equal": [{**spot, "operator": "Equal", "value": value} for value in ("960", "1000")],
        "exists": {**spot, "operator": "Exists"},
    }
    assert str(becoming) == (
        "spot > 950 (NoSchedule): Equal 960, 1000, as nodes have now; or Exists, which tolerates every value"
    )


def test_an_operator_that_the_cluster_knows_stays() -> None:
    found = back([*running(REFUSING), SPOT], gates=GT_IS_NATIVE)
    ((_, (becoming,)),) = found.lowered
    assert str(becoming).startswith(
        "spot > 950 (NoSchedule): Gt as it is, with the annotation attach.moorage.dev/native"
    )


def test_versions_of_labels_become_the_values_that_nodes_have() -> None:
    term = {"matchExpressions": [{"key": "driver", "operator": "SemverGt", "values": ["1.2.3"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    pod = lowered(workload("Pod", "new", affinity=affinity))
    nodes = [node("a", labels={"driver": "v1.4.0"}), node("b", labels={"driver": "1.0.0"}), node("c")]
    ((_, (becoming,)),) = back([*running(REFUSING), *nodes, pod]).lowered
    assert str(becoming) == "label driver > version 1.2.3: In v1.4.0, as nodes have now"


def revision(kind: str, name: str) -> Raw:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "spot", "uid": "u", "controller": True}
    metadata = {"name": name, "ownerReferences": [owner]}
    template = SPOT["spec"]["template"]
    if kind == "ReplicaSet":
        spec = {"replicas": 0, "selector": {"matchLabels": {"app": "spot"}}, "template": template}
        return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}
    data = {"spec": {"template": template}}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "data": data, "revision": 1}


def test_revisions_that_could_be_rolled_back_to_count_and_can_be_deleted_last() -> None:
    revisions = [revision("ReplicaSet", "spot-1"), revision("ControllerRevision", "set-1")]
    assert back([*running(REFUSING), SPOT, *revisions]).commands == ()
    found = back([*running(REFUSING), *revisions])
    assert (found.stage, found.blocked) == (2, "")
    assert found.commands == (
        "kubectl -n default delete replicaset spot-1",
        "kubectl -n default delete controllerrevision set-1",
    )


def test_the_steps_when_nothing_is_lowered() -> None:
    everything = [*running(REFUSING), node("a", taint("960"))]
    assert back(everything).commands == ("kubectl delete mutatingwebhookconfigurations lower.attach.moorage.dev",)
    unlowering = without(everything, LOWERING)
    controller, *mirror, webhook = back(unlowering).commands
    assert controller == "kubectl -n moorage-system delete deployment moorage-attach-controller --cascade=foreground"
    assert mirror == [
        "kubectl delete mutatingadmissionpolicybindings mirror.attach.moorage.dev",
        "kubectl delete mutatingadmissionpolicies mirror.attach.moorage.dev",
    ]
    assert webhook == "kubectl -n moorage-system delete deployment moorage-attach-webhook --cascade=foreground"
    stopped = without(unlowering, *MIRROR, *DEPLOYMENTS)
    assert back(stopped).commands == (
        "kubectl label node --all moorage.dev/mirrored- num.noschedule.taint.moorage.dev/spot- "
        "raw.noschedule.taint.moorage.dev/spot- ver.noschedule.taint.moorage.dev/spot-",
    )
    bare = [each for each in stopped if each["kind"] != "Node"]
    assert back(bare).commands[-1] == "kubectl delete namespace moorage-system"
    assert back([]).stage == 0
    assert list(way_back_lines(back([]), shows_all=False))[-1] == "nothing of attach is left"


def test_a_mirror_by_webhook_goes_before_what_serves_it() -> None:
    older = Installation("r/m:1", minor=33, new_comparisons=REFUSE)
    found = way_back(snapshot_of(without(running(older), LOWERING), older))
    assert [command.partition(" delete ")[2] for command in found.commands] == [
        "deployment moorage-attach-controller --cascade=foreground",
        "mutatingwebhookconfigurations mirror.attach.moorage.dev",
        "deployment moorage-attach-webhook --cascade=foreground",
    ]


def test_what_was_taken_away_too_early_is_said() -> None:
    found = back([SPOT])
    assert found.stage == 2
    assert any("the mirror of nodes is gone" in each for each in found.warnings)
    assert any("nothing lowers any more" in each for each in found.warnings)
    evicted = lowered(workload("Pod", "evicted", gt(effect="NoExecute")))
    assert any("the controller is gone" in each for each in back([evicted]).warnings)


@pytest.mark.parametrize("kind", ["pods", "deployments", "controllerrevisions", "nodes"])
def test_nothing_is_proposed_where_not_everything_could_be_read(kind: str) -> None:
    found = back(running(REFUSING), unread={kind: f"{kind} is forbidden"})
    assert found.commands == ()
    assert found.blocked
    assert found.unread == (f"{kind}: {kind} is forbidden",)


#: Everything that could be in a cluster, by groups that come and go together.
PARTS = [
    of(running(REFUSING), "MutatingWebhookConfiguration"),
    of(running(REFUSING), "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
    of(running(REFUSING), "Deployment"),
    of(running(REFUSING), "ClusterRole", "ClusterRoleBinding", "Namespace"),
    [node("a", taint("960"))],
]
LOWERED = [
    SPOT,
    lowered(workload("Pod", "bare", gt())),
    lowered(workload("CronJob", "nightly", gt("1.2.3", operator="SemverGt"))),
    revision("ReplicaSet", "spot-1"),
    revision("ControllerRevision", "set-1"),
]


def takes_away(command: str) -> bool:
    """Whether a command takes away what lowered objects rely on."""
    taken = (names.MIRRORING, names.CONTROLLER, names.WEBHOOK, "label node", "delete namespace", "clusterroles")
    return "patch" not in command and "rollout" not in command and any(each in command for each in taken)


@given(st.sets(st.sampled_from(range(len(PARTS)))), st.sets(st.sampled_from(range(len(LOWERED))), min_size=1))
def test_nothing_that_lowered_objects_rely_on_is_ever_taken_away(parts: set[int], objects: set[int]) -> None:
    documents = [each for part in parts for each in PARTS[part]]
    found = back([*documents, *(LOWERED[index] for index in objects)])
    assert found.stage in (1, 2)
    assert not any(map(takes_away, found.commands))


def test_that_law_can_fail() -> None:
    """The same cluster without the lowered objects is told to take everything away."""
    documents = [each for part in PARTS[1:] for each in part]
    assert any(map(takes_away, back(documents).commands))


def test_every_stage_is_marked_in_the_report() -> None:
    for stage, shows_all in product(range(1, len(STAGES) + 1), (False, True)):
        lines = list(way_back_lines(WayBack(stage, "because"), shows_all=shows_all))
        assert [line[0] for line in lines[: len(STAGES)]].index("→") == stage - 1
