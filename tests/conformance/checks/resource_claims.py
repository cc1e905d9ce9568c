"""pod_resource_claims.json: new pods with claims, and one pass of the resourceclaim controller."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.conformance.checks.device_kinds import check_object

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.control.framework.actions import Create, Delete, Patch, Plan, Question, Update
from moorage.control.framework.controller import ControllerContext
from moorage.control.framework.world import World
from moorage.control.resource_claim.controller import ResourceClaimController
from moorage.control.resource_claim.pod_claims import sync_pod
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS, Kind
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]


def check_pod_resource_claims(case: Raw) -> str | None:
    if case["in"]["op"] == "validate":
        return check_object(case)
    given, want = case["in"], case["out"]
    claims, statuses, error = _one_pass(given)
    same = error == want.get("error", "") and statuses == want["podResourceClaimStatuses"]
    same = same and _by_content(claims) == _by_content(want["claims"])
    return None if same else f"got {error!r} {statuses} {claims}, want {want}"


def _one_pass(given: Raw) -> tuple[list[Raw], Raw, str]:
    world = World()
    parts = (
        (KINDS.POD, given["pods"]),
        (KINDS.RESOURCE_CLAIM, given["resourceClaims"]),
        (KINDS.RESOURCE_CLAIM_TEMPLATE, given["resourceClaimTemplates"]),
    )
    for kind, documents in parts:
        for document in documents:
            world.apply(kind, Delta(None, _stored(kind, document)))
    controller = ResourceClaimController(ControllerContext(default_gates(), Metrics(), Random(0).random))
    key = given["sync"]
    asked = controller.questions(key, world, 0.0)
    plan = controller.decide(key, world, {question: _look_up(question, world) for question in asked}, 0.0)
    error, pod = "", world.get(KINDS.POD, key.removeprefix("pod:"))
    if plan.retries and pod is not None:
        error = sync_pod(pod, world, default_gates(), lambda: "").error
    claims = {_key(document): document for document in given["resourceClaims"]}
    statuses = {
        _key(pod): {one["name"]: one for one in pod["status"].get("resourceClaimStatuses") or ()}
        for pod in given["pods"]
    }
    generated = _carry_out(plan, claims, statuses)
    shown = {
        key: [_shown_status(one, generated) for _, one in sorted(entries.items())]
        for key, entries in statuses.items()
        if entries
    }
    known = {_key(document) for document in given["resourceClaims"]}
    return _shown(claims, known), shown, error


def _carry_out(plan: Plan, claims: Raw, statuses: Raw) -> dict[str, str]:
    """Carry out a plan on documents and return the generateName of each new claim."""
    generated = {}
    for action in plan.actions:
        if isinstance(action, Create):
            metadata = action.document["metadata"]
            claims[_key(action.document)] = action.document
            generated[metadata["name"]] = metadata["generateName"]
        elif isinstance(action, Update):
            _update(action, claims)
        elif isinstance(action, Delete):
            claims.pop(action.key, None)
        elif isinstance(action, Patch):
            assert isinstance(action.patch, dict)
            entries = statuses[f"{action.namespace}/{action.name}"]
            entries.update({one["name"]: one for one in action.patch["status"]["resourceClaimStatuses"]})
    return generated


def _update(action: Update, claims: Raw) -> None:
    key = _key(action.document)
    part = "status" if action.subresource else "metadata"
    claims[key] = {**claims[key], part: action.document[part]}
    if action.then is not None:
        _update(action.then, claims)


def _shown(claims: Raw, known: set[str]) -> list[Raw]:
    shown = []
    for key, claim in claims.items():
        metadata = dict(claim["metadata"])
        name, namespace = metadata.pop("name"), metadata.pop("namespace")
        about = {"namespace": namespace, "status": claim.get("status") or {}}
        if key in known:
            about["name"] = name
            if metadata.get("finalizers"):
                about["finalizers"] = metadata["finalizers"]
        else:
            about |= {"created": True, "metadata": {"labels": None, **metadata}, "spec": claim["spec"]}
        shown.append(about)
    return shown


def _by_content(claims: list[Raw]) -> list[str]:
    return sorted(json.dumps(claim, sort_keys=True) for claim in claims)


def _shown_status(status: Raw, generated: dict[str, str]) -> Raw:
    base = generated.get(status.get("resourceClaimName", ""))
    return status if base is None else {**status, "resourceClaimName": f"{base}*"}


def _key(document: Raw) -> str:
    return f"{document['metadata']['namespace']}/{document['metadata']['name']}"


def _stored(kind: Kind, document: Raw) -> Object:
    return Object(kind, _key(document), 1, raw=document)


def _look_up(question: Question, world: World) -> Sequence[Object]:
    found = world.get(question.kind, f"{question.namespace}/{question.name}")
    return () if found is None else (found,)
