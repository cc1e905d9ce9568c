"""The Accept header → in which form the client wants its answer.

In: the header. Out: a `Form`: the object itself, a table for people, or metadata only; as JSON or YAML; or ApiError
406. Of several the first that Moorage has is taken: clients that would rather have protobuf get JSON. Kubernetes:
content negotiation with its `as=` parameters. Next: `rendering`.
"""

from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from moorage.model.api_error import not_acceptable


class As(Enum):
    """What is shown of objects."""

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
_OFFERED = "application/json, application/yaml"


@lru_cache(maxsize=512)
def negotiate(accept: str) -> Form:
    """Raises ApiError 406 if nothing of what the client takes can be had."""
    if not accept.strip():
        return JSON_OBJECT
    for offer in accept.split(","):
        media_type, *parameters = (part.strip() for part in offer.split(";"))
        is_yaml = _MEDIA_TYPES.get(media_type.lower())
        if is_yaml is None:
            continue
        named = dict(part.partition("=")[::2] for part in parameters)
        if named.get("q") in ("0", "0.0", "0.00", "0.000"):
            continue
        if "as" not in named:
            return Form(is_yaml=is_yaml)
        shows = next((form for form in As if form.value == named["as"] and form is not As.OBJECT), None)
        if shows is None or named.get("g") != "meta.k8s.io" or named.get("v") not in ("v1", "v1beta1"):
            continue
        return Form(shows, is_yaml, named["v"])
    raise not_acceptable(_OFFERED)
