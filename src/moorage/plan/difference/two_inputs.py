"""Compare two inputs: apply the new one to the cluster that the old one gives, and delete what only the old one has.

So a plan of the old input goes on with the new one as with `kubectl apply --prune`: rolling updates, budgets, quotas
and immutable fields count, and pods of workloads that are the same in both stay where they are. Objects are compared
as admission completes them.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

import msgspec

from moorage.admit.raw import Raw
from moorage.lint.finding import Severity
from moorage.lint.report.form import counted
from moorage.lint.sources import Source
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.plan.departures import USER
from moorage.plan.input.inventory import Inventory, Item, Key, Note
from moorage.plan.input.reading import Reader
from moorage.plan.node_changes import ChangeError
from moorage.plan.simulation.simulation import Simulation

_MAX_DESCRIBED, _MAX_FIELDS, _MAX_SHOWN_FIELDS = 40, 200, 4
_MAX_VALUE = 60
#: Annotations that tools write, not the user.
_WRITTEN_BY_TOOLS = ("kubectl.kubernetes.io/", "deployment.kubernetes.io/", "deprecated.daemonset.template.")
_NOTHING = "(none)"


class Edit(StrEnum):
    """What becomes of an object."""

    REMOVED = "removed"
    ADDED = "added"
    CHANGED = "changed"


class FieldChange(msgspec.Struct, frozen=True):
    """One field that differs. Values are JSON; those that are not there are unset."""

    path: str
    old: object | msgspec.UnsetType = msgspec.UNSET
    new: object | msgspec.UnsetType = msgspec.UNSET

    def __str__(self) -> str:
        return f"{self.path} {_shown(self.old)} → {_shown(self.new)}"


class ObjectChange(msgspec.Struct, frozen=True):
    """One object that is not the same in both inputs."""

    kind: str
    namespace: str
    name: str
    change: Edit
    fields: tuple[FieldChange, ...] = ()

    def __str__(self) -> str:
        name = str(Key(self.kind, self.namespace, self.name))
        if self.change is not Edit.CHANGED:
            return f"{name} is {self.change.value}"
        shown = "; ".join(map(str, self.fields[:_MAX_SHOWN_FIELDS]))
        left_out = len(self.fields) - _MAX_SHOWN_FIELDS
        more = f"; {counted(left_out, 'other field')}" if left_out > 0 else ""
        return f"{name}: {shown}{more}"


class InputDiff:
    """The comparison of two inputs.

    `old_keys` are the objects that the old one has and the common input has not, `old_notes` the remarks about it,
    which do not concern the new one.
    """

    def __init__(
        self,
        old: str,
        new: str,
        old_keys: Iterable[Key] = (),
        old_notes: Iterable[Note] = (),
        *,
        allows_empty: bool = False,
    ) -> None:
        self.old, self.new = old, new
        self._old_notes = frozenset(old_notes)
        self.objects: list[ObjectChange] = []
        self._old_keys = tuple(old_keys)
        self._allows_empty = allows_empty

    def read(self, reader: Reader, sources: Iterable[Source], simulation: Simulation) -> None:
        """Read the new input, and delete from the cluster what only the old one has. Raises ChangeError."""
        inventory = reader.inventory
        inventory.notes = [note for note in inventory.notes if note not in self._old_notes]
        first = len(inventory.notes)
        inventory.rejected = 0  # the new input counts its own
        reader.read(sources)
        refuse_unreadable(inventory, first)
        if not reader.named and not self._allows_empty:
            raise ChangeError(f"{self.new} has no Kubernetes object; --allow-empty accepts it")
        removed = [key for key in self._old_keys if key not in reader.named and key in inventory.items]
        for key in removed:
            self.objects.append(ObjectChange(*key, Edit.REMOVED))
            _delete(simulation, inventory, inventory.items[key])
        self.objects += _edits(reader.changed, inventory)

    def described(self) -> Iterator[str]:
        yield f"{self.old} → {self.new}"
        if not self.objects:
            yield "the same objects in both"
        yield from map(str, self.objects[:_MAX_DESCRIBED])
        if (left_out := len(self.objects) - _MAX_DESCRIBED) > 0:
            yield counted(left_out, "other object")

    def data(self) -> Raw:
        """Return plain data, for JSON."""
        objects = msgspec.json.decode(msgspec.json.encode(self.objects))
        return {"old": self.old, "new": self.new, "objects": objects}


def refuse_unreadable(inventory: Inventory, first: int) -> None:
    """Raise ChangeError for the first of the notes from `first` on that says that something is not readable.

    What is not read would count as removed.
    """
    for note in inventory.notes[first:]:
        if note.level is Severity.ERROR and not note.object:
            raise ChangeError(f"nothing is compared, because an input is not read: {note}")


def _delete(simulation: Simulation, inventory: Inventory, item: Item) -> None:
    del inventory.items[item.key]
    if item.kind is KINDS.DEPLOYMENT:  # its pods go on being called by its name
        for replica_set in simulation.world.owned(KINDS.REPLICA_SET, item.view.metadata.uid):
            simulation.shown_owners[replica_set.uid] = item.key
    simulation.api.actor = USER
    try:
        simulation.api.delete(item.kind, item.key.name, item.key.namespace, propagation="Background")
    except ApiError as error:
        inventory.note(Severity.WARNING, item.key, f"is not deleted: {error.message}", item.place)
    finally:
        simulation.api.actor = ""


def _edits(changed: Mapping[Key, Item | None], inventory: Inventory) -> Iterator[ObjectChange]:
    for key, old in changed.items():
        new = inventory.items.get(key)
        if new is None:
            continue
        if old is None and inventory.is_live and not new.kind.read_by_plan:
            continue  # the cluster may have it: such kinds are not read from it
        if old is None:
            yield ObjectChange(*key, Edit.ADDED)
        elif fields := tuple(_fields(old.raw, new.raw)):
            yield ObjectChange(*key, Edit.CHANGED, fields[:_MAX_FIELDS])


def _fields(old: Raw, new: Raw) -> Iterator[FieldChange]:
    """Compare what users write of an object: everything but its status and what servers put into its metadata."""
    for name in dict.fromkeys((*old, *new)):
        if name == "metadata":
            for part in ("labels", "annotations"):
                yield from _compare(f"metadata.{part}", _written(old, part), _written(new, part))
        elif name != "status":
            yield from _compare(name, old.get(name), new.get(name))


def _written(raw: Raw, part: str) -> Raw:
    return {
        name: value
        for name, value in (raw["metadata"].get(part) or {}).items()
        if part == "labels" or not name.startswith(_WRITTEN_BY_TOOLS)
    }


def _compare(path: str, old: object, new: object) -> Iterator[FieldChange]:
    """Return the fields that differ, elements of lists by their name, if they have one."""
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys((*old, *new)):
            yield from _compare(f"{path}.{name}", old.get(name), new.get(name))
        return
    if isinstance(old, list) and isinstance(new, list):
        first, second = _by_name(old), _by_name(new)
        for name in dict.fromkeys((*first, *second)):
            yield from _compare(f"{path}[{name}]", first.get(name), second.get(name))
        return
    yield FieldChange(path, *(msgspec.UNSET if value is None else value for value in (old, new)))


def _by_name(values: list[object]) -> dict[object, object]:
    names = [value.get("name") if isinstance(value, dict) else None for value in values]
    if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
        return dict(zip(names, values, strict=True))
    return dict(enumerate(values))


def _shown(value: object) -> str:
    if value is msgspec.UNSET:
        return _NOTHING
    text = value if isinstance(value, str) and value else msgspec.json.encode(value).decode()
    return text if len(text) <= _MAX_VALUE else f"{text[: _MAX_VALUE - 1]}…"
