"""Containers: pull policy, termination messages, protocols, probes, references.

In: a raw container of any of the three lists. Out: the same, changed in place. Kubernetes: SetDefaults_Container and
what zz_generated.defaults.go does around it.
"""

from moorage.admit.prepare.defaults.image_tag import image_tag
from moorage.admit.prepare.defaults.resources import round_up_lists
from moorage.admit.raw import Raw, fill_absent, fill_empty, items

_TERMINATION = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_HTTP_GET = {"path": "/", "scheme": "HTTP"}


def default_pull_policy(image: str) -> str:
    return "Always" if image_tag(image) == "latest" else "IfNotPresent"


def default_container(container: Raw) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = default_pull_policy(container.get("image") or "")
    fill_empty(container, _TERMINATION)
    for port in items(container, "ports"):
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in items(container, "env"):
        source = variable.get("valueFrom")
        if source:
            default_field_reference(source.get("fieldRef"))
            if source.get("fileKeyRef") is not None:
                fill_absent(source["fileKeyRef"], {"optional": False})
    if container.get("resources") is None:
        container["resources"] = {}  # a struct, which Kubernetes always shows
    round_up_lists(container["resources"], "limits", "requests")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is not None:
            fill_empty(probe, _PROBE)
            _default_http_get(probe.get("httpGet"))
            if probe.get("grpc") is not None:
                fill_absent(probe["grpc"], {"service": ""})
    lifecycle = container.get("lifecycle")
    if lifecycle:
        for moment in ("postStart", "preStop"):
            _default_http_get((lifecycle.get(moment) or {}).get("httpGet"))


def default_field_reference(reference: Raw | None) -> None:
    if reference is not None and not reference.get("apiVersion"):
        reference["apiVersion"] = "v1"


def _default_http_get(action: Raw | None) -> None:
    if action is not None:
        fill_empty(action, _HTTP_GET)
