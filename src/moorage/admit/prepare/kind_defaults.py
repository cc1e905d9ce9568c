"""Set the scheme defaults of every kind but pods, in place.

Kubernetes: the defaults.go files of pkg/apis.
"""

from base64 import b64encode

from moorage.admit.prepare.pod_defaults import (
    default_claim_spec,
    default_pod_spec,
    default_volume_source,
    round_up_lists,
)
from moorage.admit.raw import Raw, fill_absent, fill_empty, items, part
from moorage.model.go.integers import INT32_MAX
from moorage.model.well_known.labels import NAMESPACE_NAME

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def default_node(node: Raw) -> None:
    status = node.get("status")
    if not status:
        return
    if status.get("allocatable") is None and status.get("capacity") is not None:
        status["allocatable"] = dict(status["capacity"])
    round_up_lists(status, "capacity", "allocatable")


def default_namespace(namespace: Raw) -> None:
    metadata = part(namespace, "metadata")
    if metadata.get("name"):
        part(metadata, "labels")[NAMESPACE_NAME] = metadata["name"]
    fill_empty(part(namespace, "status"), {"phase": "Active"})


def default_priority_class(priority_class: Raw) -> None:
    fill_absent(priority_class, {"preemptionPolicy": "PreemptLowerPriority"})


def default_persistent_volume(volume: Raw) -> None:
    fill_empty(part(volume, "status"), {"phase": "Pending"})
    spec = part(volume, "spec")
    fill_empty(spec, {"persistentVolumeReclaimPolicy": "Retain"})
    fill_absent(spec, {"volumeMode": "Filesystem"})
    round_up_lists(spec, "capacity")
    default_volume_source(spec)


def default_claim(claim: Raw) -> None:
    status = part(claim, "status")
    fill_empty(status, {"phase": "Pending"})
    default_claim_spec(part(claim, "spec"))
    round_up_lists(status, "capacity", "allocatedResources")


def default_storage_class(storage_class: Raw) -> None:
    fill_absent(storage_class, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"})


AFFINITY_SECONDS = 10_800
_ROUTED_INSIDE = ("ClusterIP", "NodePort", "LoadBalancer")


def default_secret(secret: Raw) -> None:
    """Move stringData into data as base64, before it is noted who owns which field."""
    texts = secret.pop("stringData", None)
    if texts:
        part(secret, "data").update({key: b64encode((text or "").encode()).decode() for key, text in texts.items()})
    fill_empty(secret, {"type": "Opaque"})


def default_service(service: Raw) -> None:
    spec = part(service, "spec")
    fill_empty(spec, {"sessionAffinity": "None", "type": "ClusterIP"})
    _default_affinity(spec)
    for port in items(spec, "ports"):
        fill_empty(port, {"protocol": "TCP"})
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port") or 0
    if externally_accessible(spec):
        fill_empty(spec, {"externalTrafficPolicy": "Cluster"})
    if spec["type"] in _ROUTED_INSIDE:
        fill_absent(spec, {"internalTrafficPolicy": "Cluster"})
    if spec["type"] == "LoadBalancer":
        fill_absent(spec, {"allocateLoadBalancerNodePorts": True})
        balancer = (service.get("status") or {}).get("loadBalancer") or {}
        for ingress in items(balancer, "ingress"):
            if ingress.get("ip"):
                fill_absent(ingress, {"ipMode": "VIP"})


def _default_affinity(spec: Raw) -> None:
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}


def externally_accessible(spec: Raw) -> bool:
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def default_csi_driver(driver: Raw) -> None:
    spec = part(driver, "spec")
    fill_absent(
        spec,
        {
            "attachRequired": True,
            "podInfoOnMount": False,
            "storageCapacity": False,
            "fsGroupPolicy": "ReadWriteOnceWithFSType",
            "requiresRepublish": False,
            "seLinuxMount": False,
        },
    )
    fill_empty(spec, {"volumeLifecycleModes": ["Persistent"]})


_HISTORY = 10
_BACKOFF = 6


