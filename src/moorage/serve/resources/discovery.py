"""Answer discovery: the resources of each group, one by one or aggregated, and the version of the server.

`RESOURCES` lists the resources in the order of discovery; routing reads it, too. Kubernetes: apiserver's
endpoints/discovery. Differs: nothing is added while running, so nothing is stale; what Moorage does not serve
(pods/exec, …) is not listed.
"""

import hashlib
import platform
import re
from functools import cache
from typing import Final

import msgspec

from moorage import __version__
from moorage.model.api_error import Raw
from moorage.model.gates import GateSet, default_gates
from moorage.model.kinds import KINDS, VIRTUAL_KINDS, Kind, Subresource
from moorage.model.kubernetes_version import KUBERNETES_MAJOR, KUBERNETES_MINOR, KUBERNETES_VERSION
from moorage.serve.http.messages import Response

#: The order in which clients try groups for a short name; other groups come after, by name.
GROUP_ORDER: Final = (
    "",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "batch",
    "policy",
    "storage.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
)


_VERSION = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")


def _position(kind: Kind) -> tuple[int, str, tuple[int, ...], str]:
    """The place of a kind: by group, then stable versions before beta and alpha ones, newer before older."""
    position = GROUP_ORDER.index(kind.group) if kind.group in GROUP_ORDER else len(GROUP_ORDER)
    version = _VERSION.fullmatch(kind.version)
    assert version is not None, kind.api_version
    major, stage, minor = version.groups()
    age = ((None, "beta", "alpha").index(stage), -int(major), -int(minor or 0))
    return position, kind.group, age, kind.plural


#: (group, version, plural) → kind, in the order in which discovery lists them.
RESOURCES: Final[dict[tuple[str, str, str], Kind]] = {
    (kind.group, kind.version, kind.plural): kind for kind in sorted((*KINDS.values(), *VIRTUAL_KINDS), key=_position)
}


@cache
def resources(gates: GateSet) -> dict[tuple[str, str, str], Kind]:
    """Return what an API server with these gates serves: as `RESOURCES`, and kinds in their older versions."""
    served = [kind for kind in RESOURCES.values() if kind.gate is None or gates.enabled(kind.gate)]
    older = [kind.in_version(version) for kind in served for version in kind.older_versions]
    return {(kind.group, kind.version, kind.plural): kind for kind in sorted((*served, *older), key=_position)}


_AGGREGATED = "APIGroupDiscoveryList"
_AGGREGATED_GROUP = "apidiscovery.k8s.io"
_AGGREGATED_VERSIONS = ("v2", "v2beta1")
_PLAIN_TYPE = "application/json"


def answer_discovery(path: str, accept: str = "", gates: GateSet | None = None) -> Response | None:
    """Answer a GET of this path; None if it is not a path of discovery, or of a group that does not exist."""
    segments, gates = path.strip("/").split("/"), gates or default_gates()
    if segments in (["api"], ["apis"]) and (version := aggregated_version(accept)):
        return _aggregated(segments[0] == "api", version, gates)
    match segments:
        case ["api"]:
            # Without addresses: a client keeps the one it reached the server at.
            return _encoded(
                {"kind": "APIVersions", "versions": list(groups(gates)[""]), "serverAddressByClientCIDRs": []}
            )
        case ["api", version]:
            return _encoded(render_resource_list("", version, gates))
        case ["apis"]:
            return _encoded(render_group_list(gates))
        case ["apis", group]:
            return _encoded(render_group(group, gates))
        case ["apis", group, version] if group:
            return _encoded(render_resource_list(group, version, gates))
    return None


def aggregated_version(accept: str) -> str:
    """The version of aggregated discovery that an Accept header prefers to the plain form, or ""."""
    for media_type in accept.split(","):
        essence, *parameters = (piece.strip() for piece in media_type.split(";"))
        asked = dict(parameter.partition("=")[::2] for parameter in parameters)
        if essence in (_PLAIN_TYPE, "*/*", "application/*") and "as" not in asked:
            return ""
        if essence == _PLAIN_TYPE and (asked.get("g"), asked["as"]) == (_AGGREGATED_GROUP, _AGGREGATED):
            version = asked.get("v", "")
            if version in _AGGREGATED_VERSIONS:
                return version
    return ""


