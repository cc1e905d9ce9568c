"""What the API server changes in configuration, Services, accounts, Leases and drivers before it validates.

In: a raw object with its defaults, the old one on update, the gates. Out: the same, changed in place. Kubernetes: the
strategies in pkg/registry/core, pkg/registry/storage and pkg/registry/coordination; for Secrets the conversion of
`stringData`.
"""

from base64 import b64encode

from moorage.admit.prepare.service_addresses import drop_what_the_type_has_not, keep_allocated
from moorage.admit.prepare.workload_strategy import keep_status
from moorage.admit.raw import Raw, items, part
from moorage.model.gates import GateSet


def prepare_secret(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Text given as text becomes bytes like the rest; an update that names no type does not mean to change it."""
    texts = new.pop("stringData", None)
    if texts:
        part(new, "data").update({key: b64encode((text or "").encode()).decode() for key, text in texts.items()})
    if old is not None and not new.get("type"):
        new["type"] = old.get("type")


def prepare_service(new: Raw, old: Raw | None, gates: GateSet) -> None:
    keep_allocated(new, old)
    if old is None:
        new["status"] = {"loadBalancer": {}}
    else:
        keep_status(new, old)
        drop_what_the_type_has_not(new, old)


def prepare_service_account(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Of the secrets only the names count."""
    if new.get("secrets"):
        new["secrets"] = [{"name": secret.get("name") or ""} for secret in items(new, "secrets")]


def prepare_lease(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """CoordinatedLeaderElection is off by default."""
    spec, before = part(new, "spec"), (old or {}).get("spec") or {}
    for name in ("strategy", "preferredHolder"):
        if before.get(name) is None:
            spec.pop(name, None)


def prepare_csi_driver(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """VolumeLimitScaling is off by default."""
    if ((old or {}).get("spec") or {}).get("preventPodSchedulingIfMissing") is None:
        part(new, "spec").pop("preventPodSchedulingIfMissing", None)


def prepare_volume_attachment(new: Raw, old: Raw | None, gates: GateSet) -> None:
    if old is None:
        new["status"] = {"attached": False}
    else:
        keep_status(new, old)
