"""What a table is made of: column definitions, and a function that makes the cells of one object.

In: names, types and descriptions, as each kind's table lists them. Out: the `columnDefinitions` of a Table.
A priority above 0 means `-o wide`: the server always sends such columns, the client shows them or not.
Kubernetes: metav1.TableColumnDefinition.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from moorage.serve.tables.ages import Ages

Raw = dict[str, Any]
Cells = list[Any]

NONE, UNSET = "<none>", "<unset>"
WIDE = 1


class TableFacts(NamedTuple):
    """The table of a kind. `conditions` says of a row what clients may hide or grey out, such as finished pods."""

    columns: tuple[Raw, ...]
    cells: Callable[[Raw, Ages], Cells]
    conditions: Callable[[Raw], list[Raw] | None] | None = None


def column(name: str, kind: str, description: str, priority: int = 0, form: str = "") -> Raw:
    return {"name": name, "type": kind, "format": form, "description": description, "priority": priority}


NAME = column("Name", "string", "The name, unique for the kind and, where there is one, the namespace.", form="name")
AGE = column("Age", "string", "How long ago the server accepted the object.")
CONTAINERS = column("Containers", "string", "The names of the containers in the pod template.", WIDE)
IMAGES = column("Images", "string", "The images of the containers in the pod template.", WIDE)
SELECTOR = column("Selector", "string", "The labels of the pods that belong to it.", WIDE)


def name_of(raw: Raw) -> str:
    name = raw["metadata"].get("name", "")
    return name if isinstance(name, str) else ""


def age_of(raw: Raw, ages: Ages) -> str:
    return ages.since(raw["metadata"].get("creationTimestamp"))


def part(raw: Raw, name: str) -> Raw:
    """A member that is an object; one that is absent or null is empty."""
    return raw.get(name) or {}


def condition_status(raw: Raw, kind: str) -> str | None:
    """The status of the first condition of this type; None if there is none."""
    for condition in part(raw, "status").get("conditions") or ():
        if condition.get("type") == kind:
            status = condition.get("status")
            return status if isinstance(status, str) else ""
    return None
