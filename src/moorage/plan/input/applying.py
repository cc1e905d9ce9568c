"""Keep what the API server and controllers wrote into an object when its manifest is applied again.

A manifest does not have it, so that `kubectl apply` leaves it as it is; a replacement would take it away, which the API
server refuses: a Job's generated selector, the volume of a claim, the class that a claim got by default. Kubernetes:
the three-way merge of kubectl apply. Differs: other fields that the manifest no longer has are removed, as if it had
been applied before.
"""

from moorage.admit.raw import Raw
from moorage.model.kinds import KINDS, Kind
from moorage.model.well_known.labels import CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME

#: What the API server generates into the template of a Job whose selector is not the user's.
JOB_LABELS = (LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME, CONTROLLER_UID, JOB_NAME)
_KEPT_OF_SPEC = {
    KINDS.PERSISTENT_VOLUME_CLAIM: ("volumeName", "storageClassName"),
    KINDS.PERSISTENT_VOLUME: ("claimRef",),
    KINDS.NODE: ("podCIDR", "podCIDRs", "providerID"),
    KINDS.INGRESS: ("ingressClassName",),
}


def keep_generated(kind: Kind, spec: Raw, current: Raw) -> Raw:
    """Return the spec of a manifest with what others than the user wrote into the current spec."""
    if kind is KINDS.JOB:
        return _with_generated_labels(spec, current)
    kept = {name: current[name] for name in _KEPT_OF_SPEC.get(kind, ()) if name in current and name not in spec}
    return {**spec, **kept} if kept else spec


def _with_generated_labels(spec: Raw, current: Raw) -> Raw:
    if spec.get("manualSelector") or current.get("manualSelector"):
        return spec
    template, old = spec.get("template") or {}, current.get("template") or {}
    old_labels = (old.get("metadata") or {}).get("labels") or {}
    metadata = template.get("metadata") or {}
    generated = {name: old_labels[name] for name in JOB_LABELS if name in old_labels}
    labels = {**(metadata.get("labels") or {}), **generated}
    return {
        **spec,
        **({"selector": current["selector"]} if "selector" in current else {}),
        "template": {**template, "metadata": {**metadata, "labels": labels}},
    }
