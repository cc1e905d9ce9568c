"""Validate what a pod's status says of its ResourceClaims.

Kubernetes: validatePodResourceClaimStatuses, validatePodExtendedResourceClaimStatus and
validateNodeAllocatableResourceClaimStatus (pkg/apis/core/validation), and the fields that pkg/api/pod drops by gate.
"""

from moorage.admit.metadata import subdomain_errors, validate_dns_label
from moorage.admit.pod.resources import is_native_resource
from moorage.admit.raw import Raw
from moorage.model.field_error import AsJSON, FieldErrors, duplicate, invalid, required
from moorage.model.gates import DRA_EXTENDED_RESOURCE, DRA_NODE_ALLOCATABLE_RESOURCES, GateSet
from moorage.model.types.pod import NodeAllocatableResourceClaimStatus, Pod, PodExtendedResourceClaimStatus

UNKNOWN_CLAIM = "must match the name of an entry in `spec.resourceClaims`"
UNKNOWN_RESOURCE = (
    "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
    "spec.containers.resources.requests"
)
UNKNOWN_CONTAINER = "must match the name of an entry in spec.initContainers.name or spec.containers.name"

_GATED = (
    ("extendedResourceClaimStatus", DRA_EXTENDED_RESOURCE),
    ("nodeAllocatableResourceClaimStatuses", DRA_NODE_ALLOCATABLE_RESOURCES),
)


def drop_disabled_claim_statuses(status: Raw, old: Raw, gates: GateSet) -> None:
    """Remove what a gate that is off does not know, unless the old status has it."""
    for name, gate in _GATED:
        if name in status and not gates.enabled(gate) and not old.get(name):
            del status[name]


def validate_pod_claim_statuses(pod: Pod) -> FieldErrors:
    status = pod.status
    claims = {claim.name for claim in pod.spec.resourceClaims}
    seen: set[str] = set()
    for index, found in enumerate(status.resourceClaimStatuses):
        at = f"status.resourceClaimStatuses[{index}]"
        if found.name not in claims:
            yield invalid(f"{at}.name", found.name, UNKNOWN_CLAIM)
        if found.name in seen:
            yield duplicate(f"{at}.name", found.name)
        seen.add(found.name)
        if found.resourceClaimName is not None:
            for message in subdomain_errors(found.resourceClaimName):
                yield invalid(f"{at}.resourceClaimName", AsJSON(found.resourceClaimName), message)
    if status.extendedResourceClaimStatus is not None:
        yield from _validate_extended(status.extendedResourceClaimStatus, pod, "status.extendedResourceClaimStatus")
    for index, taken in enumerate(status.nodeAllocatableResourceClaimStatuses):
        yield from _validate_taken(taken, pod, f"status.nodeAllocatableResourceClaimStatuses[{index}]")


def _validate_extended(status: PodExtendedResourceClaimStatus, pod: Pod, path: str) -> FieldErrors:
    """Check the claim that was made for a pod's extended resources."""
    containers = {container.name: container for container in (*pod.spec.initContainers, *pod.spec.containers)}
    if not status.requestMappings:
        yield required(f"{path}.requestMappings", "at least one request mapping is required")
    seen = set()
    for index, mapping in enumerate(status.requestMappings):
        at = f"{path}.requestMappings[{index}]"
        container = containers.get(mapping.containerName)
        if container is None:
            yield invalid(f"{at}.containerName", mapping.containerName, UNKNOWN_CONTAINER)
        elif mapping.resourceName not in container.resources.requests:
            yield invalid(f"{at}.resourceName", mapping.resourceName, UNKNOWN_RESOURCE)
        yield from validate_dns_label(mapping.requestName, f"{path}.requestName")  # upstream leaves out the index
        if mapping in seen:
            for name in ("containerName", "resourceName", "requestName"):
                yield duplicate(f"{at}.{name}", getattr(mapping, name))
        seen.add(mapping)
    if not status.resourceClaimName:
        yield required(f"{path}.resourceClaimName")
    for message in subdomain_errors(status.resourceClaimName) if status.resourceClaimName else ():
        yield invalid(f"{path}.resourceClaimName", status.resourceClaimName, message)


def _validate_taken(taken: NodeAllocatableResourceClaimStatus, pod: Pod, path: str) -> FieldErrors:
    """Check what a claim takes of its node's allocatable resources."""
    name = taken.resourceClaimName
    if not name:
        yield required(f"{path}.resourceClaimName", "must not be empty")
    claims = {claim.resourceClaimName for claim in pod.spec.resourceClaims}
    if name not in claims.union(claim.resourceClaimName for claim in pod.status.resourceClaimStatuses):
        yield invalid(f"{path}.resourceClaimName", name, "no mapping found in pod reference")
    if not taken.containers:
        yield required(f"{path}.containers", "must not be empty")
    if not taken.resources:
        yield required(f"{path}.resources", "must not be empty")
    for resource, amount in taken.resources.items():
        at = f"{path}.resources[{resource}]"
        if not is_native_resource(resource):
            yield invalid(at, AsJSON(resource), "must be a node allocatable resource name")
        if amount.sign() < 0:
            yield invalid(at, str(amount), "must be non-negative")
