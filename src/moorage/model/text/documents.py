"""Read API objects from a stream of YAML or JSON, as raw documents, one at a time.

Empty documents are passed over; `List` objects, as kubectl prints them, are taken apart into their items. Kubernetes:
kubectl's resource builder over apimachinery/pkg/util/yaml. Differs: every document knows its lines; size, nesting and
aliases are bounded.
"""

import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO, NamedTuple

from yaml import Node

from moorage.model.field_error import child_path, parse_field_path
from moorage.model.text.alias_places import AliasPlaces
from moorage.model.text.decode_error import DecodeError, Problem
from moorage.model.text.document_chunks import MAX_DOCUMENT_BYTES, Chunk, split_stream
from moorage.model.text.json_text import (
    JsonValue,
    decode_json_values,
    json_duplicates,
    json_type,
    replace_lone_surrogates,
)
from moorage.model.text.large_lists import ItemText, split_json_list, split_yaml_list, without_dash
from moorage.model.text.late_positions import Written
from moorage.model.text.positions import ItemPositions, JsonPositions, Location, Positions, YamlPositions
from moorage.model.text.repeated_items import RepeatedItem, RepeatedItems
from moorage.model.text.yaml_text import YamlConstructor, compose_documents
from moorage.model.well_known.limits import MAX_OBJECT_BYTES

# What one YAML object may take. The API server accepts requests of at most 3 MiB, so nothing it would take is lost.
MAX_TEXT_BYTES = 4 * 1024 * 1024
_LARGE_LIST = 1024 * 1024  # above this a list is cut into its items before it is parsed


class DuplicateField(NamedTuple):
    """A key that stands twice in one mapping. Its place is that of the later one, which wins."""

    path: str
    location: Location

    def __str__(self) -> str:
        return f'duplicate field "{self.path}"'


class Document:
    """One API object as it was written, and where each part of it stands."""

    __slots__ = (
        "_positions",
        "_text",
        "_text_line",
        "ahead",
        "duplicates",
        "index",
        "misplaced",
        "path_as_written",
        "raw",
        "repeats",
        "source",
    )

    def __init__(
        self,
        source: str,
        raw: dict[str, Any],
        positions: Positions,
        text: bytes,
        text_line: int,
        duplicates: tuple[DuplicateField, ...] = (),
    ) -> None:
        self.source = source
        self.index = 0  # among the objects of its stream; given by `read_documents`
        self.raw = raw
        #: From a path in `raw` to the path in the text, if `raw` was converted from an older version.
        self.path_as_written: Callable[[str], str] | None = None
        self.misplaced: tuple[str, ...] = ()  # paths of fields that its version has elsewhere
        self.ahead: Any = None  # what its reader found out ahead of its turn, if anything
        self.repeats: RepeatedItem | None = None  # how it differs from an earlier item of its list
        self.duplicates = duplicates
        self._positions = positions
        self._text = text
        self._text_line = text_line

    @property
    def line(self) -> int:
        return self.location("").line

    @property
    def has_aliases(self) -> bool:
        """Whether the text may have YAML aliases."""
        return self._positions.has_aliases

    @property
    def positions(self) -> Positions:
        """Where each part of it stands."""
        return self._positions

    def start(self) -> Callable[[], Location]:
        """Return the place the object starts at, to be asked for later; keeps as little of the document as it can."""
        return self._positions.start()

    def detach(self) -> None:
        """Let the nodes go; places are found all the same. For documents that are kept."""
        self._positions = self._positions.detached()

    def location(self, path: str) -> Location:
        """Return where the field of this path stands, or the closest ancestor that exists."""
        written = path if self.path_as_written is None else self.path_as_written(path)
        return self._positions.find(parse_field_path(written))

    def alias(self, path: str) -> Location | None:
        """Return the place of the YAML alias through which the field is there; None if it is written there."""
        written = path if self.path_as_written is None else self.path_as_written(path)
        return self._positions.alias(parse_field_path(written))

    def line_text(self, line: int) -> str:
        """Return a line of the document, for showing beside a message; empty if the document has no such line."""
        lines = self._text.splitlines()
        index = line - self._text_line
        return lines[index].decode("utf-8", "replace") if 0 <= index < len(lines) else ""

    def error(self, reason: str, problem: Problem, path: str = "") -> DecodeError:
        line, column = self.location(path)
        return DecodeError(reason, problem=problem, source=self.source, line=line, column=column, path=path)

    def part(self, raw: dict[str, Any], steps: tuple[str, ...]) -> "Document":
        """Return an item of a list inside this document as a document of its own."""
        prefix = f"{'.'.join(steps[:-1])}[{steps[-1]}]."
        duplicates = tuple(
            DuplicateField(duplicate.path.removeprefix(prefix), duplicate.location)
            for duplicate in self.duplicates
            if duplicate.path.startswith(prefix)
        )
        below = self._positions.below(steps)
        return Document(self.source, raw, below, self._text, self._text_line, duplicates)