def default_deployment(deployment: Raw) -> None:
    spec = part(deployment, "spec")
    fill_absent(spec, {"replicas": 1, "revisionHistoryLimit": _HISTORY, "progressDeadlineSeconds": 600})
    strategy = part(spec, "strategy")
    fill_empty(strategy, {"type": "RollingUpdate"})
    if strategy["type"] == "RollingUpdate":
        fill_absent(part(strategy, "rollingUpdate"), {"maxUnavailable": "25%", "maxSurge": "25%"})
    _default_template(spec)


def default_replica_set(replica_set: Raw) -> None:
    spec = part(replica_set, "spec")
    fill_absent(spec, {"replicas": 1})
    _default_template(spec)


def default_replication_controller(controller: Raw) -> None:
    """The labels of the template are the selector and the labels of a controller that has none."""
    spec = part(controller, "spec")
    fill_absent(spec, {"replicas": 1})
    template = spec.get("template")
    if template is None:
        return
    labels = (template.get("metadata") or {}).get("labels")
    if labels is not None:
        fill_empty(spec, {"selector": dict(labels)})
        fill_empty(part(controller, "metadata"), {"labels": dict(labels)})
    _default_template(spec)


def default_daemon_set(daemon_set: Raw) -> None:
    """Clients own the counter of templates that Kubernetes writes beside what they sent; admission counts later."""
    fill_absent(part(part(daemon_set, "metadata"), "annotations"), {TEMPLATE_GENERATION: "0"})
    spec = part(daemon_set, "spec")
    fill_absent(spec, {"revisionHistoryLimit": _HISTORY})
    strategy = part(spec, "updateStrategy")
    fill_empty(strategy, {"type": "RollingUpdate"})
    if strategy["type"] == "RollingUpdate":
        fill_absent(part(strategy, "rollingUpdate"), {"maxUnavailable": 1, "maxSurge": 0})
    elif strategy.get("rollingUpdate") is not None:
        fill_absent(strategy["rollingUpdate"], {"maxUnavailable": 0, "maxSurge": 0})  # no pointers in the internal type
    _default_template(spec)


def default_stateful_set(stateful_set: Raw) -> None:
    spec = part(stateful_set, "spec")
    fill_empty(spec, {"podManagementPolicy": "OrderedReady"})
    strategy = part(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        part(strategy, "rollingUpdate")
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        fill_absent(strategy["rollingUpdate"], {"partition": 0})
    retention = part(spec, "persistentVolumeClaimRetentionPolicy")
    fill_empty(retention, {"whenDeleted": "Retain", "whenScaled": "Retain"})
    fill_absent(spec, {"replicas": 1, "revisionHistoryLimit": _HISTORY, "serviceName": ""})  # which is always written
    for claim in items(spec, "volumeClaimTemplates"):
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"  # whatever it says
        default_claim(claim)
    _default_template(spec)


def default_job(job: Raw) -> None:
    spec = part(job, "spec")
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    fill_absent(spec, {"parallelism": 1, "completionMode": "NonIndexed", "suspend": False, "manualSelector": False})
    fill_absent(spec, {"backoffLimit": _BACKOFF if spec.get("backoffLimitPerIndex") is None else INT32_MAX})
    replacement = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"
    fill_absent(spec, {"podReplacementPolicy": replacement})
    labels = (part(spec, "template").get("metadata") or {}).get("labels")
    metadata = part(job, "metadata")
    if labels is not None and not metadata.get("labels"):
        # The same map, not a copy: what a new job's template is labelled with, the job will be, too.
        metadata["labels"] = labels
    default_job_spec(spec)


def default_job_spec(spec: Raw) -> None:
    """Fill in what the spec of a job gets also inside a CronJob."""
    for rule in items(spec.get("podFailurePolicy") or {}, "rules"):
        for pattern in items(rule, "onPodConditions"):
            fill_empty(pattern, {"status": "True"})
    _default_template(spec)


def default_cron_job(cron_job: Raw) -> None:
    spec = part(cron_job, "spec")
    fill_empty(spec, {"concurrencyPolicy": "Allow"})
    fill_absent(spec, {"suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1})
    template = part(spec, "jobTemplate")
    # Structs, which Kubernetes always shows.
    part(template, "metadata")
    part(part(part(template, "spec"), "template"), "metadata")
    default_job_spec(part(template, "spec"))


def _default_template(spec: Raw) -> None:
    default_pod_spec(part(part(spec, "template"), "spec"))


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
