"""Hold objects of the input until all of it is known, with the places that complaints about them have."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from moorage.admit.admission import Rejected
from moorage.admit.kinds.api_server.custom_objects import CustomRules
from moorage.admit.raw import Raw
from moorage.lint.facts.custom_kinds import OwnLines
from moorage.lint.finding import SourcePlace
from moorage.lint.rules.decoding import rejections
from moorage.lint.subject import Complaint, PlacedComplaint, PodPart, Subject, place_in
from moorage.model.field_error import FieldError
from moorage.model.gates import all_gates
from moorage.model.kinds import Kind
from moorage.model.text.documents import Document


class HeldObject(NamedTuple):
    """An object that waits for the rest of the input, with the places that plugins may complain about."""

    raw: Raw
    kind: Kind
    view: Any
    pods: PodPart | None
    places: dict[str, SourcePlace]
    document: Document
    #: Why the object is refused without any plugin.
    refusals: tuple[PlacedComplaint, ...] = ()
    #: What an object of a custom kind is validated by.
    rules: CustomRules | None = None

    @property
    def namespace(self) -> str:
        return (self.view.metadata.namespace or "default") if self.kind.namespaced else ""

    @property
    def key(self) -> tuple[Kind, str, str]:
        return self.kind, self.namespace, self.view.metadata.name

    def place(self, plugin: str = "") -> SourcePlace:
        return self.places.get(plugin) or self.places[""]

    def place_of(self, path: str) -> SourcePlace:
        """Return where a field stands, or the nearest around it."""
        return place_in(self.document, self.kind, OwnLines(self.document), path)


def places_of(subject: Subject) -> dict[str, SourcePlace]:
    """Return the places of the fields that plugins look at, by the names of the plugins."""
    placed: dict[str, SourcePlace] = {}
    for path, plugins in paths_of_places(subject).items():
        place = subject.place(path)
        placed.update(dict.fromkeys(plugins, place))
    return placed


def paths_of_places(subject: Subject) -> dict[str, tuple[str, ...]]:
    """Return the paths of the fields that plugins look at, each with the names of the plugins."""
    pods = subject.pods
    if pods is None:
        return {"spec" if "spec" in subject.document.raw else "metadata": ("",)}
    path, spec = pods.spec_path, pods.spec
    paths: dict[str, tuple[str, ...]] = {f"{path}.containers": ("", "LimitRanger", "PodSecurity")}
    if spec.priorityClassName:
        paths[f"{path}.priorityClassName"] = ("Priority",)
    if spec.runtimeClassName:
        paths[f"{path}.runtimeClassName"] = ("RuntimeClassPlugin",)
    return paths


def placed_errors(held: HeldObject, errors: Iterable[FieldError], sources: Sequence[str]) -> Iterator[PlacedComplaint]:
    """Yield what is wrong with an object that policies have changed, each at the nearest field that is written."""
    hint = f"{' and '.join(sources)} changed the object before it was validated: see --show-mutations"
    for complaint in rejections(list(errors), all_gates(), held.raw):
        yield msgspec.structs.replace(complaint, hint=complaint.hint or hint), held.place_of(complaint.path)


def refusals_of(held: HeldObject, result: Rejected, sources: Sequence[str]) -> Iterator[PlacedComplaint]:
    """Yield why the API server refuses an object, in its words; `sources` are policies that have changed it before."""
    place = held.place(result.refused_by)
    if result.errors and sources:
        yield from placed_errors(held, result.errors, sources)
        return
    if result.errors:
        yield from ((complaint, place) for complaint in rejections(result.errors, all_gates(), held.raw))
        return
    rule = "limit-range-refuses" if result.refused_by == "LimitRanger" else "rejected"
    yield Complaint(rule, place.path, str(result.status["message"]), api_server=True), place
