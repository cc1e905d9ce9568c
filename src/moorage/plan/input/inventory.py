"""The admitted objects of the input, in its order, each with its place, and the notes about them."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from moorage.admit.extension.remarks import Change, NotCalled
from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.raw import Raw
from moorage.client.protocol import Template
from moorage.lint.finding import Severity
from moorage.lint.input_contents import InputContents
from moorage.lint.policies.offline_extensions import CallWebhooks, LeftOut
from moorage.lint.policies.parameters import Parameters
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS, CustomKind, Kind
from moorage.model.text.documents import Document
from moorage.model.text.positions import Location
from moorage.model.types.core import ServiceAccount
from moorage.pools.reading import Pools


class Place:
    """Where an object stands; objects of a live cluster have no source. The line is looked up on demand."""

    __slots__ = ("_start", "source")

    def __init__(self, source: str = "", start: Callable[[], Location] | None = None) -> None:
        self.source = source
        self._start = start

    @property
    def line(self) -> int:
        return self._start().line if self._start is not None else 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source

    @property
    def at(self) -> str:
        """The place as part of a sentence."""
        return f"at {self}" if self.source else "in the cluster"


NOWHERE = Place()
#: How the message begins if a source cannot be read.
UNREADABLE = "cannot be read: "
#: Messages that begin with one of these words go on where the object's name ends; all others are sentences.
_PREDICATES = frozenset({"and", "as", "asks", "has", "is", "names", "owns", "stands", "uses", "was"})


class Note(msgspec.Struct, frozen=True):
    """One remark about an object of the input."""

    level: Severity
    object: str
    message: str
    file: str = ""
    line: int = 0
    hint: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def sentence(self) -> str:
        """The object and the message as one sentence, without the object where the message names it."""
        subject, message = self.object, self.message
        if not subject or f'"{subject.rpartition("/")[2]}"' in message:
            return message
        return f"{subject} {message}" if message.partition(" ")[0] in _PREDICATES else f"{subject}: {message}"

    def __str__(self) -> str:
        text = self.message.removeprefix(UNREADABLE)
        said = f"{text} (hint: {self.hint})" if self.hint else text
        return ": ".join(part for part in (self.where, self.object, said) if part)


def note_at(level: Severity, subject: str, message: str, place: Place) -> Note:
    return Note(level, subject, message, place.source, place.line)


class Key(NamedTuple):
    """An object's kind, namespace (empty for kinds that have none) and name."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def key_in_inventory(kind: Kind, namespace: str, name: str) -> Key:
    """Return the key of an object. Custom kinds of several groups may share a name, so theirs has the group."""
    word = f"{kind.name}.{kind.group}" if isinstance(kind, CustomKind) else kind.name
    return Key(word, namespace if kind.namespaced else "", name)


def metadata_text(raw: Raw, name: str) -> str:
    """Return a text in the metadata of a document; empty if it is not there, or no text."""
    metadata = raw.get("metadata")
    value = metadata.get(name) if isinstance(metadata, dict) else None
    return value if isinstance(value, str) else ""


def kind_words(*kinds: str) -> dict[str, str]:
    """Return the words by which kubectl knows these kinds: `deployment`, `deployments`, `deploy`, `deployment.apps`.

    All kinds there are, if none is named.
    """
    words: dict[str, str] = {}
    for kind in KINDS.values():
        if not kinds or kind.name in kinds:
            plain = (kind.singular, kind.plural, *kind.short_names)
            ends = (f".{kind.group}", f".{kind.version}.{kind.group}") if kind.group else ()
            words |= dict.fromkeys((*plain, *(f"{word}{end}" for word in plain for end in ends)), kind.name)
    return words


def severity_of(missing: Kind) -> Severity:
    """Return how grave it is that an object of this kind was only assumed: accounts change nothing in a plan."""
    return Severity.INFO if missing is KINDS.SERVICE_ACCOUNT else Severity.WARNING


