"""Our API server, with the gates of a release, mirrors nodes by the policy and stores what is lowered."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.attach.workloads import KINDS, complete, pod, requirement, term, toleration, workload
from tests.unit.serve.access.test_rbac_requests import ask, handler_of
from tests.unit.serve.verbs.bench import new_api

from moorage.attach.mirror import mirror_labels
from moorage.attach.objects import lowered, pod_of
from moorage.attach.policies.lowering import lowering_policy
from moorage.attach.policies.mirror import NAME, mirror_policy
from moorage.model.gates import GateSet, gates_from
from moorage.model.kinds import KINDS as ROWS
from moorage.serve.requests.handler import Handler

#: Expressions that cost much are evaluated in a thread.
pytestmark = pytest.mark.real_time

Raw = dict[str, Any]
NODES = "/api/v1/nodes"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
SPOT: Raw = {"key": "spot", "value": "950", "effect": "NoSchedule"}
#: What admission adds to pods before policies see them.
WHILE_UNREADY = [
    toleration("Exists", key=f"node.kubernetes.io/{state}", effect="NoExecute", seconds=300)
    for state in ("not-ready", "unreachable")
]
MERGE = "application/merge-patch+json"


@asynccontextmanager
async def mirroring(*others: list[Raw], gates: GateSet | None = None) -> AsyncIterator[Handler]:
    async with new_api(gates=gates) as api:
        handler = await handler_of(api)
        for policy, binding in (mirror_policy(), *others):
            made = await ask(handler, "POST", f"{ADMISSION}/mutatingadmissionpolicies", policy)
            assert made["code"] == 201, made
            made = await ask(handler, "POST", f"{ADMISSION}/mutatingadmissionpolicybindings", binding)
            assert made["code"] == 201, made
        yield handler


def labels(answer: Raw) -> Raw:
    """Return the labels of a stored node that the mirror is about."""
    there = answer["metadata"]["labels"]
    return {key: value for key, value in there.items() if "moorage.dev/" in key}


async def test_taints_and_labels_are_mirrored_in_the_same_write() -> None:
    document = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [SPOT]}}
    async with mirroring() as handler:
        created = await ask(handler, "POST", NODES, document)
        assert labels(created) == mirror_labels(document)
        changed = {"spec": {"taints": [SPOT | {"value": "1.2.3"}]}, "metadata": {"labels": {"kernel": "6.1"}}}
        patched = await ask(handler, "PATCH", f"{NODES}/n", changed, content_type=MERGE)
        assert labels(patched) == mirror_labels({"metadata": {"labels": {"kernel": "6.1"}}, "spec": changed["spec"]})
        forged = {"metadata": {"labels": {"num.noschedule.taint.moorage.dev/spot": "9999"}}}
        for path in (f"{NODES}/n", f"{NODES}/n/status"):
            assert labels(await ask(handler, "PATCH", path, forged, content_type=MERGE)) == labels(patched)
        pretended = {"spec": {"taints": [SPOT | {"value": "7"}]}, "metadata": {"labels": {"kernel": "6.2"}}}
        answer = await ask(handler, "PATCH", f"{NODES}/n/status", pretended, content_type=MERGE)
        assert labels(answer) == mirror_labels({"metadata": {"labels": {"kernel": "6.2"}}, "spec": changed["spec"]})


async def test_a_key_without_room_for_its_labels_is_written_all_the_same() -> None:
    key = ".".join(["a" * 62] * 4) + "/k"
    document = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "spec": {"taints": [SPOT | {"key": key}]},
    }
    async with mirroring() as handler:
        created = await ask(handler, "POST", NODES, document)
        assert (created["code"], labels(created)) == (201, {"moorage.dev/mirrored": "v1"})


@pytest.mark.parametrize("kind", KINDS)
async def test_a_lowered_object_is_stored_and_lowered_again_is_the_same(kind: str) -> None:
    given = workload(kind, pod(toleration("Gt", "950"), required=[term(requirement("kernel", "SemverGt", "6.1"))]))
    row = ROWS[KINDS[kind], kind]
    prefix = f"/apis/{row.api_version}" if row.group else "/api/v1"
    complete(given)
    async with mirroring() as handler:
        refused = await ask(handler, "POST", f"{prefix}/namespaces/default/{row.plural}", given)
        assert refused["code"] == 422
        stored = await ask(handler, "POST", f"{prefix}/namespaces/default/{row.plural}", lowered(given))
        assert stored.pop("code") == 201, stored
        assert lowered(stored) is stored


@pytest.mark.parametrize("kind", KINDS)
async def test_the_policy_lowers_a_threshold_of_every_kind(kind: str) -> None:
    given = workload(kind, pod(toleration("Gt", "950"), required=[term(requirement("zone", "In", "a"))]))
    row = ROWS[KINDS[kind], kind]
    prefix = f"/apis/{row.api_version}" if row.group else "/api/v1"
    complete(given)
    async with mirroring(lowering_policy()) as handler:
        stored = await ask(handler, "POST", f"{prefix}/namespaces/default/{row.plural}", given)
        assert stored.pop("code") == 201, stored
        assert lowered(stored) is stored
        if kind == "Pod":
            given["spec"]["tolerations"] += WHILE_UNREADY
        wanted, found = pod_of(lowered(given)), pod_of(stored)
        assert wanted is not None
        assert found is not None
        assert found["metadata"]["annotations"] == wanted["metadata"]["annotations"]
        assert found["spec"]["affinity"] == wanted["spec"]["affinity"]
        assert found["spec"]["tolerations"] == wanted["spec"]["tolerations"]


async def test_what_the_policy_cannot_lower_is_refused_as_ever() -> None:
    async with mirroring(lowering_policy()) as handler:
        given = pod(*(toleration("Gt", "1", key=key) for key in "abc"))
        refused = await ask(handler, "POST", "/api/v1/namespaces/default/pods", given)
        assert 'Unsupported value: "Gt"' in refused["message"]


def test_the_names_of_policy_and_binding_are_one() -> None:
    assert {document["metadata"]["name"] for document in mirror_policy()} == {NAME}


async def test_a_policy_that_refuses_new_comparisons_lowers_only_what_is_lowered() -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    given, changed = (
        workload("Deployment", pod(toleration("Gt", value, effect="NoSchedule"))) for value in ("950", "960")
    )
    complete(given)
    complete(changed)
    policy, binding = lowering_policy(refuses_new=True)
    async with mirroring(lowering_policy()) as handler:
        assert (await ask(handler, "POST", path, given))["code"] == 201
        for document, plural in ((policy, "policies"), (binding, "policybindings")):
            name = document["metadata"]["name"]
            where = f"{ADMISSION}/mutatingadmission{plural}/{name}"
            stored = await ask(handler, "GET", where)
            put = await ask(handler, "PUT", where, {**document, "metadata": stored["metadata"]})
            assert put["code"] == 200, put
        other = {**given, "metadata": {**given["metadata"], "name": "other"}}
        refused = await ask(handler, "POST", path, other)
        assert "Unsupported value" in refused["message"]
        name = given["metadata"]["name"]
        updated = await ask(handler, "PUT", f"{path}/{name}", changed)
        assert updated["code"] == 200, updated
        template = pod_of(updated)
        assert template is not None
        assert '"value":"960"' in template["metadata"]["annotations"]["attach.moorage.dev/tolerations"]


async def test_the_policy_leaves_a_template_to_the_cluster_that_asks_for_it() -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    gates = gates_from({"TaintTolerationComparisonOperators": True})
    given = workload("Deployment", pod(toleration("Gt", "950", effect="NoSchedule")))
    complete(given)
    async with mirroring(lowering_policy(), gates=gates) as handler:
        made = await ask(handler, "POST", path, given)
        made.pop("code")
        assert lowered(made) is made
        asking = {"attach.moorage.dev/native": "true"}
        applied = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "w"},
            "spec": {
                "template": {
                    "metadata": {"annotations": asking},
                    "spec": {"tolerations": given["spec"]["template"]["spec"]["tolerations"]},
                }
            },
        }
        stored = await ask(handler, "PATCH", f"{path}/w", applied, content_type=MERGE)
        assert stored["code"] == 200, stored["message"]
        template = pod_of(stored)
        assert template is not None
        assert template["metadata"]["annotations"] == asking
        assert [each["operator"] for each in template["spec"]["tolerations"]] == ["Gt"]
        assert "affinity" not in template["spec"]
        new = {**given, "metadata": {"name": "new"}}
        new["spec"]["template"]["metadata"]["annotations"] = asking
        created = await ask(handler, "POST", path, new)
        assert created["code"] == 201, created["message"]
        assert "affinity" not in created["spec"]["template"]["spec"]
