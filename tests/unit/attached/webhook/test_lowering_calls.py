"""Which requests our API server, with the gates of a release, sends to the webhook, and what is stored then."""

from typing import Any

import pytest
from tests.unit.attach.workloads import KINDS, complete, pod, requirement, term, toleration, workload
from tests.unit.attached.webhook.attached_cluster import Called, attached
from tests.unit.serve.access.test_rbac_requests import ask

from moorage.attach.decisions import NOT_OF_A_POD
from moorage.attach.objects import lowered, pod_of
from moorage.attach.policies.additions import Addition, addition_policy
from moorage.attached import names
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS as ROWS
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api

#: Expressions that cost much are evaluated in a thread.
pytestmark = pytest.mark.real_time

Raw = dict[str, Any]
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"
SPOT = toleration("Gt", "950", effect="NoSchedule")


def collection(kind: str, namespace: str = "default") -> str:
    row = ROWS[KINDS[kind], kind]
    prefix = f"/apis/{row.api_version}" if row.group else "/api/v1"
    return f"{prefix}/namespaces/{namespace}/{row.plural}"


def made(kind: str, *tolerations: Raw, **spec: Any) -> Raw:
    document = workload(kind, pod(*tolerations, **spec))
    complete(document)
    return document


async def stored(handler: Handler, kind: str, document: Raw, namespace: str = "default") -> Raw:
    answer = await ask(handler, "POST", collection(kind, namespace), document)
    assert answer.pop("code") == 201, answer
    return answer


async def changed(handler: Handler, target: str, patch: Raw, content_type: str = MERGE) -> Raw:
    answer = await ask(handler, "PATCH", target, patch, content_type=content_type)
    assert answer.pop("code") in (200, 201), answer
    return answer


async def test_ordinary_objects_of_nine_kinds_cause_no_call() -> None:
    """Their tolerations and affinity are those that every Kubernetes knows."""
    ordinary = [toleration("Equal", "a"), toleration("Exists", key="x"), {"key": "y", "value": "b"}]
    required = [term(requirement("kernel", "Gt", "6")), {"matchFields": [requirement("metadata.name", "In", "n")]}]
    preferred = [{"weight": 3, "preference": term(requirement("zone", "In", "a"))}]
    async with attached() as (handler, calls):
        for kind in KINDS:
            await stored(handler, kind, made(kind, *ordinary, required=required, preferred=preferred))
            name = "p" if kind == "Pod" else "w"
            await changed(handler, f"{collection(kind)}/{name}", {"metadata": {"labels": {"a": "b"}}})
        await changed(handler, f"{DEPLOYMENTS}/w/scale", {"spec": {"replicas": 5}})
        await changed(handler, f"{DEPLOYMENTS}/w", {"spec": {"replicas": 3}})
        assert calls == []


@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_is_lowered_when_it_is_created(kind: str) -> None:
    affinity = {"required": [term(requirement("kernel", "SemverGt", "6.1"))]}
    given = made(
        kind, SPOT, toleration("SemverLt", "1.2", key="driver"), toleration("CEL", "true", key="x"), **affinity
    )
    async with attached() as (handler, calls):
        kept = await stored(handler, kind, given)
        assert calls == [Called(names.LOWERING, "CREATE", kind, "changed")]
        found, wanted = pod_of(kept), pod_of(lowered(given))
        assert found is not None
        assert wanted is not None
        if kind != "Pod":  # to pods the API server adds tolerations
            assert found["metadata"]["annotations"] == wanted["metadata"]["annotations"]
            assert found["spec"]["tolerations"] == wanted["spec"]["tolerations"]
        assert found["spec"]["affinity"] == wanted["spec"]["affinity"]
        assert lowered(kept) is kept


