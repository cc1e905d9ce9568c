"""Define the tables of what nodes and pods use. Kubernetes: the table of metrics-server, pkg/api/table.go."""

from moorage.model.quantity import Quantity, add_amounts, parse_quantity
from moorage.serve.tables.columns import NAME, Cell, Column, Row, Tables, part, table
from moorage.usage.answers import NODE_METRICS, POD_METRICS


def _used(resource: str) -> Cell:
    def cell(row: Row) -> str:
        """Return what is used of a resource, by all containers together."""
        total: dict[str, Quantity] = {}
        for used in (row.raw, *(row.raw.get("containers") or ())):
            if resource in part(used, "usage"):
                add_amounts(total, {resource: parse_quantity(used["usage"][resource])})
        return str(total[resource]) if resource in total else "0"

    return cell


_COLUMNS = (
    NAME,
    Column("cpu", "The CPU that is used.", _used("cpu"), format="quantity"),
    Column("memory", "The memory that is used.", _used("memory"), format="quantity"),
    Column(
        "Window", "The time over which usage is measured.", lambda row: row.raw.get("window", ""), format="duration"
    ),
)
TABLES: Tables = {(kind.api_version, kind.name): table(*_COLUMNS) for kind in (NODE_METRICS, POD_METRICS)}
