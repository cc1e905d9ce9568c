"""Compare the tables that mirror Kubernetes with the schemas it publishes.

`python -m tests.schema_check --swagger swagger.json --proto DIR` prints one line for each difference, and exits with 1
if there is any. The files are those of a Kubernetes release: api/openapi-spec/swagger.json, and a directory in which
generated.proto files of k8s.io/api and k8s.io/apimachinery are found at any depth. See
docs/contributing/next-kubernetes.md.
"""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.unit.test_every_kind import structs_of

from moorage.model.kinds import EVICTION, KINDS, SCALE, VIRTUAL_KINDS, Kind
from moorage.serve.openapi.definitions import definition_name
from moorage.serve.openapi.documents import openapi_v2
from moorage.serve.requests.protobuf_reader import field_numbers

Raw = dict[str, Any]

ALL_KINDS = (*KINDS.values(), *VIRTUAL_KINDS)
#: Fields that differ on purpose, by definition and name.
ACCEPTED = {
    "io.k8s.api.core.v1.Toleration.expression",  # KEP-5500, which no release has
    "io.k8s.api.resource.v1.DeviceToleration.expression",  # the same
    "io.k8s.api.resource.v1beta2.DeviceTaintRuleSpec.taint",  # the taint of v1, which has the same fields
    "io.k8s.api.resource.v1.AllocatedDeviceStatus.data",  # any object: its type has no fields
    "io.k8s.api.resource.v1.OpaqueDeviceConfiguration.parameters",  # the same
    "io.k8s.api.apps.v1.ControllerRevision.data",  # any object: its type has no fields
    "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry.fieldsV1",  # the same
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceSpec.caBundle",  # bytes, which are no list
    "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta.shardInfo",  # sharded lists, an alpha feature
    "io.k8s.api.core.v1.PersistentVolumeClaimStatus.allocatedResourceStatuses",  # says granular, which maps are anyway
}
_MARKS = (
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-patch-merge-key",
)
_MESSAGE = re.compile(r"^message (\w+) \{$")
_FIELD = re.compile(r"^  (?:optional |repeated )?(?:map<[^>]*>|[\w.]+) (\w+) = (\d+);$")
_ACTIONS = {
    "create": "post",
    "delete": "delete",
    "deletecollection": "deletecollection",
    "get": "get",
    "list": "list",
    "patch": "patch",
    "update": "put",
}


def swagger_differences(published: Raw) -> Iterator[str]:
    """Compare definitions, their fields and marks, and the verbs of every kind."""
    ours: Raw = json.loads(openapi_v2(ALL_KINDS))
    for name, definition in sorted(ours["definitions"].items()):
        other = published["definitions"].get(name)
        if other is None:
            yield f"{name}: no such definition is published"
        else:
            found = _definition_differences(name, definition, other)
            yield from (difference for difference in found if not _is_accepted(difference))
    yield from _verb_differences(published)


def _is_accepted(difference: str) -> bool:
    return difference.partition(": ")[0] in ACCEPTED


def _definition_differences(name: str, ours: Raw, other: Raw) -> Iterator[str]:
    fields, others = ours.get("properties", {}), other.get("properties", {})
    for field in sorted(others.keys() - fields.keys()):
        yield f"{name}.{field}: Moorage does not have this field"
    for field in sorted(fields.keys() - others.keys()):
        yield f"{name}.{field}: no such field is published"
    if sorted(ours.get("required", ())) != sorted(other.get("required", ())):
        yield f"{name}: required fields are {other.get('required', [])}, here {ours.get('required', [])}"
    if ours.get("x-kubernetes-map-type") != other.get("x-kubernetes-map-type"):
        yield f"{name}: x-kubernetes-map-type is {other.get('x-kubernetes-map-type')}"
    for field in sorted(fields.keys() & others.keys()):
        mine, theirs = fields[field], others[field]
        if _type(mine) != _type(theirs):
            yield f"{name}.{field}: type is {_type(theirs)}, here {_type(mine)}"
        for mark in _MARKS:
            if mine.get(mark) != theirs.get(mark):
                yield f"{name}.{field}: {mark} is {theirs.get(mark)}, here {mine.get(mark)}"