async def test_a_lowered_deployment_is_sent_only_when_its_template_changes() -> None:
    async with attached() as (handler, calls):
        given = made("Deployment", SPOT)
        applied = await changed(handler, f"{DEPLOYMENTS}/w?fieldManager=me", given, APPLY)
        calls.clear()
        for patch in ({"spec": {"replicas": 4}}, {"metadata": {"annotations": {"a": "b"}}}):
            await changed(handler, f"{DEPLOYMENTS}/w", patch)
        await changed(handler, f"{DEPLOYMENTS}/w/scale", {"spec": {"replicas": 5}})
        assert calls.taken() == []
        image = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}}}
        updated = await changed(handler, f"{DEPLOYMENTS}/w", image)
        assert calls.taken() == [Called(names.LOWERING, "UPDATE", "Deployment", "same")]
        assert updated["spec"]["template"]["metadata"] == applied["spec"]["template"]["metadata"]


async def test_applying_again_changes_nothing() -> None:
    async with attached() as (handler, calls):
        given = made("Deployment", SPOT)
        first = await changed(handler, f"{DEPLOYMENTS}/w?fieldManager=me", given, APPLY)
        again = await changed(handler, f"{DEPLOYMENTS}/w?fieldManager=me", given, APPLY)
        assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        assert [each.result for each in calls.taken()] == ["changed", "changed"]


async def test_a_toleration_that_is_removed_takes_its_affinity_away() -> None:
    async with attached() as (handler, calls):
        await stored(handler, "Deployment", made("Deployment", SPOT))
        calls.clear()
        for tolerations in (None, [toleration("Equal", "a")]):
            left = await changed(
                handler, f"{DEPLOYMENTS}/w", {"spec": {"template": {"spec": {"tolerations": tolerations}}}}
            )
            assert "affinity" not in left["spec"]["template"]["spec"]
            assert "annotations" not in left["spec"]["template"]["metadata"]
        assert calls.taken() == [Called(names.LOWERING, "UPDATE", "Deployment", "changed")]


async def test_an_annotation_that_is_taken_from_a_lowered_template_is_noticed() -> None:
    async with attached() as (handler, _):
        await stored(handler, "Deployment", made("Deployment", SPOT))
        forged = {"spec": {"template": {"metadata": {"annotations": None}}}}
        answer = await ask(handler, "PATCH", f"{DEPLOYMENTS}/w", forged, content_type=MERGE)
        assert (answer["code"], answer["reason"]) == (422, "Invalid")
        assert "is not what moorage attach has written" in answer["message"]


async def test_pods_of_lowered_templates_are_not_sent() -> None:
    async with attached() as (handler, calls):
        template = pod_of(lowered(made("Deployment", SPOT)))
        assert template is not None
        document = {"apiVersion": "v1", "kind": "Pod", **template}
        await stored(handler, "Pod", {**document, "metadata": {**template["metadata"], "name": "w-1"}})
        assert calls == []


@pytest.mark.parametrize("where", ["kube-system", "exempt namespace", "exempt object"])
async def test_what_is_exempt_is_refused_by_the_api_server_as_ever(where: str) -> None:
    async with attached() as (handler, calls):
        exempt = {"metadata": {"labels": {names.EXEMPT_LABEL: "true"}}}
        namespace = "kube-system" if where == "kube-system" else "default"
        given = made("Pod", SPOT)
        if where == "exempt namespace":
            await changed(handler, "/api/v1/namespaces/default", exempt)
        elif where == "exempt object":
            given["metadata"]["labels"] = exempt["metadata"]["labels"]
        answer = await ask(handler, "POST", collection("Pod", namespace), given)
        assert 'Unsupported value: "Gt"' in answer["message"]
        assert calls == []