def read_documents(
    stream: BinaryIO,
    source: str,
    max_document_bytes: int = MAX_DOCUMENT_BYTES,
    on_chunk: Callable[[Chunk], None] | None = None,
    *,
    shares: bool = False,
) -> Iterator[Document | DecodeError]:
    """Yield the API objects in the stream, and an error for each document that is not one.

    `on_chunk` is called with the text of each document before it is decoded, for readers of comments. If it `shares`,
    objects that repeat others are not parsed, and what they have in common must not be modified.
    """
    index, decoder = 0, _Decoder(source, shares=shares)
    for chunk in split_stream(stream, source, max_document_bytes):
        if isinstance(chunk, DecodeError):
            yield chunk
            continue
        if on_chunk is not None:
            on_chunk(chunk)
        try:
            for decoded in decoder.decode(chunk):
                for document in _objects(decoded):
                    if isinstance(document, Document):
                        document.index = index
                        index += 1
                    yield document
        except DecodeError as error:
            yield error


def documents_in(chunk: Chunk, source: str) -> Iterator[Document | DecodeError]:
    """Yield the API objects of one piece of a stream, without the numbers that `read_documents` gives them.

    Raises DecodeError.
    """
    for decoded in _Decoder(source, shares=False).decode(chunk):
        yield from _objects(decoded)


class Value(NamedTuple):
    """What a text says, whatever it is, and the keys that it says twice."""

    raw: Any
    duplicates: tuple[DuplicateField, ...]


def read_values(text: bytes, source: str) -> list[Value]:
    """Return every document of a text, none of which need be an API object. Raises DecodeError."""
    values: list[Value] = []
    for chunk in split_stream(io.BytesIO(text), source, MAX_DOCUMENT_BYTES):
        if isinstance(chunk, DecodeError):
            raise chunk
        values += [Value(decoded.raw, decoded.duplicates) for decoded in _Decoder(source, shares=False).decode(chunk)]
    return values


class _Found(NamedTuple):
    """A decoded value that may or may not be an API object."""

    raw: Any
    positions: Positions
    chunk: Chunk
    source: str
    duplicates: tuple[DuplicateField, ...]
    list_of: tuple[str, str] | None = None  # for an item of a list that was cut: the list's apiVersion and kind
    repeats: RepeatedItem | None = None


#: What items of a large List are taken to be in before its end is read, where most have their type.
_UNKNOWN_LIST = ("v1", "List")


