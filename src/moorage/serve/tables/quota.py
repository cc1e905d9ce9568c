"""The tables of LimitRanges, ResourceQuotas and RuntimeClasses.

Kubernetes: printResourceQuota, printRuntimeClass.
"""

from moorage.serve.tables.columns import AGE, NAME, Cell, Column, Row, Tables, field, part, table


def _amounts(*, limits: bool) -> Cell:
    def cell(row: Row) -> str:
        hard, used = part(row.status, "hard"), part(row.status, "used")
        names = sorted(name for name in hard if name.startswith("limits.") is limits)
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return cell


TABLES: Tables = {
    ("v1", "LimitRange"): table(
        NAME, Column("Created At", "When the range was created.", field("metadata.creationTimestamp"), "date")
    ),
    ("v1", "ResourceQuota"): table(
        NAME,
        Column("Request", "What is used and allowed of requests and of objects.", _amounts(limits=False)),
        Column("Limit", "What is used and allowed of limits.", _amounts(limits=True)),
        AGE,
    ),
    ("node.k8s.io/v1", "RuntimeClass"): table(
        NAME, Column("Handler", "The runtime that runs the containers.", field("handler")), AGE
    ),
}
