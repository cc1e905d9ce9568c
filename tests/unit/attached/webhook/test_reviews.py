"""Reviews and their answers: patches that are small and always the same, refusals in the API server's words."""

import json
import re
from collections.abc import Collection
from typing import Any

import msgspec
import pytest
from tests.unit.attach.workloads import KINDS, complete, pod, requirement, term, toleration, workload
from tests.unit.attached.webhook.reviewed import patch_of, response_to, review, stored
from tests.unit.serve.access.test_rbac_requests import ask, handler_of
from tests.unit.serve.verbs.bench import new_api

from moorage.attach.decisions import NOT_OF_A_POD, to_be_lowered, to_be_mirrored
from moorage.attach.objects import lowered
from moorage.attached.webhook.reviews import answer_review, read_review
from moorage.model.api_error import ApiError
from moorage.model.gates import gates_from

Raw = dict[str, Any]
SPOT = toleration("Gt", "950", effect="NoSchedule")


def lower(document: Raw, old: Raw | None = None, subresource: str = "", groups: Collection[str] = ()) -> Raw:
    return to_be_lowered(document, old)


@pytest.mark.parametrize("kind", KINDS)
def test_a_patch_lowers_and_has_nothing_else(kind: str) -> None:
    given = workload(kind, pod(SPOT, required=[term(requirement("zone", "In", "a"))]))
    assert stored(given, None, "", lower) == lowered(given)
    paths = [operation["path"] for operation in patch_of(response_to(review(given), lower))]
    assert all(re.search("/(metadata|annotations|tolerations|affinity)(/|$)", path) for path in paths), paths
    assert patch_of(response_to(review(lowered(given)), lower)) == []


def test_a_patch_is_the_same_each_time() -> None:
    given = workload("Deployment", pod(SPOT, toleration("Equal", "a"), toleration("SemverLt", "1.2", key="v")))
    bodies = {answer_review(read_review(json.dumps(review(given)).encode()), lower).body for _ in range(3)}
    assert len(bodies) == 1


def test_dry_runs_are_answered_alike() -> None:
    given = pod(SPOT)
    assert response_to(review(given, dryRun=True), lower) == response_to(review(given), lower)


def test_a_deleted_object_and_other_kinds_pass() -> None:
    for document in (review(None, pod(SPOT), operation="DELETE"), review({"apiVersion": "v1", "kind": "Secret"})):
        for decide in (lower, to_be_mirrored):
            assert response_to(document, decide) == {"uid": document["request"]["uid"], "allowed": True}


@pytest.mark.real_time
@pytest.mark.parametrize(
    "given",
    [
        [toleration("Gt", "abc")],
        [toleration("Equal", "a"), toleration("SemverGt", "x"), toleration("Lt", "007")],
        [toleration("SemverEq", "1.2.3.4", key="not a key")],
        [toleration("Gt", "1", key="")],
        [toleration("Gt", "1", effect="NoSchedule", seconds=5)],
    ],
)
async def test_refusals_are_those_of_an_api_server_that_knows_the_operators(given: list[Raw]) -> None:
    document = workload("Deployment", pod(*given))
    complete(document)
    async with new_api(gates=gates_from({"AllAlpha": True})) as api:
        target = "/apis/apps/v1/namespaces/default/deployments"
        native = await ask(await handler_of(api), "POST", target, document)
    response = response_to(review(document), lower)
    assert not response["allowed"]
    assert response["status"] == native
    assert response["status"]["code"] == 422


def test_all_errors_are_told_at_once() -> None:
    affinity = [term(requirement("k", "SemverGt", "1.2.3-rc.1"))]
    response = response_to(review(pod(toleration("Gt", "abc"), required=affinity)), lower)
    fields = [cause["field"] for cause in response["status"]["details"]["causes"]]
    assert fields[0] == "spec.tolerations[0].value"
    assert fields[-1].endswith("nodeSelectorTerms[0].matchExpressions[0].values")


def test_a_generated_name_is_shown() -> None:
    given = pod(toleration("Gt", "abc"))
    given["metadata"] = {"generateName": "web-"}
    assert response_to(review(given), lower)["status"]["message"].startswith('Pod "web-" is invalid: ')


# -- pods that exist ---------------------------------------------------------------------------------------------------


def refusals(document: Raw, old: Raw) -> list[str]:
    response = response_to(review(document, old), lower)
    return [] if response["allowed"] else [cause["field"] for cause in response["status"]["details"]["causes"]]


def test_a_changed_threshold_of_a_pod_is_refused_with_its_place() -> None:
    old = lowered(pod(toleration("Equal", "a"), SPOT))
    assert refusals(pod(toleration("Equal", "a"), SPOT | {"value": "960"}), old) == ["spec.tolerations[1]"]
    assert NOT_OF_A_POD in str(response_to(review(pod(SPOT | {"value": "960"}), old), lower))


