"""Choose the form of an answer by the Accept header, and render objects, pages and events in it.

The client's most preferred type that Moorage has is taken; JSON stands in for protobuf, whose lists have no types in
their items, not even of metadata. JSON objects are not decoded on
the way; tables, metadata and YAML are. Kubernetes: content negotiation with its `as=` parameters, response
transformers.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from itertools import accumulate
from typing import Any, NamedTuple

import msgspec

from moorage.client.protocol import Object, Raw, WatchEvent
from moorage.model.api_error import ApiError, not_acceptable
from moorage.model.kinds import CustomKind, Kind
from moorage.model.text.patterns import anywhere, whole
from moorage.model.text.readers import reads_text
from moorage.model.text.remembering import remember_short
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.http.messages import Response
from moorage.serve.requests.decoding import PROTOBUF
from moorage.serve.resources.objects import decode, is_sent_as_stored, item_renderer, render, render_list
from moorage.serve.tables.columns import Ages
from moorage.serve.tables.render import (
    IncludeObject,
    render_partial_metadata,
    render_row,
    render_table,
    table_of,
)
from moorage.serve.verbs.reading import Page
from moorage.store.protocol import Stored


class As(Enum):
    """What is shown of objects: all, a table, metadata only."""

    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


class Form(NamedTuple):
    """How to answer. `version` is that of meta.k8s.io, for tables and partial objects.

    `stands_in`: the client would rather have protobuf.
    """

    shows: As = As.OBJECT
    is_yaml: bool = False
    version: str = "v1"
    stands_in: bool = False


JSON_OBJECT = Form()
_MEDIA_TYPES = {"application/json": False, "*/*": False, "application/*": False, "application/yaml": True}
_is_quality = whole(r"[01](\.[0-9]{0,3})?")
_OFFERED = "application/json, application/yaml"


@reads_text("application/json", ";", "q=", ",", "as=", "1", ".", "*/*", raises=ApiError)
@remember_short(512)
def negotiate(accept: str, *, has_table: bool = True) -> Form:
    """Choose a form. Raises ApiError 406 if the client accepts none."""
    if not accept.strip():
        return JSON_OBJECT
    stands_in = False
    for media_type, named in _offers(accept):
        is_yaml = _MEDIA_TYPES.get(media_type)
        if is_yaml is None:
            stands_in = stands_in or media_type == PROTOBUF
            continue
        if "as" not in named:
            return Form(is_yaml=is_yaml)
        shows = next((form for form in As if form.value == named["as"] and form is not As.OBJECT), None)
        if shows is None or named.get("g") != "meta.k8s.io" or named.get("v") not in ("v1", "v1beta1"):
            continue
        if shows is As.TABLE and not has_table:
            continue
        return Form(shows, is_yaml, named["v"], stands_in)
    raise not_acceptable(_OFFERED)


def _offers(accept: str) -> list[tuple[str, dict[str, str]]]:
    """Return the types that the client accepts, most preferred first, without those it refuses (`q=0`)."""
    offers = []
    for offer in accept.split(","):
        media_type, *parameters = (part.strip() for part in offer.split(";"))
        named = dict(part.partition("=")[::2] for part in parameters)
        given = named.get("q", "1")
        quality = float(given) if _is_quality(given) else 1.0
        if quality > 0:
            offers.append((quality, media_type.lower(), named))
    offers.sort(key=lambda offer: (-offer[0], offer[1].count("*")))
    return [(media_type, named) for _, media_type, named in offers]


#: Bytes that are decoded, and made what a custom kind's schema says, in some milliseconds.
_MUCH_TO_DECODE = 32 * 1024
#: Characters of all warnings of an answer, and of each of them if they are more.
_MAX_WARNINGS, _MAX_WARNING = 4096, 256
_has_control_characters = anywhere(r"[\x00-\x1f\x7f-\x9f]")
_encode = msgspec.json.Encoder().encode


class Renderer:
    """Renders objects of one kind in one form. Tables of a watch have headers in the first event only."""

    def __init__(self, kind: Kind, form: Form, include: IncludeObject, now: float) -> None:
        self.kind, self.form, self.include, self.now = kind, form, include, now
        self._had_headers = False
        self._meta = f"meta.k8s.io/{form.version}"

    def takes_long(self, items: Iterable[Stored]) -> bool:
        """Return whether others should not wait until these are rendered: much is decoded on the way."""
        kind, shows_all = self.kind, self.form.shows is As.OBJECT
        made = [item for item in items if not shows_all or not is_sent_as_stored(kind, item)]
        if not made:
            return False
        is_heavy = type(kind) is ServedKind and kind.is_heavy
        return is_heavy or sum(len(item.value) for item in made) > _MUCH_TO_DECODE

    def object(self, stored: Stored) -> bytes:
        if self.form.shows is As.OBJECT:
            return render(self.kind, stored)
        return _encode(self._shown(decode(self.kind, stored)))

    def frame(self, page: Page) -> tuple[Raw, str]:
        """Return the document of a page without its entries, and the name of the field for them, the last one."""
        metadata = _page_metadata(page, self.kind, self.form)
        if self.form.shows is As.TABLE:
            table = self._table([], metadata)
            del table["rows"]
            return table, "rows"
        if self.form.shows is As.OBJECT:
            return {"kind": self.kind.list_name, "apiVersion": self.kind.api_version, "metadata": metadata}, "items"
        return {"kind": As.METADATA_LIST.value, "apiVersion": self._meta, "metadata": metadata}, "items"

    def entries(self) -> Callable[[Stored], bytes]:
        """Return the function that renders an entry of a page."""
        kind, shows, meta, include = self.kind, self.form.shows, self._meta, self.include
        if shows is As.OBJECT:
            return item_renderer(kind)
        if shows is As.TABLE:
            table, ages = table_of(kind), Ages(self.now)
            return lambda stored: _encode(render_row(table, decode(kind, stored), ages, include, meta))
        return lambda stored: _encode(self._item(decode(kind, stored)))

    def ordered(self, page: Page) -> Page:
        """Return a page in the order of its table: flow schemas are listed as they are tried."""
        order = table_of(self.kind).order if self.form.shows is As.TABLE else None
        if order is None:
            return page
        return page._replace(items=sorted(page.items, key=lambda stored: order(decode(self.kind, stored))))

    def page(self, page: Page) -> bytes:
        metadata = _page_metadata(page, self.kind, self.form)
        if self.form.shows is As.OBJECT:
            return render_list(self.kind, list(map(item_renderer(self.kind), page.items)), metadata)
        objects = (decode(self.kind, item) for item in page.items)
        if self.form.shows is As.TABLE:
            return _encode(self._table(objects, metadata))
        frame, field = self.frame(page)
        return _encode({**frame, field: list(map(self._item, objects))})

    def event(self, event: WatchEvent) -> bytes:
        obj = event.object
        if isinstance(obj.source, Stored):
            body = self.object(obj.source._replace(revision=obj.revision))
        else:
            body = self._bookmark(obj)
        return b'{"type":"%b","object":%b}\n' % (event.type.value.encode(), body)

    def events(self, batch: Iterable[WatchEvent]) -> bytes:
        return b"".join(map(self.event, batch))

    def _shown(self, raw: Raw) -> Raw:
        if self.form.shows is As.TABLE:
            headers, self._had_headers = not self._had_headers, True
            version = {"resourceVersion": raw["metadata"].get("resourceVersion", "")}
            return self._table([raw], version, headers=headers)
        return render_partial_metadata(raw, self._meta)

    def _item(self, raw: Raw) -> Raw:
        """Return an item of a list of metadata."""
        if self.form.stands_in:
            return {"metadata": raw["metadata"]}
        return render_partial_metadata(raw, self._meta)

    def _table(self, objects: Iterable[Raw], metadata: Raw, *, headers: bool = True) -> Raw:
        return render_table(
            self.kind, objects, self.now, self.include, metadata, headers=headers, api_version=self._meta
        )

    def _bookmark(self, obj: Object) -> bytes:
        metadata: Raw = {"resourceVersion": str(obj.revision), **obj.raw["metadata"]}
        raw: Raw = {"kind": self.kind.name, "apiVersion": self.kind.api_version, "metadata": metadata}
        if self.form.shows is As.TABLE:
            table = self._table([], {"resourceVersion": str(obj.revision)}, headers=False)
            return _encode({**table, "rows": [{"cells": [], "object": raw}]})
        if self.form.shows is not As.OBJECT:
            raw = render_partial_metadata(raw, self._meta)
        return _encode(raw)


def stored_in(batch: Iterable[WatchEvent]) -> Iterable[Stored]:
    """Yield what is stored of the objects in a batch: bookmarks have nothing."""
    return (source for event in batch if isinstance(source := event.object.source, Stored))


def _page_metadata(page: Page, kind: Kind, form: Form) -> Raw:
    """Return the metadata of a list; of custom objects, which are no Go structs, they say that nothing follows, too."""
    metadata: Raw = {"resourceVersion": str(page.revision)}
    if isinstance(kind, CustomKind) and form.shows is As.OBJECT:
        metadata = {"continue": "", **metadata}
    if page.continues:
        metadata["continue"] = page.continues
        if page.remaining is not None:
            metadata["remainingItemCount"] = page.remaining
    return metadata


def error_event(status: Raw) -> bytes:
    return b'{"type":"ERROR","object":%b}\n' % _encode(status)


def json_response(document: Any, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Response:
    return Response(status, _encode(document), headers=headers)


def as_yaml(response: Response) -> Response:
    from moorage.model.text.yaml_writer import write_yaml

    text = write_yaml(msgspec.json.decode(response.body), sort_keys=True)
    return Response(response.status, text.encode(), "application/yaml", response.headers)


def warning_headers(warnings: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Warning headers: each text once, none with control characters. If all are too long together, each is cut short.

    Kubernetes: WithWarningRecorder of endpoints/filters.
    """
    if not warnings:
        return ()
    texts = [text for text in dict.fromkeys(warnings) if text and not _has_control_characters(text)]
    if sum(map(len, texts)) > _MAX_WARNINGS:
        texts = _shortened(texts)
    return tuple(("Warning", f'299 - "{_quoted(text)}"') for text in texts)


def _shortened(texts: list[str]) -> list[str]:
    """Cut texts short, and leave out those that come after the limit is reached all the same."""
    totals = list(accumulate(map(len, texts)))
    first = next(place for place, total in enumerate(totals) if total > _MAX_WARNINGS)
    shortened = [text[:_MAX_WARNING] for text in texts]
    totals = list(accumulate(map(len, shortened)))
    return [text for place, text in enumerate(shortened) if place <= first or totals[place - 1] < _MAX_WARNINGS]


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
