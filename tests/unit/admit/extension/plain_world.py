"""A world of policies and webhooks that is a few dictionaries, for tests of one part at a time."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from moorage.admit.extension.attributes import Attributes, ObjectKind, ObjectResource, UserInfo
from moorage.admit.extension.steps import ConversionCall
from moorage.admit.extension.world import Decision, ParamKindRow, ServedVersion
from moorage.admit.prepare.kind_defaults import default_admission_policy, default_policy_binding
from moorage.admit.raw import Raw
from moorage.match.cel.libraries.authz import Check
from moorage.match.label_selector import compile_label_selector
from moorage.model.api_error import internal
from moorage.model.schema.conversion import convert_view
from moorage.model.types.extension.admission_policies import (
    MatchResources,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingWebhookConfiguration,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
)
from moorage.model.types.meta import LabelSelector

WIDGETS = "vec.example.com"


class PlainWorld:
    """ConfigMaps and pods in one version, widgets in two, and what a test puts in. It allows what `allows` does.

    A webhook converts widgets if `converts_by_webhook`.
    """

    def __init__(self) -> None:
        self.generation = 0
        self.namespaces: dict[str, Raw] = {}
        self.policies: list[ValidatingAdmissionPolicy] = []
        self.bindings: dict[str, list[ValidatingAdmissionPolicyBinding]] = {}
        self.objects: dict[tuple[str, str, str], Raw] = {}  # parameters: kind, namespace, name
        self.allows: Callable[[UserInfo, Check], bool] = lambda user, question: False
        self.asked: list[Check] = []
        self.converts_by_webhook = False
        self.kinds = {
            ("v1", "ConfigMap"): ParamKindRow(ObjectKind("", "v1", "ConfigMap"), True),
            (f"{WIDGETS}/v1", "ClusterLimit"): ParamKindRow(ObjectKind(WIDGETS, "v1", "ClusterLimit"), False),
        }

    @property
    def is_empty(self) -> bool:
        return not self.policies

    def put_namespace(self, name: str, **labels: str) -> None:
        metadata: Raw = {"name": name, "uid": f"uid-{name}"}
        if labels:
            metadata["labels"] = labels
        self.namespaces[name] = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}

    def put_policy(self, name: str, spec: Raw, *bindings: Raw) -> ValidatingAdmissionPolicy:
        """Store a policy with its bindings, completed as admission does. Without any it is bound as `b` with Deny."""
        document: Raw = {"metadata": {"name": name}, "spec": deepcopy(spec)}
        document["spec"].setdefault("matchConstraints", {"resourceRules": [CONFIG_MAPS]})
        default_admission_policy(document)
        policy = convert_view(document, ValidatingAdmissionPolicy)
        self.policies = sorted(
            [*(other for other in self.policies if other.metadata.name != name), policy],
            key=lambda other: other.metadata.name,
        )
        self.bindings[name] = []
        for number, binding in enumerate(bindings or ({},), 1):
            spec = {"policyName": name, "validationActions": ["Deny"], **deepcopy(binding)}
            document = {"metadata": {"name": f"b{number}"}, "spec": spec}
            default_policy_binding(document)
            self.bindings[name].append(convert_view(document, ValidatingAdmissionPolicyBinding))
        self.generation += 1
        return policy

    def put_param(self, kind: str, namespace: str, name: str, document: Raw) -> None:
        self.objects[kind, namespace, name] = document

    def validating_policies(self) -> Sequence[ValidatingAdmissionPolicy]:
        return self.policies

    def validating_bindings(self, policy: str) -> Sequence[ValidatingAdmissionPolicyBinding]:
        return self.bindings.get(policy, ())

    def mutating_policies(self) -> Sequence[MutatingAdmissionPolicy]:
        return ()

    def mutating_bindings(self, policy: str) -> Sequence[MutatingAdmissionPolicyBinding]:
        return ()

    def mutating_webhooks(self) -> Sequence[MutatingWebhookConfiguration]:
        return ()

    def validating_webhooks(self) -> Sequence[ValidatingWebhookConfiguration]:
        return ()

    def namespace(self, name: str) -> Raw | None:
        return self.namespaces.get(name)

    def served_versions(self, resource: ObjectResource, subresource: str) -> Sequence[ServedVersion]:
        if resource.group != WIDGETS:
            return ()
        kind = "Scale" if subresource == "scale" else "Widget"
        group = "autoscaling" if subresource == "scale" else WIDGETS
        return [
            ServedVersion(
                ObjectResource(WIDGETS, version, "widgets"),
                ObjectKind(group, "v1" if subresource == "scale" else version, kind),
            )
            for version in ("v1", "v1beta1")
        ]

    def is_namespaced(self, resource: ObjectResource) -> bool:
        return True

    def convert(self, document: Raw, kind: ObjectKind) -> Raw:
        if document["metadata"].get("name") == "stubborn":
            raise internal("conversion failed")
        return document | {"apiVersion": f"{kind.group}/{kind.version}", "kind": kind.kind}

    def conversion(self, document: Raw, kind: ObjectKind) -> ConversionCall | None:
        api_version = f"{kind.group}/{kind.version}"
        if not self.converts_by_webhook or document.get("apiVersion") == api_version:
            return None
        return ConversionCall(f"widgets.{WIDGETS}", kind, api_version, document)

    def complete(self, document: Raw, resource: ObjectResource, subresource: str) -> Raw:
        return document

    def param_kind(self, api_version: str, kind: str) -> ParamKindRow | None:
        return self.kinds.get((api_version, kind))

    def param(self, kind: ObjectKind, namespace: str, name: str) -> Raw | None:
        return self.objects.get((kind.kind, namespace, name))

    def params(self, kind: ObjectKind, namespace: str, selector: LabelSelector) -> Sequence[Raw]:
        compiled = compile_label_selector(selector)
        return [
            document
            for (own, place, _), document in sorted(self.objects.items())
            if own == kind.kind and place == namespace and compiled.match(document["metadata"].get("labels") or {})
        ]

    def authorize(self, user: UserInfo, question: Check) -> Decision:
        self.asked.append(question)
        return Decision(self.allows(user, question), "because")

    def apply_schema(self, kind: ObjectKind) -> object | None:
        return None


CONFIG_MAPS: Raw = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}


def constraints(**fields: Any) -> MatchResources:
    """Return matchConstraints with the defaults of the API server."""
    document: Raw = {"metadata": {"name": "p"}, "spec": {"matchConstraints": fields}}
    default_admission_policy(document)
    resources = convert_view(document, ValidatingAdmissionPolicy).spec.matchConstraints
    assert resources is not None
    return resources


def config_map(name: str = "c", namespace: str = "team-a", data: Any = None, **metadata: Any) -> Raw:
    document: Raw = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}
    document["metadata"].update(metadata)
    if data is not None:
        document["data"] = data
    return document


def creation(document: Raw, **changes: Any) -> Attributes:
    """Return the request that creates a ConfigMap, or anything else by `changes`."""
    metadata = document["metadata"]
    fields: dict[str, Any] = {
        "operation": "CREATE",
        "resource": ObjectResource("", "v1", "configmaps"),
        "kind": ObjectKind("", "v1", "ConfigMap"),
        "namespace": metadata.get("namespace", ""),
        "name": metadata.get("name", ""),
        "object": document,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        "user": UserInfo("alice", groups=("system:authenticated",)),
    }
    return Attributes(**fields | changes)
