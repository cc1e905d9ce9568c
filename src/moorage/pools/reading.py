"""Read pools from files: NodePools and NodeOverlays, NodeGroups, groups of a cloud, instance types, CapacityBuffers.

Objects of other kinds are passed over, so that a whole repository can be given. Everything is read before pools are
made, so that the order of files does not matter. What is wrong is a `PoolProblem` with its place; the rest is used.
Kubernetes: what Karpenter and Cluster Autoscaler read from their clusters and clouds.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple, TypeVar

import msgspec

from moorage.model.field_error import FieldError, child_path
from moorage.model.schema.conversion import ConversionError, TypeProblem, convert_view
from moorage.model.text.decode_error import Problem
from moorage.model.text.documents import Document, read_documents
from moorage.model.types.view import View
from moorage.pools.buffers import read_buffer
from moorage.pools.documents import (
    AutoScalingGroup,
    CapacityBuffer,
    CloudGroups,
    InstanceTypeView,
    NodeGroup,
    NodeOverlay,
    NodePool,
)
from moorage.pools.instance_types import InstanceTypes, is_instance_types
from moorage.pools.node_groups import GroupMaker
from moorage.pools.node_pools import PoolMaker
from moorage.pools.node_template import Buffer, Pool, Raw, WrittenAt
from moorage.pools.overlays import Overlay, overlaid, read_overlay

#: A file may have this many bytes; a list of all instance types of a cloud has some ten million.
MAX_BYTES = 64 * 1024 * 1024
MAX_PROBLEMS = 1_000
MAX_POOLS = 1_000

KARPENTER_GROUP = "karpenter.sh"
BUFFER_GROUP = "autoscaling.x-k8s.io"
OUR_GROUP = "capacity.moorage.dev"
#: The kinds that are read, by their group: the versions that are known, and the view.
KINDS: Mapping[tuple[str, str], tuple[tuple[str, ...], type[View]]] = {
    (KARPENTER_GROUP, "NodePool"): (("v1",), NodePool),
    (KARPENTER_GROUP, "NodeOverlay"): (("v1alpha1",), NodeOverlay),
    (OUR_GROUP, "NodeGroup"): (("v1",), NodeGroup),
    (BUFFER_GROUP, "CapacityBuffer"): (("v1alpha1", "v1beta1"), CapacityBuffer),
}
#: Documents that are no objects: those of other programs, and others that a repository may hold.
_NO_OBJECT = frozenset({Problem.NO_KIND})
_PASSED_OVER = _NO_OBJECT | {Problem.NOT_AN_OBJECT}
#: Why nothing is known of a document.
_UNREADABLE = frozenset({Problem.UNREADABLE, Problem.BINARY, Problem.SYNTAX, Problem.LIMIT})
_AnyView = TypeVar("_AnyView", bound=View)


class PoolProblem(NamedTuple):
    """Why something cannot be used: its file and line, what it is, and the reason, which begins with a path.

    `is_unreadable`: it is a file that cannot be read at all, or a document in it.
    """

    place: WrittenAt
    subject: str
    reason: str
    is_unreadable: bool = False

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.place), self.subject, self.reason) if part)


class Pools(msgspec.Struct):
    """Everything that was read. `notes` are what users may not expect of pools that can be used.

    `templates` are the PodTemplates beside them, by namespace and name: CapacityBuffers may be about them.
    """

    pools: list[Pool] = []
    buffers: list[Buffer] = []
    templates: dict[str, Raw] = {}
    problems: list[PoolProblem] = []
    notes: list[str] = []

    @property
    def by_name(self) -> dict[str, Pool]:
        return {pool.name: pool for pool in self.pools}

    @property
    def unreadable(self) -> int:
        """How many files or documents could not be read."""
        return sum(problem.is_unreadable for problem in self.problems)


def is_pool_kind(raw: Mapping[str, Any]) -> bool:
    """Whether a document is of a kind that is read here."""
    kind = raw.get("kind")
    return isinstance(kind, str) and (_group(raw.get("apiVersion")), kind) in KINDS


class PoolReader:
    """Reads streams; `finish` makes the pools."""

    def __init__(self) -> None:
        self._read = Pools(pools=[], buffers=[], templates={}, problems=[], notes=[])
        self._types = InstanceTypes()
        self._overlays: list[Overlay] = []
        self._waiting: list[Callable[[], None]] = []
        self._names: dict[str, WrittenAt] = {}
        self._seen: set[tuple[str, str, str]] = set()

    def read(self, stream: BinaryIO, source: str, *, is_named: bool = True) -> None:
        """Read one file; one that is not named, but found in a directory, may be about something else.

        Raises OSError.
        """
        content = _all_of(stream)
        if len(content) > MAX_BYTES:
            self.cannot_read(source, f"the file has more than {MAX_BYTES // 2**20} MiB")
            return
        begin = content[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        if begin == b"[" or (begin == b"{" and b'"AutoScalingGroups"' in content):
            self._read_json(content, source, is_named=is_named)
            return
        for document in read_documents(BytesIO(content), source):
            if isinstance(document, Document):
                self.add(document)
            elif document.problem not in (_NO_OBJECT if is_named else _PASSED_OVER):
                is_unreadable = document.problem in _UNREADABLE
                self._problem(WrittenAt(document.source, document.line), "", document.reason, is_unreadable)

    def cannot_read(self, source: str, reason: str) -> None:
        """Note that a file cannot be read."""
        self._problem(WrittenAt(source, 0), "", reason, True)

    def add(self, document: Document) -> None:
        """Take an object, if it is of a kind that is read here."""
        raw = document.raw
        group, kind = _group(raw.get("apiVersion")), raw.get("kind")
        known = KINDS.get((group, kind)) if isinstance(kind, str) else None
        if known is None:
            if raw.get("apiVersion") == "v1" and kind == "PodTemplate" and _name(raw):
                self._read.templates[f"{_name(raw, 'namespace') or 'default'}/{_name(raw)}"] = raw
            return
        versions, view_type = known
        named = _Subject(self, document, f"{kind} {_name(raw)}")
        self._seen.add(_identity(raw))
        if raw["apiVersion"].rpartition("/")[2] not in versions:
            named.complain(f"apiVersion: {raw['apiVersion']} is not read; {group}/{versions[0]} is")
            return
        try:
            view = convert_view(raw, view_type)
        except ConversionError as error:
            named.complain_of_types(error.problems)
            return
        self._take(view, named)

    def has_seen(self, raw: Mapping[str, Any]) -> bool:
        """Whether an object of this kind, namespace and name was read already."""
        return _identity(raw) in self._seen

    def _take(self, view: View, named: "_Subject") -> None:
        if isinstance(view, NodeOverlay):
            overlay, errors = read_overlay(view)
            named.complain_of(errors)
            if overlay is not None:
                self._overlays.append(overlay)
        elif isinstance(view, CapacityBuffer):
            buffer, errors = read_buffer(view, named.place)
            named.complain_of(errors)
            if buffer is not None:
                self._read.buffers.append(buffer)
        elif isinstance(view, NodePool | NodeGroup) and self._is_new(view.metadata.name, named):
            self._waiting.append(partial(self._make, view, named))

    def _is_new(self, name: str, named: "_Subject") -> bool:
        if not name:
            named.complain("metadata.name: Required value")
        elif name in self._names:
            named.complain(
                f'metadata.name: Duplicate value: "{name}": there is a pool of this name at {self._names[name]}'
            )
        elif len(self._names) >= MAX_POOLS:
            named.complain(f"there are more than {MAX_POOLS:,} pools")
        else:
            self._names[name] = named.place
            return True
        return False

    def _make(self, view: NodePool | NodeGroup, named: "_Subject") -> None:
        if isinstance(view, NodePool):
            maker = PoolMaker(self._types)
            pool, errors = maker.make(view, named.place)
            self._read.notes += maker.notes
        else:
            pool, errors = GroupMaker(self._types).make(view, named.place)
        named.complain_of(errors)
        if pool is not None:
            self._read.pools.append(overlaid(pool, self._overlays))

    # -- JSON that is no API object -----------------------------------------------------------------------------------

    def _read_json(self, content: bytes, source: str, *, is_named: bool) -> None:
        place = WrittenAt(source, 0)
        try:
            value = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"))
        except (msgspec.DecodeError, RecursionError) as error:
            self.cannot_read(source, f"not JSON: {error}")
            return
        if is_instance_types(value):
            self._read_types(value, place)
        elif isinstance(value, dict) and isinstance(value.get("AutoScalingGroups"), list):
            self._read_cloud(value, place)
        elif value and is_named:
            text = "neither a list of instance types (each with name, resources and offerings) nor AutoScalingGroups"
            self._problem(place, "", text)

    def _read_types(self, values: Sequence[Any], place: WrittenAt) -> None:
        for index, value in enumerate(values):
            path = f"[{index}]"
            view = self._converted(value, InstanceTypeView, place, path)
            if view is not None:
                subject = f"instance type {view.name}".strip()
                for error in self._types.add(view, path):
                    self._problem(place, subject, str(error))
            if len(self._read.problems) >= MAX_PROBLEMS:
                return

    def _read_cloud(self, value: dict[str, Any], place: WrittenAt) -> None:
        groups = self._converted(value, CloudGroups, place, "")
        for index, each in enumerate(groups.AutoScalingGroups if groups else ()):
            self._waiting.append(partial(self._make_of_cloud, each, index, place))

    def _make_of_cloud(self, view: AutoScalingGroup, index: int, place: WrittenAt) -> None:
        path, name = f"AutoScalingGroups[{index}]", view.AutoScalingGroupName
        subject = f"AutoScalingGroup {name}".strip()
        if name in self._names or len(self._names) >= MAX_POOLS:
            self._problem(place, subject, f"{path}.AutoScalingGroupName: a pool of this name is there already")
            return
        self._names[name] = place
        pool, errors = GroupMaker(self._types).make_of_cloud(view, path, place)
        for error in errors:
            self._problem(place, subject, str(error))
        if pool is not None:
            self._read.pools.append(overlaid(pool, self._overlays))

    def _converted(self, raw: Any, view: type[_AnyView], place: WrittenAt, path: str) -> _AnyView | None:
        try:
            return convert_view(raw, view)
        except ConversionError as error:
            for problem in error.problems[:MAX_PROBLEMS]:
                at = child_path(path, problem.path) if problem.path else path
                self._problem(place, "", f"{at}: {problem.reason}")
            return None

    def _problem(self, place: WrittenAt, subject: str, reason: str, is_unreadable: bool = False) -> None:
        if len(self._read.problems) < MAX_PROBLEMS:
            self._read.problems.append(PoolProblem(place, subject, reason, is_unreadable))

    def finish(self) -> Pools:
        """Return everything that was read."""
        for make in self._waiting:
            make()
        self._waiting.clear()
        return self._read


class _Subject:
    """An object of the input, about which there may be complaints."""

    def __init__(self, reader: PoolReader, document: Document, subject: str) -> None:
        self._reader, self._document, self._subject = reader, document, subject.strip()

    @property
    def place(self) -> WrittenAt:
        return WrittenAt(self._document.source, self._document.line)

    def complain(self, reason: str, path: str = "") -> None:
        place = WrittenAt(self._document.source, self._document.location(path).line)
        self._reader._problem(place, self._subject, reason)

    def complain_of(self, errors: Iterable[FieldError]) -> None:
        for error in errors:
            self.complain(str(error), error.path)

    def complain_of_types(self, problems: Iterable[TypeProblem]) -> None:
        for problem in problems:
            self.complain(f"{problem.path}: {problem.reason}", problem.path)


def read_pools(sources: Iterable[tuple[str, Callable[[], BinaryIO]]]) -> Pools:
    """Read named sources; one that cannot be opened is a problem."""
    reader = PoolReader()
    for name, opened in sources:
        try:
            with opened() as stream:
                reader.read(stream, name)
        except OSError as error:
            reader.cannot_read(name, error.strerror or str(error))
    return reader.finish()


def _all_of(stream: BinaryIO) -> bytes:
    """Read up to the limit and one byte more; a file that is not buffered may give it in parts."""
    parts, left = [], MAX_BYTES + 1
    while left > 0 and (part := stream.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _group(version: Any) -> str:
    return version.rpartition("/")[0] if isinstance(version, str) else ""


def _name(raw: Mapping[str, Any], field: str = "name") -> str:
    metadata = raw.get("metadata")
    name = metadata.get(field) if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _identity(raw: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(raw.get("kind")), _name(raw, "namespace"), _name(raw)