class _Decoder:
    """Decodes the pieces of one stream. If `shares`, objects that repeat others share what they have in common."""

    def __init__(self, source: str, *, shares: bool) -> None:
        self._source = source
        self._repeats = RepeatedItems() if shares else None

    def decode(self, chunk: Chunk) -> Iterator[_Found]:
        if chunk.items is not None:
            yield from self._items(chunk, chunk.items, _UNKNOWN_LIST)
        elif chunk.is_frame:
            self._frame(chunk)
        elif len(chunk.text) > _LARGE_LIST:
            yield from self._large(chunk)
        else:
            yield from self._one(chunk, chunk)

    def _frame(self, chunk: Chunk) -> _Found:
        """Return a List without its items. Raises DecodeError."""
        frame = next(_decode_whole(chunk, self._source))
        if not _is_list_frame(frame.raw):
            raise _too_large(self._source, chunk.first_line)
        return frame

    def _large(self, chunk: Chunk) -> Iterator[_Found]:
        """Decode a document that may be a large List, item by item."""
        cut = split_json_list(chunk.text) or split_yaml_list(chunk.text)
        if cut is None:
            yield from _decode_whole(chunk, self._source)
        else:
            raw = self._frame(Chunk(cut.frame, chunk.first_line)).raw
            yield from self._items(chunk, cut.items, (raw["apiVersion"], raw["kind"]))

    def _items(self, chunk: Chunk, items: list[ItemText], list_of: tuple[str, str]) -> Iterator[_Found]:
        for text, lines_before in items:
            item = Chunk(text, chunk.first_line + lines_before)
            plain = item if text.lstrip().startswith(b"{") else item._replace(text=without_dash(text))
            for found in self._one(item, plain):
                yield found._replace(chunk=item, list_of=list_of)

    def _one(self, chunk: Chunk, plain: Chunk) -> Iterator[_Found]:
        """Decode a piece, or find out that it repeats another; `plain` is the same without the dash of an item."""
        repeats = self._repeats
        known = repeats.find(chunk.text) if repeats is not None else None
        if known is not None:
            pattern = known.pattern
            decode = partial(_positions_of, plain, self._source)
            positions = ItemPositions(pattern.place, chunk.first_line, decode, has_aliases=pattern.has_aliases)
            yield _Found(known.raw, positions, chunk, self._source, (), None, known)
            return
        found = [*_decode_whole(plain, self._source)] if repeats is not None else _decode_whole(plain, self._source)
        yield from found
        if repeats is not None and isinstance(found, list) and len(found) == 1:
            self._learn(repeats, chunk, plain, found[0])

    def _learn(self, repeats: RepeatedItems, chunk: Chunk, plain: Chunk, found: _Found) -> None:
        if isinstance(found.raw, dict) and not found.duplicates:
            line, column = found.positions.find(())
            compose = None if isinstance(found.positions, JsonPositions) else partial(_composed, plain.text)
            place = Location(line - chunk.first_line, column)
            repeats.learn(chunk.text, found.raw, place, compose, has_aliases=found.positions.has_aliases)


def _decode_whole(chunk: Chunk, source: str) -> Iterator[_Found]:
    if chunk.text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        yield from _decode_json(chunk, source)
    else:
        yield from _compose_yaml(chunk, source)


def _decode_json(chunk: Chunk, source: str) -> Iterator[_Found]:
    """Decode JSON values; if the first is not one, the text may still be YAML in its flow style."""
    try:
        text = replace_lone_surrogates(chunk.text.decode("utf-8-sig"))
    except UnicodeDecodeError:
        yield from _compose_yaml(chunk, source)  # libyaml tells which byte is wrong
        return
    first = True
    try:
        for value in decode_json_values(text, source, chunk.first_line):
            first = False
            positions = JsonPositions(text, value.start, chunk.first_line)
            yield _Found(value.raw, positions, chunk, source, _json_duplicate_fields(text, value, positions))
    except DecodeError as error:
        if not first or error.problem is not Problem.SYNTAX:
            raise
        try:
            yield from _compose_yaml(chunk, source)
        except DecodeError as yaml_error:
            looks_like_json = text.lstrip()[1:].lstrip()[:1] == '"'
            raise (error if looks_like_json else yaml_error) from None


def _json_duplicate_fields(text: str, value: JsonValue, positions: JsonPositions) -> tuple[DuplicateField, ...]:
    if not value.has_duplicates:
        return ()
    return tuple(
        DuplicateField(repeated.path, positions.find(repeated.steps)) for repeated in json_duplicates(text, value.start)
    )


def _positions_of(chunk: Chunk, source: str) -> Positions:
    """Return the positions of the one document of a text, which is decoded once more."""
    return next(_decode_whole(chunk, source)).positions


def _composed(text: bytes) -> Node:
    """Return the nodes of the one document of a text."""
    return next(compose_documents(text, "", 0))


def _is_list_frame(raw: Any) -> bool:
    if not isinstance(raw, dict):
        return False
    api_version, kind = raw.get("apiVersion"), raw.get("kind")
    return isinstance(api_version, str) and bool(api_version) and isinstance(kind, str) and kind.endswith("List")