async def test_while_the_webhook_is_down_only_extended_operators_are_refused() -> None:
    async with attached() as (handler, calls):
        await stored(handler, "Deployment", made("Deployment", SPOT))
        calls.is_down = True
        await changed(handler, f"{DEPLOYMENTS}/w", {"spec": {"replicas": 4}})
        image = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}}}
        await changed(handler, f"{DEPLOYMENTS}/w", image)
        await stored(handler, "Pod", made("Pod", toleration("Equal", "a")))
        answer = await ask(handler, "POST", collection("Job"), made("Job", SPOT))
        assert answer["code"] == 422
        assert 'operator: Unsupported value: "Gt"' in answer["message"]


# -- pods that exist ---------------------------------------------------------------------------------------------------


async def test_a_comparison_cannot_be_added_to_a_pod() -> None:
    async with attached() as (handler, calls):
        kept = await stored(handler, "Pod", made("Pod", toleration("Equal", "a")))
        tolerations = [*kept["spec"]["tolerations"], SPOT]
        answer = await ask(handler, "PATCH", f"{PODS}/p", {"spec": {"tolerations": tolerations}}, content_type=MERGE)
        assert (answer["code"], answer["reason"]) == (422, "Invalid")
        where = f"spec.tolerations[{len(tolerations) - 1}]"
        assert answer["message"] == (
            f'admission webhook "{names.LOWERING}" denied the request: Pod "p" is invalid: {where}: '
            f"Forbidden: {NOT_OF_A_POD}"
        )
        assert [cause["field"] for cause in answer["details"]["causes"]] == [where]
        assert [each.result for each in calls] == ["refused"]


async def test_a_pod_is_applied_again_and_gets_plain_tolerations() -> None:
    async with attached() as (handler, calls):
        given = made("Pod", SPOT)
        first = await changed(handler, f"{PODS}/p?fieldManager=me", given, APPLY)
        again = await changed(handler, f"{PODS}/p?fieldManager=me", given, APPLY)
        assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        tolerations = [*first["spec"]["tolerations"], toleration("Exists", key="other")]
        calls.clear()
        added = await changed(handler, f"{PODS}/p", {"spec": {"tolerations": tolerations}})
        assert added["spec"]["affinity"] == first["spec"]["affinity"]
        assert calls == []


async def test_an_object_stored_before_is_not_rolled_out_by_other_changes() -> None:
    """Its gate was on once: the template is lowered when it changes, and its pods when they are created."""
    async with attached() as (handler, calls):
        before = Api(calls.api.store, gates_from({"AllAlpha": True}), clock=lambda: 1.8e9)
        await before.start()
        given = made("Deployment", SPOT)
        given["metadata"]["namespace"] = "default"
        await LoopbackClient(before, "test").create(ROWS.DEPLOYMENT, given)
        kept = await changed(handler, f"{DEPLOYMENTS}/w", {"spec": {"replicas": 4}})
        assert kept["spec"]["template"]["spec"]["tolerations"] == [SPOT]
        assert calls == []
        image = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}}}
        rolled = await changed(handler, f"{DEPLOYMENTS}/w", image)
        assert lowered(rolled) is rolled
        assert calls == [Called(names.LOWERING, "UPDATE", "Deployment", "changed")]


async def test_a_comparison_that_a_policy_adds_for_everyone_is_lowered() -> None:
    spot = {"key": "spot", "operator": "Gt", "value": "950", "effect": "NoSchedule"}
    added = addition_policy(Addition("sla", pods={"matchLabels": {"app": "web"}}, tolerations=[spot]))
    async with attached(*added) as (handler, calls):
        document = pod()
        document["metadata"]["labels"] = {"app": "web"}
        made = await ask(handler, "POST", PODS, document)
        assert made["code"] == 201, made
        assert made["metadata"]["annotations"]["attach.moorage.dev/tolerations"].count("950") == 1
        assert calls.taken()
        of_template = lowered(pod(spot))
        of_template["metadata"] |= {"name": "q", "labels": {"app": "web"}}
        made = await ask(handler, "POST", PODS, of_template)
        assert made["metadata"]["annotations"] == of_template["metadata"]["annotations"]
