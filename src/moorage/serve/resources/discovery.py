"""Answer discovery: the resources of each group, one by one or aggregated, and the version of the server.

Kubernetes: apiserver's endpoints/discovery. Differs: nothing is ever stale; older versions of resource.k8s.io are
listed, which Kubernetes serves only where they are asked for.
"""

import base64
import hashlib
import platform
from functools import cache

import msgspec

from moorage import __version__
from moorage.model.api_error import Raw
from moorage.model.kinds import OLDER_VERSIONS, Kind, Subresource
from moorage.model.kubernetes_version import KUBERNETES_MAJOR, KUBERNETES_MINOR, KUBERNETES_VERSION
from moorage.model.text.readers import reads_text
from moorage.serve.http.messages import Response
from moorage.serve.resources.served import BUILT_IN, Resources

_AGGREGATED = "APIGroupDiscoveryList"
_AGGREGATED_GROUP = "apidiscovery.k8s.io"
_AGGREGATED_VERSIONS = ("v2", "v2beta1")
_PLAIN_TYPE = "application/json"


def answer_discovery(path: str, accept: str = "", served: Resources = BUILT_IN, address: str = "") -> Response | None:
    """Answer a GET of this path; None if it is not a path of discovery, or of a group that does not exist.

    `address` is the server's own, host and port.
    """
    segments = path.strip("/").split("/")
    if segments in (["api"], ["apis"]) and (version := aggregated_version(accept)):
        core = segments[0] == "api"
        return served.remembered(("aggregated", core, version), lambda: _aggregated(core, version, served))
    match segments:
        case ["api"]:
            addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}] if address else []
            versions = {"kind": "APIVersions", "versions": list(served.groups[""])}
            return _encoded({**versions, "serverAddressByClientCIDRs": addresses})
        case ["api", version]:
            return _encoded(render_resource_list("", version, served))
        case ["apis"]:
            return _encoded(render_group_list(served))
        case ["apis", group]:
            return _encoded(render_group(group, served))
        case ["apis", group, version] if group:
            return _encoded(render_resource_list(group, version, served))
    return None


@reads_text("application/json", ";", "g=", ",", "as=", "*/*", "v=")
def aggregated_version(accept: str) -> str:
    """Return the version of aggregated discovery that an Accept header prefers to the plain form, or ""."""
    for media_type in accept.split(","):
        essence, *parameters = (piece.strip() for piece in media_type.split(";"))
        wanted = dict(parameter.partition("=")[::2] for parameter in parameters)
        if essence in (_PLAIN_TYPE, "*/*", "application/*") and "as" not in wanted:
            return ""
        if essence == _PLAIN_TYPE and (wanted.get("g"), wanted["as"]) == (_AGGREGATED_GROUP, _AGGREGATED):
            version = wanted.get("v", "")
            if version in _AGGREGATED_VERSIONS:
                return version
    return ""


def render_group_list(served: Resources) -> Raw:
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group_members(group, list(versions)) for group, versions in served.groups.items() if group],
    }


def render_group(group: str, served: Resources) -> Raw | None:
    versions = served.groups.get(group) if group else None
    if versions is None:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group_members(group, list(versions))}


def _group_members(group: str, versions: list[str]) -> Raw:
    listed = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": listed, "preferredVersion": listed[0]}


def render_resource_list(group: str, version: str, served: Resources) -> Raw | None:
    resources = served.groups.get(group, {}).get(version)
    if resources is None:
        return None
    listed = [entry for resource in resources for entry in _plain_resource(resource)]
    group_version = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}


def _plain_resource(kind: Kind) -> list[Raw]:
    entry: Raw = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.name,
        "verbs": list(kind.listed_verbs),
    }
    entry |= _other_names(kind)
    if "watch" in kind.verbs:
        entry["storageVersionHash"] = _storage_version_hash(kind)
    return [entry, *(_plain_subresource(kind, sub) for sub in kind.subresources)]


def _storage_version_hash(kind: Kind) -> str:
    """Return what changes when objects are stored in another version."""
    stored = OLDER_VERSIONS.get((kind.api_version, kind.name), kind)
    text = f"{stored.group}/{stored.version}/{stored.name}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


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
    if other := _other_version(kind, sub):
        entry["group"], _, entry["version"] = other.rpartition("/")
    return entry


def render_aggregated(core: bool, version: str, served: Resources) -> Raw:
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
        for group, versions in served.groups.items()
        if core is (group == "")
    ]
    return {"kind": _AGGREGATED, "apiVersion": f"{_AGGREGATED_GROUP}/{version}", "metadata": {}, "items": items}


def _aggregated_resource(kind: Kind) -> Raw:
    entry: Raw = {
        "resource": kind.plural,
        "responseKind": _response_kind("", kind.name),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.listed_verbs),
    } | _other_names(kind)
    if kind.subresources:
        entry["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _response_kind(_other_version(kind, sub), sub.kind or kind.name),
                "verbs": list(sub.verbs),
            }
            for sub in kind.subresources
        ]
    return entry


def _other_version(kind: Kind, sub: Subresource) -> str:
    """Return the group and version of a subresource's documents, or "" if it is the kind's own."""
    return "" if sub.group_version == kind.api_version else sub.group_version


def _response_kind(group_version: str, kind: str) -> Raw:
    group, _, version = group_version.rpartition("/")
    return {"group": group, "version": version, "kind": kind}


@cache
def version_document() -> Raw:
    """Return the Kubernetes version that Moorage behaves as, with Moorage's own as build metadata."""
    release = f"{KUBERNETES_VERSION}+moorage-{__version__}"
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": KUBERNETES_MAJOR,
        "minor": KUBERNETES_MINOR,
        "emulationMajor": KUBERNETES_MAJOR,
        "emulationMinor": KUBERNETES_MINOR,
        "minCompatibilityMajor": KUBERNETES_MAJOR,
        "minCompatibilityMinor": str(int(KUBERNETES_MINOR) - 1),
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


def _aggregated(core: bool, version: str, served: Resources) -> Response:
    body = msgspec.json.encode(render_aggregated(core, version, served))
    content_type = f"{_PLAIN_TYPE};g={_AGGREGATED_GROUP};v={version};as={_AGGREGATED}"
    tag = f'"{hashlib.sha512(body).hexdigest().upper()}"'
    return Response(200, body, content_type, (("ETag", tag), ("Vary", "Accept"), ("Cache-Control", "public")))