def _compose_yaml(chunk: Chunk, source: str) -> Iterator[_Found]:
    text, first_line = chunk.text, chunk.first_line
    if len(text) > MAX_TEXT_BYTES:
        raise _too_large(source, first_line)
    has_aliases = b"*" in text and b"&" in text
    for number, root in enumerate(compose_documents(text, source, first_line)):
        constructor = YamlConstructor(source, first_line, has_aliases)
        raw = constructor.construct(root)
        aliases = AliasPlaces(text, root) if has_aliases else None
        written = None if has_aliases else Written(text, source, first_line, number)
        positions = YamlPositions(root, first_line, constructor.key_text, aliases, written=written)
        yield _Found(raw, positions, chunk, source, _yaml_duplicate_fields(constructor, positions))


def _too_large(source: str, line: int) -> DecodeError:
    most, stored = MAX_TEXT_BYTES // 1024, MAX_OBJECT_BYTES // 1024
    reason = f"object larger than {most} KiB; the API server stores no more than {stored} KiB"
    return DecodeError(reason, problem=Problem.LIMIT, source=source, line=line)


def _yaml_duplicate_fields(constructor: YamlConstructor, positions: YamlPositions) -> tuple[DuplicateField, ...]:
    duplicates = []
    for mapping, key_node, key in constructor.duplicates:
        parent = positions.path_to(mapping)
        duplicates.append(DuplicateField(child_path(parent, key), positions.location_of(key_node)))
    return tuple(duplicates)


def _objects(decoded: _Found) -> Iterator[Document | DecodeError]:
    """Return the API objects a decoded value holds: none if it is null, itself, or the items of a list."""
    raw, chunk = decoded.raw, decoded.chunk
    document = Document(decoded.source, raw, decoded.positions, chunk.text, chunk.first_line, decoded.duplicates)
    document.repeats = decoded.repeats
    if decoded.list_of is not None:
        yield _list_item(document, *decoded.list_of)
        return
    if raw is None:
        return
    complaint = _not_an_object(document) or _missing_type(document)
    if complaint is not None:
        yield complaint
        return
    items = raw.get("items")
    if isinstance(items, list) and raw["kind"].endswith("List"):
        for position, item in enumerate(items):
            part = document.part(item, ("items", str(position)))
            yield _list_item(part, raw["apiVersion"], raw["kind"])
    else:
        yield document


def _list_item(document: Document, list_api_version: str, list_kind: str) -> Document | DecodeError:
    """Return an item of a list. Those of a typed list need not repeat what they are."""
    raw, kind = document.raw, list_kind.removesuffix("List")
    if isinstance(raw, dict) and kind and "kind" not in raw and "apiVersion" not in raw:
        document.raw = {"apiVersion": list_api_version, "kind": kind, **raw}
    complaint = _not_an_object(document) or _missing_type(document)
    if complaint is not None and complaint.problem in (Problem.NOT_AN_OBJECT, Problem.NO_KIND):
        complaint.problem = Problem.NOT_AN_ITEM
    return complaint or document


def _not_an_object(document: Document) -> DecodeError | None:
    raw: Any = document.raw
    if isinstance(raw, dict):
        return None
    return document.error(f"{json_type(raw)} where an API object should be", Problem.NOT_AN_OBJECT)


def _missing_type(document: Document) -> DecodeError | None:
    raw = document.raw
    for name in ("apiVersion", "kind"):
        if not isinstance(raw.get(name), str | None):
            complaint = f"cannot unmarshal {json_type(raw[name])} into Go struct field .{name} of type string"
            return document.error(f"couldn't get version/kind; json parse error: json: {complaint}", Problem.TYPE, name)
    if raw.get("kind") and raw.get("apiVersion"):
        return None
    if raw.get("kind"):
        return document.error("Object 'apiVersion' is missing", Problem.MISSING_API_VERSION)
    if raw.get("apiVersion"):
        return document.error("Object 'Kind' is missing", Problem.MISSING_KIND)
    return document.error("neither 'apiVersion' nor 'kind' is set: not an API object", Problem.NO_KIND)
