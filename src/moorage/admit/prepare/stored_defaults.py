"""Set the scheme defaults of kinds that are stored and nothing else, in place.

Kubernetes: the defaults.go files of networking, autoscaling, flowcontrol, admissionregistration and apiregistration.
"""

from moorage.admit.prepare.pod_defaults import default_pod_spec
from moorage.admit.raw import Raw, fill_absent, fill_empty, items, part


def default_pod_template(template: Raw) -> None:
    default_pod_spec(part(part(template, "template"), "spec"))


def default_ingress_class(ingress_class: Raw) -> None:
    parameters = (ingress_class.get("spec") or {}).get("parameters")
    if parameters is not None:
        fill_absent(parameters, {"scope": "Cluster"})


def default_network_policy(policy: Raw) -> None:
    spec = part(policy, "spec")
    part(spec, "podSelector")
    for direction in ("ingress", "egress"):
        if not spec.get(direction):
            spec.pop(direction, None)  # an empty list is not written
        for rule in items(spec, direction):
            for port in items(rule, "ports"):
                fill_absent(port, {"protocol": "TCP"})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]


_PERIOD = 15


def _policy(kind: str, value: int) -> Raw:
    return {"type": kind, "value": value, "periodSeconds": _PERIOD}


def default_autoscaler(autoscaler: Raw) -> None:
    spec = part(autoscaler, "spec")
    fill_absent(spec, {"minReplicas": 1})
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        up = {"stabilizationWindowSeconds": 0, "policies": [_policy("Pods", 4), _policy("Percent", 100)]}
        fill_absent(part(behavior, "scaleUp"), {"selectPolicy": "Max", **up})
        fill_absent(part(behavior, "scaleDown"), {"selectPolicy": "Max", "policies": [_policy("Percent", 100)]})


def default_flow_schema(schema: Raw) -> None:
    fill_empty(part(schema, "spec"), {"matchingPrecedence": 1000})


def default_priority_level(level: Raw) -> None:
    spec = part(level, "spec")
    if spec.get("exempt") is not None:
        fill_absent(spec["exempt"], {"nominalConcurrencyShares": 0, "lendablePercent": 0})
    if spec.get("limited") is not None:
        fill_absent(spec["limited"], {"nominalConcurrencyShares": 30, "lendablePercent": 0})
        queuing = part(spec["limited"], "limitResponse").get("queuing")
        if queuing is not None:
            fill_empty(queuing, {"handSize": 8, "queues": 64, "queueLengthLimit": 50})


_HTTPS = 443


def default_api_service(service: Raw) -> None:
    reference = (service.get("spec") or {}).get("service")
    if reference is not None:
        fill_absent(reference, {"port": _HTTPS})


def default_validating_webhooks(configuration: Raw) -> None:
    for hook in items(configuration, "webhooks"):
        fill_absent(hook, {"failurePolicy": "Fail", "timeoutSeconds": 10})
        _default_matching(hook)
        _default_rules(hook, "rules")
        service = part(hook, "clientConfig").get("service")
        if service is not None:
            fill_absent(service, {"port": _HTTPS})


def default_mutating_webhooks(configuration: Raw) -> None:
    default_validating_webhooks(configuration)
    for hook in items(configuration, "webhooks"):
        fill_absent(hook, {"reinvocationPolicy": "Never"})


def default_admission_policy(policy: Raw) -> None:
    spec = part(policy, "spec")
    fill_absent(spec, {"failurePolicy": "Fail"})
    _default_resources(spec.get("matchConstraints"))


def default_policy_binding(binding: Raw) -> None:
    _default_resources(part(binding, "spec").get("matchResources"))


def _default_resources(resources: Raw | None) -> None:
    if resources is not None:
        _default_matching(resources)
        _default_rules(resources, "resourceRules")
        _default_rules(resources, "excludeResourceRules")


def _default_matching(document: Raw) -> None:
    fill_absent(document, {"matchPolicy": "Equivalent"})
    part(document, "namespaceSelector")
    part(document, "objectSelector")


def _default_rules(document: Raw, name: str) -> None:
    for rule in items(document, name):
        fill_absent(rule, {"scope": "*"})
