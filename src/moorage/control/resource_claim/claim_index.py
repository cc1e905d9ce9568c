"""Pods by the claims and templates that they name, pods that are known to be gone, and counts of claims for metrics."""

from collections import Counter
from collections.abc import Iterable

from moorage.client.protocol import Object
from moorage.control.resource_claim.pod_claims import POD_CLAIM_NAME, wants_admin_access
from moorage.match.devices.claims import claim_keys
from moorage.model.types.devices import ResourceClaim
from moorage.model.types.pod import Pod
from moorage.model.well_known.annotations import EXTENDED_RESOURCE_CLAIM

_MAX_GONE = 500
#: Distinct labels, shared by all claims.
_SAME: dict[tuple[str, ...], tuple[str, ...]] = {}


class PodsByClaim:
    """Pods by keys of claims, or of templates, that they name."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, None]] = {}
        self._named: dict[str, tuple[str, ...]] = {}

    def set(self, pod: str, names: tuple[str, ...]) -> None:
        """Record what a pod names now; nothing if it is gone."""
        before = self._named.get(pod, ())
        if names == before:
            return
        for name in before:
            pods = self._pods.get(name)
            if pods is not None:
                pods.pop(pod, None)
                if not pods:
                    del self._pods[name]
        for name in names:
            self._pods.setdefault(name, {})[pod] = None
        if names:
            self._named[pod] = names
        else:
            self._named.pop(pod, None)

    def of(self, name: str) -> Iterable[str]:
        """Return the keys of the pods that name a claim or template."""
        return tuple(self._pods.get(name, ()))


def named_claims(pod: Pod) -> tuple[str, ...]:
    """Return the keys of the claims that a pod names, in spec and status."""
    return tuple(f"{namespace}/{name}" for namespace, name in claim_keys(pod))


def named_templates(pod: Pod) -> tuple[str, ...]:
    namespace = pod.metadata.namespace
    names = (entry.resourceClaimTemplateName for entry in pod.spec.resourceClaims)
    return tuple(dict.fromkeys(f"{namespace}/{name}" for name in names if name is not None))


class GonePods:
    """The UIDs of the pods that were deleted last."""

    def __init__(self) -> None:
        self._uids: dict[str, None] = {}

    def __contains__(self, uid: object) -> bool:
        return uid in self._uids

    def add(self, uid: str) -> None:
        self._uids[uid] = None
        if len(self._uids) > _MAX_GONE:
            del self._uids[next(iter(self._uids))]


class ClaimCounts:
    """How many claims there are, by whether they are allocated and have admin access, and by their source."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._labels: dict[str, tuple[str, ...]] = {}  # by the claim's key

    def changed(self, old: Object | None, new: Object | None) -> None:
        claim = new if new is not None else old
        if claim is None:
            return
        before = self._labels.get(claim.key)
        after = _labels(new.view) if new is not None else None
        if before == after:
            return
        if after is None:
            self._labels.pop(claim.key, None)
        else:
            self._labels[claim.key] = _SAME.setdefault(after, after)
        if before is not None:
            self._counts[before] -= 1
            if not self._counts[before]:
                del self._counts[before]
        if after is not None:
            self._counts[after] += 1

    def read(self) -> dict[tuple[str, ...], float]:
        return {labels: float(count) for labels, count in self._counts.items()}


def truth(value: bool) -> str:
    """Return a boolean as metrics' labels have it."""
    return "true" if value else "false"


def _labels(claim: ResourceClaim) -> tuple[str, ...]:
    annotations = claim.metadata.annotations
    source = "resource_claim_template" if annotations.get(POD_CLAIM_NAME) else ""
    if annotations.get(EXTENDED_RESOURCE_CLAIM) == "true":
        source = "extended_resource"
    return truth(claim.status.allocation is not None), truth(wants_admin_access(claim.spec)), source
