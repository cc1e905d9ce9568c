"""The OpenAPI documents, as bytes that are made when first asked for and kept.

In: kinds. Out: `/openapi/v2`, `/openapi/v3` and the documents that its index names, whose addresses carry a hash, so
that clients may keep them. Kubernetes: kube-openapi's handlers. Differs: version 3 is JSON only; a client that would
rather have protobuf gets JSON.
"""

import hashlib
from collections.abc import Iterable
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


def openapi_v2(kinds: Iterable[Kind]) -> bytes:
    """The Swagger document of all kinds."""
    return _v2(tuple(kinds))


def openapi_v2_protobuf(kinds: Iterable[Kind]) -> bytes:
    """The same, for those who ask for `protobuf_document.MEDIA_TYPE`."""
    return _v2_protobuf(tuple(kinds))


def openapi_v3_index(kinds: Iterable[Kind]) -> bytes:
    """Which documents there are: one for each group and version."""
    return _v3_index(tuple(kinds))


def openapi_v3(group_version: str, kinds: Iterable[Kind]) -> bytes | None:
    """The document of a group and version ("v1", "apps/v1"), or None if no kind is of it."""
    return _v3(group_version, tuple(kinds))


@lru_cache(maxsize=64)
def etag_of(document: bytes) -> str:
    """The document's entity tag, which is also the hash in its address."""
    return hashlib.sha256(document).hexdigest().upper()


@lru_cache(maxsize=2)
def _v2(kinds: tuple[Kind, ...]) -> bytes:
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
def _v2_protobuf(kinds: tuple[Kind, ...]) -> bytes:
    return render_protobuf(msgspec.json.decode(_v2(kinds)))


@lru_cache(maxsize=2)
def _v3_index(kinds: tuple[Kind, ...]) -> bytes:
    paths: Raw = {}
    for group_version in sorted({kind.api_version for kind in kinds}):
        place = f"apis/{group_version}" if "/" in group_version else f"api/{group_version}"
        document = _v3(group_version, kinds) or b""
        paths[place] = {"serverRelativeURL": f"/openapi/v3/{place}?hash={etag_of(document)}"}
    return _ENCODER.encode({"paths": paths})


@lru_cache(maxsize=64)
def _v3(group_version: str, kinds: tuple[Kind, ...]) -> bytes | None:
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