class Item(msgspec.Struct):
    """One object as it would be stored, its view, and where it stands. `existing`: a server has made it already.

    `lowered` is what a cluster has of an object that was read back as its user wrote it.
    """

    key: Key
    kind: Kind
    raw: Raw
    view: Any
    existing: bool
    place: Place
    template: Template | None = None
    lowered: Raw | None = None


class AttachedObjects:
    """How many objects were read back as their users wrote them, and which are taken as they are written, and why."""

    def __init__(self) -> None:
        self.read_back = 0
        self.as_written: dict[str, dict[Key, Place]] = {}
        self.noted: set[str] = set()


class Inventory:
    """The objects of the input by key, and the notes about them."""

    def __init__(self, gates: GateSet, namespace: str = "default") -> None:
        """`namespace` is that of objects that do not name theirs."""
        self.gates, self.namespace = gates, namespace
        self.items: dict[Key, Item] = {}
        self.custom: dict[Key, Item] = {}  # custom objects, which no pod depends on
        self.notes: list[Note] = []
        self.assumed: set[tuple[Kind, str]] = set()  # objects that are not there and were taken to exist, as was noted
        self.accounts: dict[str, ServiceAccount] = {}  # by namespace/name: pods may name others, which is noted
        self.passed_over: dict[str, int] = {}
        self.sources = 0
        self.contents = InputContents()
        self.unreadable = 0
        self.rejected = 0
        self.not_called: Counter[NotCalled] = Counter()  # webhooks that a cluster would have called while it was read
        self.changes: dict[Key, dict[str, Change]] = {}  # what policies and webhooks changed then, by their names
        self.left_out: dict[LeftOut, None] = {}  # policies that were not applied then
        self.parameters = Parameters()  # objects that no pod depends on, and that policies may look up
        self.pool_documents: list[Document] = []  # of autoscalers' pools, which `plan.pools.reading` reads
        self.attached = AttachedObjects()
        self.pools: Pools | None = None  # those of --pools, with those documents
        self.awaited = Parameters()  # those that wait until what they are admitted by is here
        self.call_webhooks: CallWebhooks | None = None  # without it webhooks are only counted
        self.is_live = False  # all objects of a cluster are there
        self.whole_kinds: frozenset[str] = frozenset()  # those of which that is so; all, if it is empty
        self.read_at = 0.0  # when they were read from it

    @property
    def whole(self) -> str:
        return "cluster" if self.is_live else "input"

    def has_all(self, kind: str) -> bool:
        """Return whether what is not here of a kind does not exist."""
        return self.is_live and (not self.whole_kinds or kind in self.whole_kinds)

    def of_kind(self, *kinds: str) -> Iterator[Item]:
        return (item for item in self.items.values() if item.key.kind in kinds)

    def note(self, level: Severity, subject: object, message: str, place: Place) -> None:
        self.notes.append(note_at(level, str(subject), message, place))

    def reject(self, subject: object, message: str, place: Place) -> None:
        """Note why an object is left out of the plan."""
        self.rejected += 1
        self.note(Severity.ERROR, subject, message, place)

    def world(self) -> ObjectsWorld:
        """Return what admission looks up among these objects; what they do not have is assumed, unless all are here."""
        views = ((item.kind, item.view) for item in self.items.values())
        return ObjectsWorld.of(views, is_complete=self.is_live)

    def copy(self, *, with_notes: bool = False) -> "Inventory":
        """Return an inventory with the same objects, and without notes and counts unless these are wanted."""
        made = Inventory(self.gates, self.namespace)
        made.items = dict(self.items)
        made.custom = dict(self.custom)
        made.assumed = set(self.assumed)
        made.accounts = dict(self.accounts)
        made.parameters = self.parameters.copy()
        made.pool_documents, made.pools = list(self.pool_documents), self.pools
        made.not_called, made.left_out = Counter(self.not_called), dict(self.left_out)
        made.changes = dict(self.changes)
        made.attached = self.attached
        made.is_live, made.read_at, made.whole_kinds = self.is_live, self.read_at, self.whole_kinds
        if with_notes:
            made.notes, made.rejected, made.unreadable = list(self.notes), self.rejected, self.unreadable
        return made
