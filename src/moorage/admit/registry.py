"""Find what admission does to a kind: the rows of all kinds together.

Kubernetes: the strategies of pkg/registry with what they call.
"""

from moorage.admit.kinds import apps, cluster, config, event, job, persistent_volume, service, storage
from moorage.admit.kinds.devices import claims, classes, slices
from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.options import ValidationOptions, options_for_create
from moorage.admit.pod.pod import validate_pod
from moorage.admit.pod.update import validate_pod_update
from moorage.admit.prepare.mutate import prepare_pod_for_create, prepare_pod_for_update
from moorage.admit.prepare.pod_defaults import default_pod
from moorage.admit.ratcheting import options_for_update
from moorage.admit.raw import Raw
from moorage.admit.subresources.statuses import validate_pod_status_update
from moorage.model.field_error import FieldErrors
from moorage.model.gates import GateSet
from moorage.model.kinds import Kind
from moorage.model.types.pod import Pod


def _prepare_pod(new: Raw, old: Raw | None, gates: GateSet) -> None:
    if old is None:
        prepare_pod_for_create(new, gates)
    else:
        prepare_pod_for_update(new, old, gates)


def _pod_options(gates: GateSet, old: Pod | None) -> ValidationOptions:
    if old is None:
        return options_for_create(gates, resource_is_pod=True)
    return options_for_update(gates, old.spec, old.metadata, resource_is_pod=True)


def _validate_pod_status(new: Pod, old: Pod, gates: GateSet) -> FieldErrors:
    return validate_pod_status_update(new, old, _pod_options(gates, old))


#: By the kind's view.
REGISTRY: Rows = {
    Pod: KindRow(
        validate_pod,
        validate_pod_update,
        default_pod,
        _prepare_pod,
        _pod_options,
        _validate_pod_status,
        has_generation=True,
    ),
    **apps.ROWS,
    **claims.ROWS,
    **classes.ROWS,
    **cluster.ROWS,
    **config.ROWS,
    **event.ROWS,
    **job.ROWS,
    **persistent_volume.ROWS,
    **service.ROWS,
    **slices.ROWS,
    **storage.ROWS,
}


def row_of(kind: Kind) -> KindRow:
    """Return the row of a kind of the table `KINDS`, each of which has one."""
    return REGISTRY[kind.view]
