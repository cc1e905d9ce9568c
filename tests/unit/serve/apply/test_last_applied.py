"""From client-side to server-side apply and back, with kubectl's annotation."""

import json

import pytest
from tests.unit.serve.apply.cases import Raw, applied, created, deployment, owned, updated

from moorage.model.kinds import KINDS
from moorage.model.well_known.annotations import LAST_APPLIED
from moorage.serve.apply.managed_fields import ApplyConflict

SPEC: Raw = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {"spec": {"containers": []}}}


def by_client(spec: Raw = SPEC, text: str = "") -> Raw:
    """A deployment as client-side apply creates it."""
    text = text or json.dumps(deployment(spec))
    return created(deployment(spec, annotations={LAST_APPLIED: text}), KINDS.DEPLOYMENT, "kubectl-client-side-apply")


def test_own_former_configuration_is_no_conflict() -> None:
    after = applied(by_client(), deployment({**SPEC, "replicas": 2}), KINDS.DEPLOYMENT, "kubectl")
    assert after["spec"]["replicas"] == 2
    assert "f:replicas" not in owned(after)[("kubectl-client-side-apply", "Update")]["f:spec"]


def test_other_names_opt_out() -> None:
    with pytest.raises(ApplyConflict):
        applied(by_client(), deployment({"replicas": 2}), KINDS.DEPLOYMENT, "me")


def test_what_was_changed_since_is_a_conflict() -> None:
    live = updated(by_client(), KINDS.DEPLOYMENT, "scaler", {"spec": {**SPEC, "replicas": 5}})
    patch = deployment({"replicas": 2, "selector": {"matchLabels": {"x": "y"}}})
    with pytest.raises(ApplyConflict) as refusal:
        applied(live, patch, KINDS.DEPLOYMENT, "kubectl")
    expected = 'Apply failed with 1 conflict: conflict with "scaler" using apps/v1: .spec.replicas'
    assert refusal.value.message == expected


@pytest.mark.parametrize("text", ["{", "[]", '"x"', '{"apiVersion":"v1"}', '{"apiVersion":"apps/v1","spec":{"foo":1}}'])
def test_an_annotation_that_makes_no_sense_allows_nothing(text: str) -> None:
    with pytest.raises(ApplyConflict):
        applied(by_client(text=text), deployment({"replicas": 2}), KINDS.DEPLOYMENT, "kubectl")


def test_the_annotation_is_kept_up_to_date() -> None:
    patch = deployment({**SPEC, "minReadySeconds": 3}, annotations={"z": "<&>"})
    after = applied(by_client(), patch, KINDS.DEPLOYMENT, "kubectl")
    assert after["metadata"]["annotations"][LAST_APPLIED] == (
        '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"annotations":{"z":"\\u003c\\u0026\\u003e"},"name":"d",'
        '"namespace":"default"},"spec":{"minReadySeconds":3,"replicas":1,"selector":{"matchLabels":{"a":"b"}},'
        '"template":{"spec":{"containers":[]}}}}\n'
    )


def test_last_applied_is_not_added_to_objects_without_it() -> None:
    live = created(deployment(SPEC), KINDS.DEPLOYMENT)
    after = applied(live, deployment({"paused": True}), KINDS.DEPLOYMENT, "kubectl")
    assert "annotations" not in after["metadata"]


def test_an_annotation_that_got_too_large_is_dropped() -> None:
    patch = deployment(SPEC, annotations={"big": "x" * 200_000})
    after = applied(by_client(), patch, KINDS.DEPLOYMENT, "kubectl")
    assert list(after["metadata"]["annotations"]) == ["big"]


def test_the_annotation_does_not_remember_itself() -> None:
    patch = deployment(SPEC, annotations={LAST_APPLIED: "x"})
    after = applied(by_client(), patch, KINDS.DEPLOYMENT, "kubectl", force=True)
    assert json.loads(after["metadata"]["annotations"][LAST_APPLIED])["metadata"]["annotations"] == {}