@cache
def groups(gates: GateSet) -> dict[str, dict[str, list[Kind]]]:
    found: dict[str, dict[str, list[Kind]]] = {}
    for (group, version, _), resource in resources(gates).items():
        found.setdefault(group, {}).setdefault(version, []).append(resource)
    return found


def render_group_list(gates: GateSet) -> Raw:
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group_members(group, list(versions)) for group, versions in groups(gates).items() if group],
    }


def render_group(group: str, gates: GateSet) -> Raw | None:
    versions = groups(gates).get(group) if group else None
    if versions is None:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group_members(group, list(versions))}


def _group_members(group: str, versions: list[str]) -> Raw:
    listed = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": listed, "preferredVersion": listed[0]}


def render_resource_list(group: str, version: str, gates: GateSet) -> Raw | None:
    found = groups(gates).get(group, {}).get(version)
    if found is None:
        return None
    listed = [entry for resource in found for entry in _plain_resource(resource)]
    group_version = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}


def _plain_resource(kind: Kind) -> list[Raw]:
    entry: Raw = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.name,
        "verbs": list(kind.verbs),
    }
    return [entry | _other_names(kind), *(_plain_subresource(kind, sub) for sub in kind.subresources)]


def _other_names(kind: Kind) -> Raw:
    names = {"shortNames": list(kind.short_names), "categories": list(kind.categories)}
    return {name: listed for name, listed in names.items() if listed}


def _plain_subresource(kind: Kind, sub: Subresource) -> Raw:
    entry: Raw = {
        "name": f"{kind.plural}/{sub.name}",
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": sub.kind or kind.name,
        "verbs": list(sub.verbs),
    }
    if sub.group_version not in ("", kind.api_version):
        entry["group"], _, entry["version"] = sub.group_version.rpartition("/")
    return entry


def render_aggregated(core: bool, version: str, gates: GateSet) -> Raw:
    items = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [
                {
                    "version": group_version,
                    "resources": [_aggregated_resource(resource) for resource in resources],
                    "freshness": "Current",
                }
                for group_version, resources in versions.items()
            ],
        }
        for group, versions in groups(gates).items()
        if core is (group == "")
    ]
    return {"kind": _AGGREGATED, "apiVersion": f"{_AGGREGATED_GROUP}/{version}", "metadata": {}, "items": items}


def _aggregated_resource(kind: Kind) -> Raw:
    entry: Raw = {
        "resource": kind.plural,
        "responseKind": _response_kind(kind.api_version, kind.name),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    } | _other_names(kind)
    if kind.subresources:
        entry["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _response_kind(sub.group_version or kind.api_version, sub.kind or kind.name),
                "verbs": list(sub.verbs),
            }
            for sub in kind.subresources
        ]
    return entry


def _response_kind(group_version: str, kind: str) -> Raw:
    group, _, version = group_version.rpartition("/")
    return {"group": group, "version": version, "kind": kind}


@cache
def version_document() -> Raw:
    """The Kubernetes version that Moorage behaves as, with Moorage's own as build metadata."""
    release = f"{KUBERNETES_VERSION}+moorage-{__version__}"
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": KUBERNETES_MAJOR,
        "minor": KUBERNETES_MINOR,
        "gitVersion": release,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{machine}",
    }


def _encoded(raw: Raw | None) -> Response | None:
    return None if raw is None else Response(200, msgspec.json.encode(raw))


@cache
def _aggregated(core: bool, version: str, gates: GateSet) -> Response:
    body = msgspec.json.encode(render_aggregated(core, version, gates))
    content_type = f"{_PLAIN_TYPE};g={_AGGREGATED_GROUP};v={version};as={_AGGREGATED}"
    tag = f'"{hashlib.sha512(body).hexdigest().upper()}"'
    return Response(200, body, content_type, (("ETag", tag), ("Vary", "Accept"), ("Cache-Control", "public")))
