"""The tables of ResourceClaims, ResourceSlices and DeviceTaintRules.

Kubernetes: printResourceClaim and its neighbours.
"""

from moorage.serve.tables.columns import AGE, NAME, NAME_AND_AGE, Column, Row, Tables, field, table


def _state(row: Row) -> str:
    deleted = bool(row.raw["metadata"].get("deletionTimestamp"))
    states = ["deleted"] if deleted else []
    if row.status.get("allocation") is not None:
        states += ["allocated", "reserved"] if row.status.get("reservedFor") else ["allocated"]
    elif not deleted:
        states.append("pending")
    return ",".join(states)


def _time_added(row: Row) -> str:
    added = (row.spec.get("taint") or {}).get("timeAdded")
    return row.ages.since(added) if added is not None else ""


TABLES: Tables = {
    ("resource.k8s.io/v1", "DeviceClass"): NAME_AND_AGE,
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): NAME_AND_AGE,
    ("resource.k8s.io/v1", "ResourceClaim"): table(
        NAME, Column("State", "Whether it is pending, allocated, reserved or deleted.", _state), AGE
    ),
    ("resource.k8s.io/v1", "ResourceSlice"): table(
        NAME,
        Column("Node", "The node that has the devices, if it is a single one.", field("spec.nodeName")),
        Column("Driver", "The driver that publishes the devices.", field("spec.driver")),
        Column("Pool", "The pool that the devices belong to.", field("spec.pool.name")),
        AGE,
    ),
    ("resource.k8s.io/v1beta2", "DeviceTaintRule"): table(
        NAME,
        Column("Key", "The key of the taint.", field("spec.taint.key")),
        Column("Value", "The value of the taint.", field("spec.taint.value")),
        Column("Effect", "What the taint does to pods that do not tolerate it.", field("spec.taint.effect")),
        Column("TimeAdded", "How long ago the taint was added.", _time_added),
        AGE,
    ),
}
