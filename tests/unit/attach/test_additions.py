"""Policies that add matchLabelKeys or tolerations for everyone: pods get them on our API server, templates do not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.attach.workloads import pod, toleration
from tests.unit.serve.access.test_rbac_requests import ask, new_handler

from moorage.attach.policies.additions import Addition, addition_policy
from moorage.serve.requests.handler import Handler

#: Expressions that cost much are evaluated in a thread.
pytestmark = pytest.mark.real_time

Raw = dict[str, Any]
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
HASH = "pod-template-hash"
TEAM = {"matchLabels": {"team": "a"}}


@asynccontextmanager
async def adding(*policies: list[Raw]) -> AsyncIterator[Handler]:
    """An API server with namespaces `a`, which has the label, and `b`, and with policies."""
    async with new_handler() as handler:
        for name, labels in (
            ("a", {"team": "a"}),
            ("b", {}),
            ("exempt", {"team": "a", "attach.moorage.dev/exempt": "true"}),
        ):
            document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
            assert (await ask(handler, "POST", "/api/v1/namespaces", document))["code"] == 201
        for policy, binding in policies:
            for document, plural in ((policy, "policies"), (binding, "policybindings")):
                made = await ask(
                    handler, "POST", f"{ADMISSION}/mutatingadmission{plural}?fieldValidation=Strict", document
                )
                assert made["code"] == 201, made["message"]
        yield handler


async def created(handler: Handler, namespace: str, document: Raw) -> Raw:
    made = await ask(handler, "POST", f"/api/v1/namespaces/{namespace}/pods", document)
    assert made["code"] == 201, made["message"]
    return made


def term(labels: Raw | None, **more: Any) -> Raw:
    selector = {"labelSelector": {"matchLabels": labels}} if labels is not None else {}
    return {"topologyKey": "kubernetes.io/hostname", **selector, **more}


def keyed(labels: Raw, **spec: Any) -> Raw:
    document = pod(**spec)
    document["metadata"]["labels"] = labels
    return document


LABELS = {"app": "web", HASH: "7bdccb9b6c"}


async def test_keys_are_added_to_terms_about_pods_like_this_one() -> None:
    anti, own = "podAntiAffinity", "podAffinity"
    required, preferred = (f"{each}DuringSchedulingIgnoredDuringExecution" for each in ("required", "preferred"))
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    document = keyed(
        LABELS,
        affinity={
            anti: {
                required: [term({"app": "web"}), term({"app": "db"}), term({"app": "web"}, mismatchLabelKeys=[HASH])],
                preferred: [{"weight": 1, "podAffinityTerm": term({"app": "web"})}],
            },
            own: {required: [term({"app": "web", HASH: LABELS[HASH]}), term({"app": "web"}, matchLabelKeys=["app2"])]},
        },
        topologySpreadConstraints=[
            {**spread, "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}},
            {**spread, "topologyKey": "host", "labelSelector": {"matchLabels": {"app": "db"}}},
            {**spread, "topologyKey": "rack"},
        ],
    )
    async with adding(addition_policy(Addition("rollouts", TEAM, match_label_keys=[HASH]))) as handler:
        made, left = [await created(handler, namespace, document) for namespace in ("a", "b")]
        exempt = await created(handler, "exempt", document)
        no_label = await created(
            handler,
            "a",
            keyed({"app": "web"}, **document["spec"]) | {"metadata": {"name": "q", "labels": {"app": "web"}}},
        )

    def keys(answer: Raw) -> list[Any]:
        affinity = answer["spec"]["affinity"]
        terms = [
            *affinity[anti][required],
            *(each["podAffinityTerm"] for each in affinity[anti][preferred]),
            *affinity[own][required],
            *answer["spec"]["topologySpreadConstraints"],
        ]
        return [each.get("matchLabelKeys") for each in terms]

    assert keys(made) == [[HASH], None, None, [HASH], None, ["app2", HASH], [HASH], None, None]
    for answer in (left, exempt, no_label):
        assert keys(answer) == [None, None, None, None, None, ["app2"], None, None, None]


async def test_tolerations_are_added_once() -> None:
    extra = [
        toleration("Exists", key="gpu", effect="NoSchedule"),
        toleration("Equal", "x", key="d", effect="NoExecute", seconds=60),
    ]
    async with adding(
        addition_policy(Addition("gpus", pods={"matchLabels": {"gpu": "yes"}}, tolerations=extra))
    ) as handler:
        for given in ([], extra[:1], [toleration("Exists", key="other")]):
            document = keyed({"gpu": "yes"}, tolerations=given) if given else keyed({"gpu": "yes"})
            document["metadata"] = {"generateName": "p-", "labels": {"gpu": "yes"}}
            tolerations = (await created(handler, "b", document))["spec"]["tolerations"]
            assert [tolerations.count(each) for each in extra] == [1, 1]
            assert tolerations[: len(given)] == given
        other = await created(handler, "b", keyed({"gpu": "no"}))
        assert extra[0] not in other["spec"]["tolerations"]