def _type(schema: Raw) -> Any:
    """The type of a field, without what describes it."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "items" in schema:
        return [_type(schema["items"])]
    if "additionalProperties" in schema:
        return {"*": _type(schema["additionalProperties"])}
    return " ".join(schema[name] for name in ("type", "format") if name in schema)


def _verb_differences(published: Raw) -> Iterator[str]:
    actions: dict[tuple[str, str, str], dict[str, set[str]]] = {}
    for path, item in published["paths"].items():
        for operation in item.values():
            if not isinstance(operation, dict) or "x-kubernetes-group-version-kind" not in operation:
                continue
            match = re.fullmatch(
                r"/api(?:s/([^/]+))?/([^/]+)/(?:namespaces/\{namespace\}/)?([a-z]+)(?:/\{name\}(?:/(\w+))?)?", path
            )
            if match is not None:
                group, version, plural, below = match.groups()
                found = actions.setdefault((group or "", version, plural), {})
                found.setdefault(below or "", set()).add(operation["x-kubernetes-action"])
    for kind in ALL_KINDS:
        published_actions = actions.get((kind.group, kind.version, kind.plural))
        if published_actions is None:
            yield f"{kind.api_version} {kind.plural}: no such resource is published"
            continue
        yield from _kind_verb_differences(kind, published_actions)


def _kind_verb_differences(kind: Kind, found: dict[str, set[str]]) -> Iterator[str]:
    ours = {_ACTIONS[verb] for verb in kind.verbs if verb != "watch"}
    if ours != found[""]:
        yield f"{kind.api_version} {kind.plural}: verbs are {sorted(found[''])}, here {sorted(ours)}"
    for sub in kind.subresources:
        ours = {_ACTIONS[verb] for verb in sub.verbs}
        if ours != found.get(sub.name, set()):
            theirs = sorted(found.get(sub.name, ()))
            yield f"{kind.api_version} {kind.plural}/{sub.name}: verbs are {theirs}, here {sorted(ours)}"


def proto_differences(directory: Path) -> Iterator[str]:
    """Compare the number of every field of every message that Moorage reads."""
    published: dict[str, dict[str, int]] = {}
    for file in sorted(directory.rglob("generated.proto")):
        text = file.read_text(encoding="utf-8")
        package = re.search(r"^package ([\w.]+);$", text, re.MULTILINE)
        if package is not None:
            published.update(_messages(text, package[1]))
    views = {struct.view for kind in (*ALL_KINDS, EVICTION, SCALE) for struct in structs_of(kind.view)}
    for view in sorted(views, key=definition_name):
        message = definition_name(view).replace("io.k8s.", "k8s.io.", 1).replace("-", "_")
        other = published.get(message)
        if other is None:
            yield f"{message}: no such message is published"
            continue
        row = "events.Event" if view is KINDS.REPORTED_EVENT.view else view.__name__
        for number, field in field_numbers(view, row):
            # An embedded struct is a field in the message, under a name of its own.
            known = number in other.values() if field.startswith("^") else other.get(field.lower()) == number
            if not known:
                yield f"{message}.{field}: number is {other.get(field.lower())}, here {number}"


def _messages(text: str, package: str) -> Iterator[tuple[str, dict[str, int]]]:
    fields: dict[str, int] = {}
    for line in text.splitlines():
        if message := _MESSAGE.match(line):
            fields = {}
            yield f"{package}.{message[1]}", fields
        elif field := _FIELD.match(line):
            fields[field[1].lower()] = int(field[2])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.schema_check", description=__doc__)
    parser.add_argument("--swagger", type=Path, metavar="FILE", help="api/openapi-spec/swagger.json of a release")
    parser.add_argument("--proto", type=Path, metavar="DIR", help="where the generated.proto files of a release are")
    options = parser.parse_args()
    found: list[str] = []
    if options.swagger is not None:
        found += swagger_differences(json.loads(options.swagger.read_text(encoding="utf-8")))
    if options.proto is not None:
        found += proto_differences(options.proto)
    print("\n".join([*found, f"{len(found)} differences"]))
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
