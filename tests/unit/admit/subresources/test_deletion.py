"""Deleting: grace, finalizers, policies, preconditions."""

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.admit.objects import Raw, document, pod, stored, workload

from moorage.admit.subresources.deletion import Deletion, decide_deletion, is_finalized, read_delete_options
from moorage.model.api_error import ApiError
from moorage.model.kinds import kind_of

NOW = datetime(2025, 1, 1, tzinfo=UTC)


def delete(
    raw: Raw, now: datetime = NOW, revision: str = "", *, collects_garbage: bool = True, **options: Any
) -> Deletion:
    facts = kind_of(raw)
    assert facts is not None
    before = copy.deepcopy(raw)
    read = read_delete_options(options)
    decided = decide_deletion(facts, raw, read, now, revision, collects_garbage=collects_garbage)
    assert raw == before
    return decided


def bound(**metadata: Any) -> Raw:
    raw = stored(pod())
    raw["spec"]["nodeName"] = "n1"
    raw["metadata"] |= metadata
    return raw


def test_a_running_pod_gets_its_grace() -> None:
    found = delete(bound())
    assert (found.removes, found.changed) == (False, True)
    metadata = found.object["metadata"]
    assert metadata["deletionTimestamp"] == "2025-01-01T00:00:30Z"
    assert metadata["deletionGracePeriodSeconds"] == 30
    assert metadata["generation"] == 2


def test_pods_that_nobody_runs_go_at_once() -> None:
    assert delete(stored(pod())).removes
    finished = bound()
    finished["status"]["phase"] = "Succeeded"
    assert delete(finished).removes
    assert delete(bound(), gracePeriodSeconds=0).removes
    assert delete(bound(), gracePeriodSeconds=-5).object["metadata"]["deletionGracePeriodSeconds"] == 1


def test_grace_is_only_shortened() -> None:
    going = delete(bound()).object
    later = NOW + timedelta(seconds=5)
    assert not delete(going, later).changed
    assert not delete(going, later, gracePeriodSeconds=60).changed
    sooner = delete(going, later, gracePeriodSeconds=10)
    assert sooner.object["metadata"]["deletionTimestamp"] == "2025-01-01T00:00:10Z"
    overdue = delete(going, later, gracePeriodSeconds=2).object["metadata"]
    assert (overdue["deletionTimestamp"], overdue["deletionGracePeriodSeconds"]) == ("2025-01-01T00:00:05Z", 1)
    assert delete(going, later, gracePeriodSeconds=0).removes
    assert overdue["generation"] == 2


def test_the_largest_generation_has_none_after_it() -> None:
    largest = 2**63 - 1
    assert delete(bound(generation=largest)).object["metadata"]["generation"] == largest
    waiting = stored(workload("ReplicaSet"))
    waiting["metadata"] |= {"generation": largest, "finalizers": ["a.b/c"]}
    assert delete(waiting).object["metadata"]["generation"] == largest


def test_absurd_grace_ends_with_time() -> None:
    found = delete(bound(), gracePeriodSeconds=2**62)
    assert found.object["metadata"]["deletionTimestamp"] == "9999-12-31T23:59:59Z"
    assert delete(found.object, gracePeriodSeconds=0).removes


def test_finalizers_keep_an_object() -> None:
    kept = stored(document("ConfigMap"))
    kept["metadata"]["finalizers"] = ["a/b"]
    found = delete(kept)
    assert (found.removes, found.changed) == (False, True)
    assert found.object["metadata"]["deletionTimestamp"] == "2025-01-01T00:00:00Z"
    assert found.object["metadata"]["deletionGracePeriodSeconds"] == 0
    assert not delete(found.object).changed
    facts = kind_of(kept)
    assert facts is not None
    freed = {**found.object, "metadata": {**found.object["metadata"], "finalizers": []}}
    assert is_finalized(facts, freed, found.object)
    assert not is_finalized(facts, found.object, found.object)
    assert not is_finalized(facts, freed, kept)
    pending = delete(bound(finalizers=["a/b"]), gracePeriodSeconds=0)
    assert not pending.removes


@pytest.mark.parametrize(
    ("kind", "options", "finalizers"),
    [
        ("Deployment", {}, None),
        ("Deployment", {"propagationPolicy": "Background"}, None),
        ("Deployment", {"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ("Deployment", {"propagationPolicy": "Orphan"}, ["orphan"]),
        ("Deployment", {"orphanDependents": True}, ["orphan"]),
        ("Deployment", {"orphanDependents": False}, None),
        ("Job", {}, ["orphan"]),
        ("Job", {"propagationPolicy": "Background"}, None),
    ],
)
def test_policies(kind: str, options: Raw, finalizers: list[str] | None) -> None:
    raw = stored(workload(kind))
    found = delete(raw, **options)
    assert found.object["metadata"].get("finalizers") == finalizers
    assert found.removes == (finalizers is None)
    assert delete(raw, collects_garbage=False, **options).removes


def test_a_foreground_finalizer_keeps_a_deleted_object() -> None:
    raw = stored(workload("Deployment"))
    raw["metadata"]["finalizers"] = ["foregroundDeletion"]
    assert not delete(raw).removes
    assert delete(raw, propagationPolicy="Background").removes


def test_namespaces_terminate_first() -> None:
    raw = stored(document("Namespace"))
    found = delete(raw)
    assert (found.removes, found.changed) == (False, True)
    assert found.object["status"]["phase"] == "Terminating"
    assert "deletionGracePeriodSeconds" not in found.object["metadata"]
    assert not delete(found.object).changed
    emptied = {**found.object, "spec": {}}
    assert delete(emptied).removes
    facts = kind_of(raw)
    assert facts is not None
    assert is_finalized(facts, emptied, found.object)
    assert not is_finalized(facts, found.object, found.object)


def test_preconditions() -> None:
    with pytest.raises(ApiError) as caught:
        delete(bound(), preconditions={"uid": "other"})
    assert caught.value.code == 409
    assert caught.value.message == (
        'Operation cannot be fulfilled on Pod "p": the UID in the precondition (other) does not match the UID in '
        "record (00000000-0000-0000-0000-000000000000). The object might have been deleted and then recreated"
    )
    with pytest.raises(ApiError, match=r"ResourceVersion in record \(7\)\. The object might have been modified"):
        delete(bound(), revision="7", preconditions={"resourceVersion": "6"})
    with pytest.raises(ApiError, match="Precondition failed: UID in precondition: other"):
        delete(stored(document("Namespace")), preconditions={"uid": "other"})
    assert delete(bound(), revision="7", preconditions={"resourceVersion": "7"}).changed


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (
            {"orphanDependents": True, "propagationPolicy": "Orphan"},
            422,
            'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": '
            "orphanDependents and deletionPropagation cannot be both set",
        ),
        (
            {"propagationPolicy": "Odd"},
            422,
            'supported values: "Foreground", "Background", "Orphan", "nil"',
        ),
        ({"dryRun": ["Some"]}, 422, 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        ({"ignoreStoreReadErrorWithClusterBreakingPotential": True}, 422, "is not supported"),
        ({"gracePeriodSeconds": "x"}, 400, "cannot be handled as a DeleteOptions"),
    ],
)
def test_malformed_delete_options_are_refused(options: Raw, code: int, text: str) -> None:
    with pytest.raises(ApiError) as caught:
        read_delete_options(options)
    assert caught.value.code == code
    assert text in caught.value.message
