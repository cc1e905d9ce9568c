"""Workloads and the pods their controllers make of them."""

from typing import Any

import pytest
from tests.unit.plan.planning import LivePlan, Plan, node, pod, running, workload

from moorage.control.framework.world import controller_of
from moorage.model import generated_names
from moorage.model.kinds import KINDS
from moorage.plan.simulation import loading


def test_a_deployment_makes_its_replicas_by_way_of_a_replica_set() -> None:
    plan = Plan(node("n1"), workload("Deployment", "web", replicas=3))
    made = plan.simulation.pods()
    assert len(made) == len({one.key for one in made}) == 3
    for one in made:
        metadata = one.view.metadata
        owner = controller_of(metadata)
        assert owner is not None
        assert (owner.kind, owner.name) == ("ReplicaSet", f"web-{metadata.labels['pod-template-hash']}")
        assert metadata.name.startswith(f"{owner.name}-")
        assert metadata.labels["app"] == "web"


@pytest.mark.parametrize(("replicas", "pods"), [(None, 1), (0, 0), (2, 2)])
def test_how_many(replicas: int | None, pods: int) -> None:
    for kind in ("Deployment", "ReplicaSet", "StatefulSet"):
        fields: dict[str, Any] = {} if replicas is None else {"replicas": replicas}
        assert len(Plan(node("n1"), workload(kind, "w", **fields)).where) == pods


def test_only_missing_replicas_are_made_although_the_replica_set_is_not_in_the_input() -> None:
    labels = {"app": "web", "pod-template-hash": "6d4cf"}
    plan = Plan(
        node("n1"),
        workload("Deployment", "web", replicas=3),
        running("web-6d4cf-a", "n1", ("ReplicaSet", "web-6d4cf"), labels=labels),
        running("web-6d4cf-b", "n1", ("ReplicaSet", "web-6d4cf"), labels=labels),
    )
    names = sorted(plan.where)
    assert names[:2] == ["web-6d4cf-a", "web-6d4cf-b"]
    assert len(names) == 3
    assert names[2].startswith("web-6d4cf-")  # the new one is of the same ReplicaSet


def test_a_replica_set_of_a_deployment_makes_nothing_of_its_own() -> None:
    deployment = workload("Deployment", "web", replicas=2)
    replica_set = workload("ReplicaSet", "web-abc", replicas=2)
    replica_set["spec"]["selector"] = {"matchLabels": {"app": "web", "pod-template-hash": "abc"}}
    replica_set["spec"]["template"]["metadata"]["labels"] = {"app": "web", "pod-template-hash": "abc"}
    replica_set["metadata"] |= {
        "labels": {"app": "web", "pod-template-hash": "abc"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}
        ],
    }
    plan = Plan(node("n1"), deployment, replica_set)
    assert [name.rpartition("-")[0] for name in plan.where] == ["web-abc", "web-abc"]


def test_a_replica_set_adopts_orphans_and_gives_up_what_is_too_much() -> None:
    plan = Plan(
        node("n1"),
        workload("ReplicaSet", "w", replicas=1),
        running("orphan", "n1", labels={"app": "w"}),
        pod("second", labels={"app": "w"}),
    )
    assert plan.where == {"orphan": "n1"}


def test_a_stateful_set_has_ordinals_claims_and_order() -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    plan = Plan(
        node("n1"),
        workload(
            "StatefulSet", "db", replicas=2, ordinals={"start": 5}, serviceName="db", volumeClaimTemplates=[claim]
        ),
    )
    assert list(plan.where) == ["db-5", "db-6"]
    assert plan.simulation.world.get(KINDS.PERSISTENT_VOLUME_CLAIM, "default/data-db-5") is not None
    first = plan.pod("db-5")
    assert first.spec.hostname == "db-5"
    assert first.metadata.labels["apps.kubernetes.io/pod-index"] == "5"
    (volume,) = first.spec.volumes
    assert volume.persistentVolumeClaim is not None
    assert volume.persistentVolumeClaim.claimName == "data-db-5"


def test_a_stateful_set_waits_for_its_first_pod_unless_told_otherwise() -> None:
    ordered = Plan(node("n1"), workload("StatefulSet", "db", "5", replicas=3))
    assert ordered.why["db-0"].startswith("Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.")
    assert ordered.why["db-2"].startswith("NotCreated: is created once db-0 runs")
    parallel = Plan(node("n1"), workload("StatefulSet", "db", "5", replicas=3, podManagementPolicy="Parallel"))
    assert all(why.startswith("Unschedulable") for why in parallel.why.values())
    half = Plan(node("n1", cpu="7"), workload("StatefulSet", "db", "3", replicas=4))
    assert list(half.where.values()) == ["n1", "n1", "", ""]
    assert half.why["db-3"].startswith("NotCreated: is created once db-2 runs")


@pytest.mark.parametrize(
    ("fields", "pods"),
    [
        ({}, 1),
        ({"parallelism": 3}, 3),
        ({"parallelism": 3, "completions": 2}, 2),
        ({"parallelism": 2, "completions": 5}, 2),
        ({"parallelism": 0}, 0),
        ({"suspend": True}, 0),
    ],
)
def test_jobs(fields: dict[str, Any], pods: int) -> None:
    assert len(Plan(node("n1"), workload("Job", "j", **fields)).where) == pods


