"""The tag an image name asks for, which decides the default pull policy.

In: an image name as a container has it. Out: its tag; `latest` where neither tag nor digest is given; nothing where
the name is not an image reference. Kubernetes: pkg/util/parsers, github.com/distribution/reference.
"""

import re
from functools import lru_cache

_MAX_REPOSITORY_LENGTH = 255
_HEX_DIGITS = {"sha256": 64, "sha384": 96, "sha512": 128}

# Repetitions cannot overlap (a component ends in an alphanumeric, a separator has none), so matching is linear.
_COMPONENT = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_HOST = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])"
_is_reference = re.compile(
    rf"(?P<name>(?:{_HOST}(?::[0-9]+)?/)?(?P<path>{_COMPONENT}(?:/{_COMPONENT})*))"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?\Z"
).match
_is_identifier = re.compile(r"[a-f0-9]{64}\Z").match
_is_lower_hex = re.compile(r"[a-f0-9]+\Z").match


@lru_cache(maxsize=2048)
def image_tag(image: str) -> str:
    if _is_identifier(image):
        return ""
    found = _is_reference(_normalized(image))
    if found is None or len(found["path"]) > _MAX_REPOSITORY_LENGTH:
        return ""
    digest: str | None = found["digest"]
    if digest is not None and not _is_digest(digest):
        return ""
    tag: str | None = found["tag"]
    if tag is None:
        return "" if digest is not None else "latest"
    return tag


def _normalized(image: str) -> str:
    """Put the default registry before a name whose first part does not look like a host."""
    first, slash, _ = image.partition("/")
    is_host = slash and (set(".:") & set(first) or first == "localhost" or first.lower() != first)
    if is_host:
        return image
    return f"docker.io/{image}" if slash else f"docker.io/library/{image}"


def _is_digest(digest: str) -> bool:
    algorithm, _, encoded = digest.partition(":")
    return len(encoded) == _HEX_DIGITS.get(algorithm) and _is_lower_hex(encoded) is not None
