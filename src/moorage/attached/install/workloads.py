"""Write the Deployments of webhook and controller, with what keeps them running: Service, budgets, spread, probes.

Pods fit the Pod Security level "restricted". Replicas are on different nodes and, if possible, zones; a rollout waits
for ready pods. Their own pods are exempt from lowering, so that they start while nothing answers.
Kubernetes: kube-controller-manager and webhooks in kube-system run so.
"""

from typing import Any, Final

from moorage.attached import names
from moorage.attached.install.settings import EXEMPT, UID, Installation, Workload
from moorage.model.well_known.labels import HOSTNAME, POD_TEMPLATE_HASH, ZONE

Raw = dict[str, Any]

CERTIFICATE_DIRECTORY: Final = "/etc/moorage/certificates"
CONTROLLER_PORT: Final = 8080
_SHUTDOWN_SECONDS: Final = 10
_POD_IP: Final = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
_TMP: Final = {"name": "tmp", "mountPath": "/tmp"}


def webhook_objects(installation: Installation) -> list[Raw]:
    """Return what serves reviews."""
    volume = {"name": "certificates", "secret": {"secretName": names.CERTIFICATES, "items": _items()}}
    container = _container(
        installation,
        installation.webhook,
        "webhook",
        f"--cert-dir={CERTIFICATE_DIRECTORY}",
        f"--port={names.WEBHOOK_PORT}",
        f"--native={installation.native}",
        f"--new-comparisons={installation.new_comparisons}",
        f"--shutdown-delay-duration={_SHUTDOWN_SECONDS}s",
    )
    container["ports"] = [{"name": "https", "containerPort": names.WEBHOOK_PORT}]
    container |= _probes("https", "HTTPS")
    container["volumeMounts"] = [
        {"name": "certificates", "mountPath": CERTIFICATE_DIRECTORY, "readOnly": True},
        _TMP,
    ]
    deployment = _deployment(installation, names.WEBHOOK, installation.webhook, container, [volume])
    return [deployment, _service(installation), _budget(installation, names.WEBHOOK)]


def controller_objects(installation: Installation) -> list[Raw]:
    """Return what answers questions, evicts and repairs."""
    container = _container(
        installation,
        installation.controller,
        "controller",
        f"--metrics-port={CONTROLLER_PORT}",
        f"--evict-by={installation.evict_by}",
    )
    container["ports"] = [{"name": "metrics", "containerPort": CONTROLLER_PORT}]
    container |= _probes("metrics", "HTTP")
    container["volumeMounts"] = [_TMP]
    deployment = _deployment(installation, names.CONTROLLER, installation.controller, container, [])
    return [deployment, _budget(installation, names.CONTROLLER)]


def _items() -> list[Raw]:
    """Mount what is served, and not the key that is served next."""
    return [{"key": name, "path": name} for name in ("tls.crt", "tls.key", "ca.crt")]


def _container(installation: Installation, workload: Workload, command: str, *arguments: str) -> Raw:
    return {
        "name": command,
        "image": installation.image,
        "imagePullPolicy": installation.pull_policy,
        "args": [
            "attach",
            command,
            "--bind-address=$(POD_IP)",
            f"--namespace={installation.namespace}",
            "--log-format=json",
            *arguments,
        ],
        "env": [_POD_IP],
        "resources": workload.resources,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }


def _probes(port: str, scheme: str) -> Raw:
    def get(path: str) -> Raw:
        return {"httpGet": {"path": path, "port": port, "scheme": scheme}}

    return {
        "startupProbe": {**get("/healthz"), "periodSeconds": 2, "failureThreshold": 60},
        "livenessProbe": {**get("/healthz"), "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 6},
        "readinessProbe": {**get("/readyz"), "periodSeconds": 5, "timeoutSeconds": 5},
    }


def _deployment(installation: Installation, name: str, workload: Workload, container: Raw, volumes: list[Raw]) -> Raw:
    selector = {"app.kubernetes.io/name": name}
    spec = {
        "serviceAccountName": name,
        "automountServiceAccountToken": True,
        "priorityClassName": installation.priority_class,
        "terminationGracePeriodSeconds": 30,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": UID,
            "runAsGroup": UID,
            "fsGroup": UID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": _spread(selector),
        "containers": [container],
        "volumes": [*volumes, {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}}],
    }
    for field, value in (
        ("imagePullSecrets", installation.pull_secrets),
        ("nodeSelector", installation.node_selector),
        ("tolerations", installation.tolerations),
    ):
        if value:
            spec[field] = value
    labels = installation.labels(name) | EXEMPT
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(installation, name) | {"labels": labels},
        "spec": {
            "replicas": workload.replicas,
            "selector": {"matchLabels": selector},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _spread(selector: dict[str, str]) -> list[Raw]:
    """Spread replicas of one revision: over nodes without fail, over zones where that is possible."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": otherwise,
            "nodeTaintsPolicy": "Honor",
            "labelSelector": {"matchLabels": selector},
            "matchLabelKeys": [POD_TEMPLATE_HASH],
        }
        for key, otherwise in (
            (HOSTNAME, "DoNotSchedule"),
            (ZONE, "ScheduleAnyway"),
        )
    ]


def _service(installation: Installation) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(installation, names.WEBHOOK),
        "spec": {
            "selector": {"app.kubernetes.io/name": names.WEBHOOK},
            "ports": [{"name": "https", "port": 443, "targetPort": "https"}],
        },
    }


def _budget(installation: Installation, name: str) -> Raw:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(installation, name),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
        },
    }


def _metadata(installation: Installation, name: str) -> Raw:
    return {"name": name, "namespace": installation.namespace, "labels": installation.labels(name)}