def test_indexed_jobs_number_their_pods() -> None:
    plan = Plan(node("n1"), workload("Job", "j", parallelism=2, completions=2, completionMode="Indexed"))
    assert sorted(name[:3] for name in plan.where) == ["j-0", "j-1"]


def test_a_job_that_is_over_makes_nothing() -> None:
    job = workload("Job", "j", parallelism=2)
    job["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    job["spec"]["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    job["spec"]["template"]["metadata"]["labels"]["batch.kubernetes.io/controller-uid"] = "u"
    job["status"] = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}
    assert Plan(node("n1"), job).where == {}


def test_a_cron_job_is_not_expanded_and_says_so() -> None:
    cron = workload("CronJob", "nightly")
    template = cron["spec"].pop("template")
    del cron["spec"]["selector"]
    template["spec"]["restartPolicy"] = "Never"
    cron["spec"] |= {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}}
    plan = Plan(node("n1"), cron)
    assert plan.where == {}
    assert plan.notes == ["info 15 CronJob default/nightly: is not expanded: it makes Jobs by its schedule (0 3 * * *)"]


def test_a_template_whose_pods_are_refused_is_told_in_the_words_of_the_event() -> None:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "matchLabelKeys": ["app"],
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]},
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    plan = Plan(node("n1"), workload("Deployment", "web", pods={"affinity": affinity}, replicas=3), pod("good"))
    assert plan.where == {"good": "n1"}
    (failed,) = plan.outcome.failed
    assert failed.workload == "Deployment default/web"
    assert failed.message.startswith('Error creating: Pod "web-')
    assert failed.message.endswith("exists in both matchLabelKeys and labelSelector")
    assert not plan.outcome.is_complete


def test_label_keys_are_merged_with_the_template_hash_of_the_pod() -> None:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "matchLabelKeys": ["pod-template-hash"],
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    plan = Plan(node("n1"), workload("Deployment", "web", pods={"affinity": affinity}, replicas=2))
    assert sorted(plan.where.values()) == ["", "n1"]
    (one, _) = plan.simulation.pods()
    rules = one.view.spec.affinity
    assert rules is not None
    assert rules.podAntiAffinity is not None
    (merged,) = rules.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution
    assert merged.labelSelector is not None
    assert merged.labelSelector.matchExpressions[0].values == (one.view.metadata.labels["pod-template-hash"],)


def test_owners_in_a_circle_are_named_and_nobody_turns_in_it() -> None:
    def owned(name: str, by: str) -> dict[str, object]:
        made = workload("ReplicaSet", name, replicas=1)
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": by, "uid": "u", "controller": True}
        made["metadata"]["ownerReferences"] = [owner]
        return made

    plan = Plan(node("n1"), owned("a", "b"), owned("b", "a"))
    assert len(plan.where) == 2
    assert not any(
        "does not come to rest" in n for n in plan.notes
    )  # with one uid they would take each other's pods for ever
    assert any(
        "owns itself: ReplicaSet default/a → ReplicaSet default/b → ReplicaSet default/a" in n for n in plan.notes
    )


def test_pods_whose_generated_names_are_taken_get_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated_names, "_ALPHABET", "bc")  # 32 suffixes: one in two of the last ones is taken
    plan = Plan(node("n1"), workload("Deployment", "web", replicas=16))
    assert len(plan.where) == 16


def test_more_pods_than_a_cluster_can_have_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MAX_PODS", 3)
    plan = Plan(
        node("n1"), workload("Deployment", "web", replicas=2**31 - 1), workload("Job", "j", parallelism=2**31 - 1)
    )
    assert len(plan.where) == 6
    assert "Deployment default/web: asks for 2,147,483,647 pods; 3 are planned" in plan.notes[0]


def test_in_a_live_cluster_a_template_of_an_unknown_priority_class_fails_by_the_name_that_was_asked_for() -> None:
    plan = LivePlan(node("n1"), workload("Deployment", "web", pods={"priorityClassName": "gold"}, replicas=2))
    (failed,) = plan.outcome.failed
    assert failed.message.startswith('Error creating: pods "web-')
    assert failed.message.endswith('-" is forbidden: no PriorityClass with name gold was found')
    ordered = LivePlan(node("n1"), workload("StatefulSet", "db", pods={"priorityClassName": "gold"}))
    assert ordered.outcome.failed[0].message == (
        'Create Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden: '
        "no PriorityClass with name gold was found"
    )


def test_a_template_that_a_limit_range_refuses_fails_by_the_name_that_was_asked_for() -> None:
    bounds = {"type": "Container", "min": {"cpu": "5"}}
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": [bounds]}}
    plan = Plan(node("n1"), workload("Deployment", "web", replicas=2), limits)
    (failed,) = plan.outcome.failed
    assert failed.message.startswith('Error creating: pods "web-')
    assert '" is forbidden: minimum cpu usage per Container is 5' in failed.message
    ordered = Plan(node("n1"), workload("StatefulSet", "db"), limits)
    why = 'Create Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden: '
    assert ordered.outcome.failed[0].message.startswith(why)
