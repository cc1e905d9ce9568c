"""Fragments of manifests → what is said about the pod they are put into."""

from typing import Any

import msgspec

from moorage.admit.options import ValidationOptions
from moorage.admit.pod.pod import validate_pod
from moorage.model.names import dns1123_label_errors, dns1123_subdomain_errors, label_key_errors
from moorage.model.quantity import Quantity, parse_quantity
from moorage.model.types.pod import Pod

POD = ValidationOptions(resource_is_pod=True)
NOT_A_LABEL = dns1123_label_errors("_")[0]
NOT_A_SUBDOMAIN = dns1123_subdomain_errors("_")[0]
NOT_A_KEY = label_key_errors("_")[0]

Fragment = dict[str, Any]

_CONTAINER: Fragment = {
    "name": "c",
    "image": "i",
    "imagePullPolicy": "Always",
    "terminationMessagePolicy": "File",
}
_SPEC: Fragment = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30}


def pod_view(spec: Fragment | None = None, metadata: Fragment | None = None) -> Pod:
    """A pod with the defaults that validation takes for granted; its containers are completed too."""
    whole = {**_SPEC, "containers": [{}], **(spec or {})}
    for name in ("containers", "initContainers", "ephemeralContainers"):
        if whole.get(name):
            whole[name] = [{**_CONTAINER, "name": f"{name[0]}{i}", **one} for i, one in enumerate(whole[name])]
    raw = {"metadata": {"name": "p", "namespace": "n", **(metadata or {})}, "spec": whole}
    return msgspec.convert(raw, Pod, dec_hook=_quantity)


def _quantity(wanted: type, value: Any) -> Any:
    assert wanted is Quantity
    return parse_quantity(value)


def pod_errors(
    spec: Fragment | None = None, metadata: Fragment | None = None, options: ValidationOptions = POD
) -> list[str]:
    return [str(error) for error in validate_pod(pod_view(spec, metadata), options)]


def container_errors(container: Fragment, spec: Fragment | None = None, options: ValidationOptions = POD) -> list[str]:
    """Errors of a pod with this one container; `spec.containers[0]` is left out of their paths."""
    found = pod_errors({"containers": [container], **(spec or {})}, options=options)
    return [error.removeprefix("spec.containers[0].") for error in found]


def volume_errors(volume: Fragment, options: ValidationOptions = POD) -> list[str]:
    """Errors of a pod with this one volume; `spec.volumes[0]` is left out of their paths."""
    found = pod_errors({"serviceAccountName": "a", "volumes": [{"name": "v", **volume}]}, options=options)
    return [error.removeprefix("spec.volumes[0].") for error in found]
