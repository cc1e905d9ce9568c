"""Pods and the pod specs inside templates.

In: a raw pod or pod spec. Out: the same, changed in place. Kubernetes: SetDefaults_Pod, SetDefaults_PodSpec, and what
the conversion to the internal version does to a pod on its way in (the older name of the service account, negative
grace periods). Differs: nothing is written that the API server would not show.
"""

from moorage.admit.prepare.defaults.containers import default_container
from moorage.admit.prepare.defaults.resources import default_pod_level_resources, requests_from_limits, round_up_lists
from moorage.admit.prepare.defaults.volumes import default_volume
from moorage.admit.raw import Raw, items, part

DEFAULT_SCHEDULER = "default-scheduler"
DEFAULT_GRACE_SECONDS = 30


def default_pod(pod: Raw) -> None:
    spec = part(pod, "spec")
    for name in ("containers", "initContainers"):
        for container in items(spec, name):
            requests_from_limits(container)
            if spec.get("hostNetwork"):
                _default_host_ports(container)
    default_pod_level_resources(spec)
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    default_pod_spec(spec)


def default_pod_spec(spec: Raw) -> None:
    """Fill in what a spec gets both in a pod and in a template."""
    if not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirst"
    if not spec.get("restartPolicy"):
        spec["restartPolicy"] = "Always"
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = DEFAULT_GRACE_SECONDS
    if not spec.get("schedulerName"):
        spec["schedulerName"] = DEFAULT_SCHEDULER
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in items(spec, "volumes"):
        default_volume(volume)
    for name in ("initContainers", "containers", "ephemeralContainers"):
        for container in items(spec, name):
            default_container(container)
    round_up_lists(spec, "overhead")
    round_up_lists(spec.get("resources"), "limits", "requests")


def _default_host_ports(container: Raw) -> None:
    for port in items(container, "ports"):
        if not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort", 0)
