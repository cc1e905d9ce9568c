"""Turn the definitions of a kind's own version into those of an older one: their names, and what v1beta1 has elsewhere.

In: definitions and paths as OpenAPI has them, of kinds in one group. Out: the same in another version of the group.
Kubernetes: each version has Go types of its own, of which openapi-gen makes the definitions.
"""

import re
from typing import Final

import msgspec

from moorage.model.api_error import Raw
from moorage.model.kind_rows.kind import openapi_group
from moorage.model.schema.older_versions import EXACT_FIELDS

_BASIC_TEXT: Final = "What the device is: everything but its name."


def in_older_version(
    definitions: dict[str, Raw], paths: dict[str, Raw], group: str, version: str
) -> tuple[dict[str, Raw], dict[str, Raw]]:
    """Return definitions and paths with types of this version only."""
    package = f"{openapi_group(group)}."
    types = re.compile(re.escape(package.encode()) + rb"v[0-9][0-9a-z]*\.")
    renamed = types.sub(f"{package}{version}.".encode(), msgspec.json.encode([definitions, paths]))
    made: list[dict[str, Raw]] = msgspec.json.decode(renamed)
    if (group, version) == ("resource.k8s.io", "v1beta1"):
        _flatten_requests(made[0], f"{package}{version}.")
        _nest_devices(made[0], f"{package}{version}.")
    return made[0], made[1]


def _flatten_requests(definitions: dict[str, Raw], package: str) -> None:
    """Put what v1 has below `exactly` beside the name of a request."""
    exact = definitions.pop(f"{package}ExactDeviceRequest")
    fields = definitions[f"{package}DeviceRequest"]["properties"]
    del fields["exactly"]
    fields.update({name: exact["properties"][name] for name in EXACT_FIELDS})


def _nest_devices(definitions: dict[str, Raw], package: str) -> None:
    """Put everything of a device but its name below `basic`."""
    device, slices = definitions[f"{package}Device"], definitions[f"{package}ResourceSliceSpec"]
    fields = device["properties"]
    reference = f"{slices['properties']['devices']['items']['$ref'].removesuffix('Device')}BasicDevice"
    shown = {"$ref": reference} if reference.startswith("#/definitions/") else {"allOf": [{"$ref": reference}]}
    device["properties"] = {"basic": {**shown, "description": _BASIC_TEXT}, "name": fields.pop("name")}
    definitions[f"{package}BasicDevice"] = {"description": _BASIC_TEXT, "properties": fields, "type": "object"}
