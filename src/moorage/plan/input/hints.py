"""Advise as the linter would about an object that the API server refuses, or about the pods of its template."""

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from moorage.admit.admission import Rejected
from moorage.admit.chain import Admission
from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.raw import Raw
from moorage.lint.rules.decoding import rejections
from moorage.model.field_error import FieldError
from moorage.model.gates import GateSet
from moorage.plan.input.inventory import Item


def hints_of(errors: Sequence[FieldError], gates: GateSet, raw: Raw) -> str | UnsetType:
    """Return the hints for the errors of an object."""
    hints = dict.fromkeys(complaint.hint for complaint in rejections(errors, gates, raw) if complaint.hint)
    return "; ".join(hints) or UNSET


def template_hints(item: Item, gates: GateSet) -> str | UnsetType:
    """Return the hints for what a workload's controller tries to create."""
    if not item.kind.template and item.key.kind != "CronJob":
        return UNSET
    made, _ = what_it_makes(item)
    result = Admission(ObjectsWorld(), gates).admit(made)  # of errors in fields only: plugins have no hints
    return hints_of(result.errors, gates, made) if isinstance(result, Rejected) else UNSET


def what_it_makes(item: Item) -> tuple[Raw, str]:
    """Return a pod of the template, of a CronJob a Job, which is refused as a whole; and what many are called."""
    is_cron_job = item.key.kind == "CronJob"
    template: Raw = item.raw
    for step in ("spec", "jobTemplate") if is_cron_job else item.kind.template or ():
        template = template[step]
    version, kind, what = (item.kind.api_version, "Job", "Jobs") if is_cron_job else ("v1", "Pod", "pods")
    metadata = {**(template.get("metadata") or {}), "name": "new", "namespace": item.key.namespace}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": template.get("spec") or {}}, what
