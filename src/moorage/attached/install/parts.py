"""List everything that any installation has, in the order in which it is applied, and on what each object depends.

A stream of manifests has the parts of one installation; the chart has all of them, each with its condition. The mirror
comes before what lowers: a lowered pod on a cluster without a mirror would take every node for untainted.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any, Final, NamedTuple

from moorage.attach.policies.additions import addition_policy
from moorage.attach.policies.lowering import lowering_policy
from moorage.attach.policies.mirror import mirror_policy
from moorage.attached import names
from moorage.attached.install.access import (
    account,
    certificate_rights,
    controller_rights,
    webhook_rights,
)
from moorage.attached.install.cert_manager import cert_manager_objects, injected_from
from moorage.attached.install.settings import EXEMPT, REFUSE, Installation
from moorage.attached.install.workloads import controller_objects, webhook_objects
from moorage.attached.webhook.configuration import WebhookPlace, lowering_configuration, mirroring_configuration

Raw = dict[str, Any]

WHY_ANNOTATION: Final = "attach.moorage.dev/why-failure-policy"
_WHY: Final = {
    names.LOWERING: (
        "Ignore: without the webhook the API server itself refuses the operators, so nothing wrong is stored, and "
        "everything else works."
    ),
    names.MIRRORING: (
        "Fail where a taint is added, because pods would land on a node whose taint is not mirrored; Ignore for all "
        "other writes, so that nodes can join while no node runs the webhook."
    ),
}
_WHY_POLICY: Final = {
    names.LOWERING: "Fail: an error of an expression must not store what no scheduler understands.",
    names.MIRRORING: "Fail: a taint must not be written without its mirror, or pods land where they must not be.",
}


class Condition(Enum):
    """When an object is part of an installation."""

    ALWAYS = "always"
    NAMESPACE = "namespace"
    MIRROR_POLICY = "mirror-policy"
    MIRROR_WEBHOOK = "mirror-webhook"
    POLICIES_ONLY = "policies-only"
    ACCEPTS_NEW = "accepts-new"
    REFUSES_NEW = "refuses-new"
    WEBHOOK = "webhook"
    OWN_CERTIFICATES = "own-certificates"
    CERT_MANAGER = "cert-manager"

    def holds(self, installation: Installation) -> bool:
        return _HOLDS[self](installation)


_HOLDS: Final[dict[Condition, Callable[[Installation], bool]]] = {
    Condition.ALWAYS: lambda _: True,
    Condition.NAMESPACE: lambda _: True,
    Condition.MIRROR_POLICY: lambda installation: installation.has_policies,
    Condition.MIRROR_WEBHOOK: lambda installation: not installation.has_policies,
    Condition.POLICIES_ONLY: lambda installation: installation.policies_only,
    Condition.ACCEPTS_NEW: lambda installation: installation.new_comparisons != REFUSE,
    Condition.REFUSES_NEW: lambda installation: installation.new_comparisons == REFUSE,
    Condition.WEBHOOK: lambda installation: installation.has_webhook,
    Condition.OWN_CERTIFICATES: lambda installation: installation.has_webhook and not installation.cert_manager,
    Condition.CERT_MANAGER: lambda installation: installation.has_webhook and installation.cert_manager,
}


class Part(NamedTuple):
    """An object, when it is part of an installation, and the file that it is in."""

    document: Raw
    conditions: tuple[Condition, ...]
    file: str

    def holds(self, installation: Installation) -> bool:
        return all(condition.holds(installation) for condition in self.conditions)


def manifests(installation: Installation) -> list[Raw]:
    """Return the objects of an installation, in the order in which they are applied."""
    return [part.document for part in parts(installation) if part.holds(installation)]


def parts(installation: Installation) -> list[Part]:
    """Return all that any installation with these values may have."""
    listed: list[Part] = []

    def add(file: str, documents: Iterable[Raw], *conditions: Condition) -> None:
        listed.extend(Part(document, conditions or (Condition.ALWAYS,), file) for document in documents)

    add("namespace", [_namespace(installation)], Condition.NAMESPACE)
    add("accounts", [account(installation, names.CONTROLLER)])
    add("accounts", [account(installation, names.WEBHOOK)], Condition.WEBHOOK)
    add("rights", controller_rights(installation))
    add("rights", webhook_rights(installation), Condition.WEBHOOK)
    add("rights", certificate_rights(installation), Condition.OWN_CERTIFICATES)
    add("mirror", _policies(installation, mirror_policy()), Condition.MIRROR_POLICY)
    add("certificates", cert_manager_objects(installation), Condition.CERT_MANAGER)
    add("controller", controller_objects(installation))
    add("webhook", webhook_objects(installation), Condition.WEBHOOK)
    for trust, annotations in (
        (Condition.OWN_CERTIFICATES, {}),
        (Condition.CERT_MANAGER, injected_from(installation)),
    ):
        place = WebhookPlace(namespace=installation.namespace)
        mirroring, lowering = mirroring_configuration(place), lowering_configuration(place)
        add("mirror", [_configuration(installation, mirroring, annotations)], Condition.MIRROR_WEBHOOK, trust)
        add("lowering", [_configuration(installation, lowering, annotations)], trust)
    for answer, refuses_new in ((Condition.ACCEPTS_NEW, False), (Condition.REFUSES_NEW, True)):
        policies = _policies(installation, lowering_policy(refuses_new=refuses_new))
        add("lowering", policies, Condition.POLICIES_ONLY, answer)
    for addition in installation.additions:
        add("additions", (_marked(installation, each, {}) for each in addition_policy(addition)))
    return listed


def _namespace(installation: Installation) -> Raw:
    labels = {
        **installation.labels(),
        **EXEMPT,
        "pod-security.kubernetes.io/enforce": "restricted",
        "pod-security.kubernetes.io/warn": "restricted",
    }
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": installation.namespace, "labels": labels}}


def _configuration(installation: Installation, document: Raw, annotations: dict[str, str]) -> Raw:
    name = document["metadata"]["name"]
    return _marked(installation, document, {WHY_ANNOTATION: _WHY[name], **annotations})


def _policies(installation: Installation, documents: Iterable[Raw]) -> Iterator[Raw]:
    for document in documents:
        is_policy = document["kind"] == "MutatingAdmissionPolicy"
        why = {WHY_ANNOTATION: _WHY_POLICY[document["metadata"]["name"]]} if is_policy else {}
        yield _marked(installation, document, why)


def _marked(installation: Installation, document: Raw, annotations: dict[str, str]) -> Raw:
    metadata = {**document["metadata"], "labels": installation.labels()}
    if annotations:
        metadata["annotations"] = annotations
    return {**document, "metadata": metadata}
