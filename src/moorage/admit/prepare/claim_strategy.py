"""What the API server changes in a PersistentVolumeClaim before it validates: the two ways to say what fills it.

In: a raw claim with its defaults, the old one on update. Out: both, changed in place: `dataSource` and `dataSourceRef`
say the same, and what the older field could never name is dropped from it. Kubernetes: PrepareForCreate and
PrepareForUpdate of pkg/registry/core/persistentvolumeclaim, pkg/api/persistentvolumeclaim. Differs:
CrossNamespaceVolumeDataSource, an alpha gate, is off.
"""

from moorage.admit.prepare.workload_strategy import prepare_volume
from moorage.admit.raw import Raw, part
from moorage.model.gates import GateSet

_FIELDS = ("apiGroup", "kind", "name")
#: (group, kind) that `dataSource` may name; others were always ignored there.
_LEGACY_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def prepare_claim(new: Raw, old: Raw | None, gates: GateSet) -> None:
    prepare_volume(new, old, gates)
    spec, old_spec = part(new, "spec"), {} if old is None else part(old, "spec")
    reference = spec.get("dataSourceRef")
    if reference is not None and reference.get("namespace") and old_spec.get("dataSourceRef") is None:
        reference = spec["dataSourceRef"] = None
    had_source = old_spec.get("dataSource") is not None or old_spec.get("dataSourceRef") is not None
    if reference is None and not had_source and not _is_legacy(spec.get("dataSource")):
        spec.pop("dataSource", None)
    _say_it_both_ways(spec)
    _say_it_both_ways(old_spec)


def _is_legacy(source: Raw | None) -> bool:
    return source is not None and (source.get("apiGroup") or "", source.get("kind")) in _LEGACY_SOURCES


def _say_it_both_ways(spec: Raw) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = _named(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = _named(reference)


def _named(source: Raw) -> Raw:
    return {name: source[name] for name in _FIELDS if source.get(name) is not None}
