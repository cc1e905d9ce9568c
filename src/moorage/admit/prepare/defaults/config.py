"""Secrets, Services, and what storage drivers leave out of theirs.

In: a raw object. Out: the same, changed in place. Kubernetes: SetDefaults_Secret, SetDefaults_Service,
SetDefaults_CSIDriver.
"""

from moorage.admit.raw import Raw, fill_absent, fill_empty, items, part

AFFINITY_SECONDS = 10_800
_ROUTED_INSIDE = ("ClusterIP", "NodePort", "LoadBalancer")


def default_secret(secret: Raw) -> None:
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
    """Whether anybody outside the cluster can reach the service."""
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