def test_what_is_applied_again_is_not_refused() -> None:
    old = lowered(pod(toleration("Equal", "a"), SPOT))
    applied = {**old, "spec": {**old["spec"], "tolerations": [toleration("Equal", "a"), SPOT]}}
    assert refusals(applied, old) == []
    assert stored(applied, old, "", lower) == old


def test_a_pod_with_a_scheduling_gate_is_left_to_the_api_server() -> None:
    old = pod(schedulingGates=[{"name": "example.com/wait"}])
    given = pod(SPOT, schedulingGates=[{"name": "example.com/wait"}])
    assert refusals(given, old) == []
    assert stored(given, old, "", lower) == lowered(given)


def test_a_comparison_that_needs_no_affinity_may_be_added() -> None:
    old = pod(toleration("Exists"))
    given = pod(toleration("Exists"), SPOT)
    assert refusals(given, old) == []


def test_labels_of_a_pod_that_was_stored_with_a_comparison_change_freely() -> None:
    old = pod(SPOT)
    assert stored({**old, "metadata": {"name": "p", "labels": {"a": "b"}}}, old, "", lower)["spec"] == old["spec"]


# -- bad reviews -------------------------------------------------------------------------------------------------------

REVIEW = review(pod(SPOT))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "unexpected end of JSON input"),
        (b"{", "unexpected end of JSON input"),
        (b"\xff\xfe", "invalid character"),
        (b"null", "not no apiVersion, no kind"),
        (b"[]", "cannot unmarshal array"),
        (b"[" * 100_000, "nested more than 200 levels"),
        (b'{"a":' * 150 + b"[" * 150 + b"]" * 150 + b"}" * 150, "nested more than 200 levels"),
        (json.dumps({**REVIEW, "apiVersion": "admission.k8s.io/v1beta1"}).encode(), "admission.k8s.io/v1beta1"),
        (json.dumps({**REVIEW, "kind": 5}).encode(), "kind of type string"),
        (json.dumps({**REVIEW, "request": None}).encode(), "no request with a uid"),
        (json.dumps({**REVIEW, "request": {**REVIEW["request"], "uid": ""}}).encode(), "no request with a uid"),
        (json.dumps({**REVIEW, "request": {**REVIEW["request"], "uid": 7}}).encode(), "cannot unmarshal number"),
        (json.dumps({**REVIEW, "request": {**REVIEW["request"], "object": [1]}}).encode(), "request.object: "),
        (json.dumps({**REVIEW, "request": {**REVIEW["request"], "oldObject": "x"}}).encode(), "request.oldObject: "),
        (json.dumps({**REVIEW, "request": {**REVIEW["request"], "object": {"kind": {}}}}).encode(), "request.object: "),
    ],
)
def test_what_is_no_review_is_a_bad_request(body: bytes, why: str) -> None:
    with pytest.raises(ApiError) as error:
        read_review(body)
    assert error.value.code == 400
    assert error.value.message.startswith("the body is no AdmissionReview that can be answered: ")
    assert why in error.value.message
    assert len(error.value.message) < 1000


def test_types_that_no_api_server_sends_are_refused() -> None:
    given = pod(SPOT)
    given["spec"]["tolerations"].append("x")
    response = response_to(review(given), lower)
    assert response["status"]["code"] == 400
    assert response["status"]["message"].startswith('Pod in version "v1" cannot be handled as a Pod: ')
    bad: Raw = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": {}}}
    assert response_to(review(bad), to_be_mirrored)["status"]["code"] == 400
    assert msgspec.json.encode(bad)


# -- before attach is uninstalled --------------------------------------------------------------------------------------


def refuse_new(document: Raw, old: Raw | None = None, subresource: str = "", groups: Collection[str] = ()) -> Raw:
    return to_be_lowered(document, old, refuses_new=True)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_new_is_lowered_and_what_was_lowered_goes_on(kind: str) -> None:
    given = workload(kind, pod(SPOT))
    told = response_to(review(given), refuse_new)["status"]["message"]
    assert "tolerations[0]: Forbidden: may not compare any more: moorage attach is going to be uninstalled" in told
    ordinary = workload(kind, pod(toleration("Equal", "a")))
    assert response_to(review(ordinary), refuse_new)["allowed"] is True
    assert response_to(review(lowered(given)), refuse_new)["allowed"] is True
    if kind != "Pod":
        other = workload(kind, pod(toleration("Gt", "1", effect="NoSchedule")))
        assert stored(other, lowered(given), "", refuse_new) == lowered(other)
        assert response_to(review(given, ordinary), refuse_new)["allowed"] is False


def test_a_new_comparison_of_versions_in_affinity_is_refused_at_its_place() -> None:
    given = workload("Deployment", pod(required=[term(requirement("driver", "SemverGt", "1.2.3"))]))
    told = response_to(review(given), refuse_new)["status"]["message"]
    assert "spec.template.spec.affinity.nodeAffinity: Forbidden: may not compare any more" in told


def test_operators_of_the_cluster_are_no_new_comparisons() -> None:
    given = workload("Deployment", pod(SPOT))
    assert to_be_lowered(given, None, ("Gt",), refuses_new=True) is given
