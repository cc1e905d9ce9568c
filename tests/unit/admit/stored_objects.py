"""Small valid documents of the kinds that are stored only."""

from typing import Any

from tests.unit.admit.objects import document, template

Raw = dict[str, Any]

RULE: Raw = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}
WEBHOOK: Raw = {
    "name": "w.example.com",
    "clientConfig": {"service": {"namespace": "n", "name": "s"}},
    "rules": [RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "matchConditions": [{"name": "c", "expression": "request.operation == 'CREATE'"}],
}
MATCHED: Raw = {"matchConstraints": {"resourceRules": [RULE]}}
MUTATION: Raw = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'remove', path: '/x'}]"}}
TARGET: Raw = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
FLOW_RULE: Raw = {
    "subjects": [{"kind": "User", "user": {"name": "jane"}}],
    "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["*"]}],
}


def ingress(**spec: Any) -> Raw:
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    return document("Ingress", spec={"defaultBackend": backend, **spec})


def autoscaler(**spec: Any) -> Raw:
    return document("HorizontalPodAutoscaler", spec={"maxReplicas": 3, "scaleTargetRef": TARGET, **spec})


def webhooks(kind: str, **fields: Any) -> Raw:
    return document(kind, webhooks=[{**WEBHOOK, **fields}])


def validating_policy(**spec: Any) -> Raw:
    validations = [{"expression": "object.spec.replicas <= 5"}]
    return document("ValidatingAdmissionPolicy", spec={**MATCHED, "validations": validations, **spec})


def mutating_policy(**spec: Any) -> Raw:
    return document(
        "MutatingAdmissionPolicy", spec={**MATCHED, "mutations": [MUTATION], "reinvocationPolicy": "Never", **spec}
    )


def api_service(**spec: Any) -> Raw:
    made = {"group": "example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15, **spec}
    return document("APIService", "v1.example.com", spec=made)


def flow_schema(**spec: Any) -> Raw:
    return document("FlowSchema", spec={"priorityLevelConfiguration": {"name": "l"}, "rules": [FLOW_RULE], **spec})


def priority_level(**limited: Any) -> Raw:
    response = {"type": "Queue", "queuing": {}}
    return document(
        "PriorityLevelConfiguration", spec={"type": "Limited", "limited": {"limitResponse": response, **limited}}
    )


STORED: dict[str, Raw] = {
    "Ingress": ingress(),
    "IngressClass": document("IngressClass", spec={"controller": "example.com/ingress"}),
    "NetworkPolicy": document("NetworkPolicy", spec={"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}),
    "ServiceCIDR": document("ServiceCIDR", spec={"cidrs": ["10.1.0.0/16"]}),
    "IPAddress": document("IPAddress", "10.1.0.1", spec={"parentRef": {"resource": "services", "name": "web"}}),
    "HorizontalPodAutoscaler": autoscaler(),
    "PodTemplate": document("PodTemplate", template=template()),
    "VolumeAttributesClass": document("VolumeAttributesClass", driverName="d.example.com", parameters={"iops": "9"}),
    "APIService": api_service(),
    "FlowSchema": flow_schema(),
    "PriorityLevelConfiguration": priority_level(),
    **{kind: webhooks(kind) for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")},
    "ValidatingAdmissionPolicy": validating_policy(),
    "ValidatingAdmissionPolicyBinding": document(
        "ValidatingAdmissionPolicyBinding", spec={"policyName": "p", "validationActions": ["Deny"]}
    ),
    "MutatingAdmissionPolicy": mutating_policy(),
    "MutatingAdmissionPolicyBinding": document("MutatingAdmissionPolicyBinding", spec={"policyName": "p"}),
}
