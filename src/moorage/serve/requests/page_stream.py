"""Answer with a long page in chunks, each made when the client has read most of the ones before it.

A page is one revision of the store, whatever happens while it is sent: it holds the objects, and no copy of their
bytes. Kubernetes: the streaming encoders of lists. Differs: tables, metadata and YAML are streamed, too.
"""

from collections.abc import AsyncIterator, Callable
from time import perf_counter
from typing import Any

import msgspec

from moorage.serve.http.messages import Stream
from moorage.serve.requests.long_work import SLICE_SECONDS, LongWork, next_turn
from moorage.serve.requests.rendering import As, Form, Renderer
from moorage.serve.resources.older_versions import converted_entry, converted_frame
from moorage.serve.verbs.reading import Page
from moorage.store.protocol import Stored
from moorage.telemetry.watchdog import Operation, operation

_CHUNK_BYTES = 128 * 1024
_FEW_ITEMS, _FEW_ITEMS_AS_YAML, _FEW_BYTES = 200, 5, 512 * 1024
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_LARGE_ENTRY = 32 * 1024
_MARK = "the entries"


def is_long(page: Page, form: Form) -> bool:
    items = page.items
    if len(items) > (_FEW_ITEMS_AS_YAML if form.is_yaml else _FEW_ITEMS):
        return True
    return len(items) > 1 and sum(len(item.value) for item in items) > _FEW_BYTES


def stream_page(page: Page, renderer: Renderer, older_version: str, long_work: LongWork) -> Stream:
    """Return the answer. Entries that are not sent as they are stored are made by `long_work` if they are large."""
    kind, form = renderer.kind, renderer.form
    frame, field = renderer.frame(page)
    entry = renderer.entries()
    if older_version:
        frame = converted_frame(frame, kind, older_version)
        plain, is_row = entry, form.shows is As.TABLE
        entry = lambda stored: converted_entry(plain(stored), kind, older_version, is_row=is_row)  # noqa: E731
    name = f"LIST {kind.plural}"
    if not form.is_yaml:
        head, tail = _encode(frame)[:-1] + b',"%b":[' % field.encode(), b"]}"
        if older_version:
            return Stream(_chunks(name, page.items, entry, head, b",", tail, long_work), is_whole=True)
        takes_long = lambda stored: renderer.takes_long((stored,))  # noqa: E731
        return Stream(_chunks(name, page.items, entry, head, b",", tail, long_work, takes_long), is_whole=True)
    before, _, after = _yaml({**frame, field: [_MARK]}).partition(_yaml([_MARK]))
    in_yaml: Callable[[Stored], bytes] = lambda stored: _yaml([_decode(entry(stored))])  # noqa: E731
    chunks = _chunks(name, page.items, in_yaml, before, b"", after, long_work)
    return Stream(chunks, "application/yaml", is_whole=True)


def _is_large_entry(stored: Stored) -> bool:
    return len(stored.value) > _LARGE_ENTRY


@operation(lambda local: Operation(local["name"]))
async def _chunks(
    name: str,
    items: list[Stored],
    entry: Callable[[Stored], bytes],
    head: bytes,
    between: bytes,
    tail: bytes,
    long_work: LongWork,
    takes_long: Callable[[Stored], bool] = _is_large_entry,
) -> AsyncIterator[bytes]:
    """Yield chunks of bounded size and time. `name` is for the watchdog."""
    parts, size, separator = [head], 0, b""
    until = perf_counter() + SLICE_SECONDS
    for place, item in enumerate(items):
        if takes_long(item):
            rendered = await long_work.run(entry, item)
        else:
            rendered = entry(item)
        parts.append(separator)
        parts.append(rendered)
        separator = between
        size += len(rendered)
        if size >= _CHUNK_BYTES or (not place & 7 and perf_counter() >= until):
            yield b"".join(parts)
            await next_turn()
            parts, size, until = [], 0, perf_counter() + SLICE_SECONDS
    parts.append(tail)
    yield b"".join(parts)


def _yaml(document: Any) -> bytes:
    from moorage.model.text.yaml_writer import write_yaml

    return write_yaml(document, sort_keys=True).encode()
