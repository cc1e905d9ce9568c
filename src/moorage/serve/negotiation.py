"""Choose the form of an answer by the Accept header.

The client's most preferred type that Moorage has is taken; JSON stands in for protobuf. Kubernetes: content negotiation
with its `as=` parameters.
"""

import re
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from moorage.model.api_error import not_acceptable


class As(Enum):
    """What is shown of objects: all, a table, metadata only."""

    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


class Form(NamedTuple):
    """How to answer. `version` is that of meta.k8s.io, for tables and partial objects."""

    shows: As = As.OBJECT
    is_yaml: bool = False
    version: str = "v1"


JSON_OBJECT = Form()
_MEDIA_TYPES = {"application/json": False, "*/*": False, "application/*": False, "application/yaml": True}
_QUALITY = re.compile(r"[01](\.[0-9]{0,3})?\Z")
_OFFERED = "application/json, application/yaml"


@lru_cache(maxsize=512)
def negotiate(accept: str) -> Form:
    """Choose a form. Raises ApiError 406 if the client accepts none."""
    if not accept.strip():
        return JSON_OBJECT
    for media_type, named in _offers(accept):
        is_yaml = _MEDIA_TYPES.get(media_type)
        if is_yaml is None:
            continue
        if "as" not in named:
            return Form(is_yaml=is_yaml)
        shows = next((form for form in As if form.value == named["as"] and form is not As.OBJECT), None)
        if shows is None or named.get("g") != "meta.k8s.io" or named.get("v") not in ("v1", "v1beta1"):
            continue
        return Form(shows, is_yaml, named["v"])
    raise not_acceptable(_OFFERED)


def _offers(accept: str) -> list[tuple[str, dict[str, str]]]:
    """The types that the client accepts, most preferred first, without those it refuses (`q=0`)."""
    offers = []
    for offer in accept.split(","):
        media_type, *parameters = (part.strip() for part in offer.split(";"))
        named = dict(part.partition("=")[::2] for part in parameters)
        quality = _quality(named.get("q", "1"))
        if quality > 0:
            offers.append((quality, media_type.lower(), named))
    offers.sort(key=lambda offer: (-offer[0], offer[1].count("*")))
    return [(media_type, named) for _, media_type, named in offers]


def _quality(text: str) -> float:
    return float(text) if _QUALITY.match(text) else 1.0
