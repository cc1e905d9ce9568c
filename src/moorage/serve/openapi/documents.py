"""Render the OpenAPI documents, each once: `/openapi/v2`, `/openapi/v3` and the documents that its index names.

The addresses of the latter carry a hash, so that clients may keep them. Kubernetes: kube-openapi's handlers. Differs:
version 3 is JSON only, also for clients that prefer protobuf.
"""

import hashlib
from functools import lru_cache
from typing import Any

import msgspec

from moorage.model.kinds import Kind
from moorage.serve.openapi.definitions import Definitions
from moorage.serve.openapi.paths import add_paths
from moorage.serve.openapi.protobuf_document import render_protobuf

Raw = dict[str, Any]

_INFO = {"title": "Moorage", "version": "v1.36"}
_ENCODER = msgspec.json.Encoder(order="deterministic")


@lru_cache(maxsize=64)
def etag_of(document: bytes) -> str:
    """The document's entity tag, which is also the hash in its address."""
    return hashlib.sha256(document).hexdigest().upper()


@lru_cache(maxsize=2)
def openapi_v2(kinds: tuple[Kind, ...]) -> bytes:
    """The Swagger document of all kinds."""
    definitions, paths = _contents(kinds, 2)
    return _ENCODER.encode(
        {
            "definitions": definitions.found,
            "info": _INFO,
            "paths": paths,
            "security": [{"BearerToken": []}],
            "securityDefinitions": {
                "BearerToken": {
                    "description": "The token of the kubeconfig file.",
                    "in": "header",
                    "name": "authorization",
                    "type": "apiKey",
                }
            },
            "swagger": "2.0",
        }
    )


@lru_cache(maxsize=2)
def openapi_v2_protobuf(kinds: tuple[Kind, ...]) -> bytes:
    """The same, for clients that ask for `protobuf_document.MEDIA_TYPE`."""
    return render_protobuf(msgspec.json.decode(openapi_v2(kinds)))


@lru_cache(maxsize=2)
def openapi_v3_index(kinds: tuple[Kind, ...]) -> bytes:
    """Which documents there are: one for each group and version."""
    paths: Raw = {}
    for group_version in sorted({kind.api_version for kind in kinds}):
        place = f"apis/{group_version}" if "/" in group_version else f"api/{group_version}"
        document = openapi_v3(group_version, kinds) or b""
        paths[place] = {"serverRelativeURL": f"/openapi/v3/{place}?hash={etag_of(document)}"}
    return _ENCODER.encode({"paths": paths})


@lru_cache(maxsize=64)
def openapi_v3(group_version: str, kinds: tuple[Kind, ...]) -> bytes | None:
    """The document of a group and version ("v1", "apps/v1"), or None if no kind is of it."""
    of_group = tuple(kind for kind in kinds if kind.api_version == group_version)
    if not of_group:
        return None
    definitions, paths = _contents(of_group, 3)
    return _ENCODER.encode(
        {"components": {"schemas": definitions.found}, "info": _INFO, "openapi": "3.0.0", "paths": paths}
    )


def _contents(kinds: tuple[Kind, ...], version: int) -> tuple[Definitions, dict[str, Raw]]:
    definitions, paths = Definitions(version), dict[str, Raw]()
    definitions.add_kinds(kinds)
    for kind in kinds:
        add_paths(paths, definitions, kind)
    return definitions, paths
