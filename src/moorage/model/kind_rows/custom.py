"""The row of a kind that a custom resource definition adds: names, scope, subresources. Its view is metadata only.

Components that watch custom objects, such as the garbage collector, make such rows of the definitions they see.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from moorage.model.kind_rows.kind import SCALE, STATUS, Kind
from moorage.model.types.meta import ApiObject

Raw = dict[str, Any]

_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_VERBS_AT_THE_END = ("delete", "deletecollection", "get", "list", "watch")


class CustomObject(ApiObject, frozen=True, gc=False):
    """An object whose kind is not known beforehand: its document says what is in it."""


@dataclass(frozen=True, eq=False)
class CustomKind(Kind):
    """One version of a custom kind."""

    _: KW_ONLY
    custom_name: str
    singular_name: str = ""
    custom_list_name: str = ""
    #: Its definition is being deleted: no object can be created any more.
    is_going: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "name", self.custom_name)

    @property
    def singular(self) -> str:
        return self.singular_name or self.name.lower()

    @property
    def listed_verbs(self) -> tuple[str, ...]:
        return _VERBS_AT_THE_END if self.is_going else self.verbs

    @property
    def list_name(self) -> str:
        return self.custom_list_name or f"{self.name}List"


def kind_facts(definition: Raw, version: Raw) -> Raw:
    """Return the arguments of the `CustomKind` for a version of a definition that was admitted."""
    spec, status = definition["spec"], definition.get("status") or {}
    names: Raw = status.get("acceptedNames") or spec["names"]
    below = version.get("subresources") or {}
    return {
        "api_version": f"{spec['group']}/{version['name']}",
        "plural": names["plural"],
        "view": CustomObject,
        "short_names": tuple(names.get("shortNames") or ()),
        "namespaced": spec.get("scope") == "Namespaced",
        "categories": tuple(names.get("categories") or ()),
        "subresources": (
            *((STATUS,) if below.get("status") is not None else ()),
            *((SCALE,) if below.get("scale") is not None else ()),
        ),
        "verbs": _VERBS,
        "is_going": has_condition(definition, "Terminating"),
        "unconditional_update": False,
        "status_resets": (("metadata",), ("spec",)),
        "read_by_plan": False,
        "custom_name": names["kind"],
        "singular_name": names.get("singular") or "",
        "custom_list_name": names.get("listKind") or "",
    }


def stored_kind(definition: Raw) -> CustomKind | None:
    """Return the kind of an established definition, in the stored version or, if not served, another."""
    served = _served_versions(definition)
    version = next((one for one in served if one.get("storage")), served[0] if served else None)
    return None if version is None else CustomKind(**kind_facts(definition, version))


def custom_kinds(definition: Raw) -> list[CustomKind]:
    """Return the kinds of an established definition, one for each version that is served."""
    return [CustomKind(**kind_facts(definition, version)) for version in _served_versions(definition)]


def _served_versions(definition: Raw) -> list[Raw]:
    if not has_condition(definition, "Established"):
        return []
    return [one for one in definition["spec"].get("versions") or () if one.get("served")]


def has_condition(definition: Raw, name: str) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == name and one.get("status") == "True" for one in conditions)
