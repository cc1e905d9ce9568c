"""Find claims, classes, slices, tolerations and taint rules of devices that do not go together, and constant selectors.

Only what the input has is compared: a class is missing if classes are given and it is not among them. Whether devices
satisfy a claim is decided by the allocator, with no device in use. Memory and time are bounded; beyond the bounds
nothing is reported. Kubernetes: accepts all of it, and checks only type and cost of a selector; the pods stay Pending.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from moorage.lint.catalogue import WARNING, Facts, Rule, Theme, check, collector
from moorage.lint.facts.claim_offers import DeviceOffers
from moorage.lint.facts.nearest_taint import how_to_match, nearest_taint, readable_taints
from moorage.lint.meant_words import did_you_mean
from moorage.lint.rules.compared_values import device_taints_in
from moorage.lint.subject import Complaint, Subject, claim_spec_of, device_requests
from moorage.match.cel.parse.syntax import Call, Ident, Literal, Node
from moorage.match.devices.eviction import tolerated_seconds
from moorage.match.devices.tolerations import as_taint, compile_device_toleration, compile_device_tolerations
from moorage.match.taint_messages import describe_taint
from moorage.model.gates import all_gates
from moorage.model.types.devices import DeviceToleration
from moorage.model.well_known.taints import NO_EXECUTE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.lint.finding import SourcePlace
    from moorage.lint.subject import PlacedComplaint, Subject
    from moorage.model.gates import GateSet
    from moorage.model.types.devices import DeviceTaint, ResourceClaimSpec

#: Bounds on what is kept; `_MAX_SECONDS` on looking at all tolerations, and on the search for devices for all claims.
_MAX_KEPT = 10_000
_MAX_TAINTS = 500
_MAX_SECONDS = 3.0
#: Whether a toleration matches is asked independently of the gates.
_ALL_GATES = all_gates()
_FIELDS = {"ResourceClaim": "resourceClaimName", "ResourceClaimTemplate": "resourceClaimTemplateName"}


class _Claim(msgspec.Struct, frozen=True):
    """A claim or template with the places that findings may name: of itself, its classes and its tolerations."""

    spec: ResourceClaimSpec
    place: SourcePlace
    allocated: bool
    classes: tuple[tuple[str, SourcePlace], ...]
    tolerations: tuple[tuple[tuple[DeviceToleration, ...], tuple[SourcePlace, ...]], ...]


@collector(
    Theme.DEVICES,
    Rule("device-class-missing", WARNING, "The claim names a DeviceClass that is not among those of the input."),
    Rule("device-claim-missing", WARNING, "The pods name a ResourceClaim or template that is not in the input."),
    Rule(
        "device-claim-unsatisfiable", WARNING, "No node has the devices that the claim asks for, in the given slices."
    ),
    Rule(
        "device-toleration-never-matches",
        WARNING,
        "No taint that the given slices and rules publish is tolerated by it.",
    ),
    Rule("device-toleration-evicts", WARNING, "The toleration lets a device be allocated from which pods are evicted."),
)
class DeviceFacts:
    """What the input says about devices."""

    def __init__(self, gates: GateSet) -> None:
        self._offers = DeviceOffers(gates)
        self._claims: dict[tuple[str, str, str], _Claim] = {}  # by kind, namespace and name
        self._references: dict[tuple[str, str, str], SourcePlace] = {}
        self._taints: dict[tuple[str, str, str], tuple[DeviceTaint, SourcePlace]] = {}

    def add(self, subject: Subject) -> None:
        self._offers.add(subject.kind, subject.view)
        for path, taint in device_taints_in(subject):
            if len(self._taints) < _MAX_TAINTS:
                key = (taint.key, taint.value, taint.effect)
                if key not in self._taints:
                    self._taints[key] = (taint, subject.place(path))
        if subject.pods is not None:
            self._add_references(subject)
        claim = claim_spec_of(subject.kind, subject.view)
        if claim is not None and len(self._claims) < _MAX_KEPT:
            self._add_claim(subject, *claim)

    def _add_references(self, subject: Subject) -> None:
        assert subject.pods is not None
        namespace = subject.view.metadata.namespace or "default"
        for index, entry in enumerate(subject.pods.spec.resourceClaims):
            for kind, field in _FIELDS.items():
                name = getattr(entry, field)
                key = (kind, namespace, name)
                if name and key not in self._references and len(self._references) < _MAX_KEPT:
                    path = f"{subject.pods.spec_path}.resourceClaims[{index}].{field}"
                    self._references[key] = subject.place(path)

    def _add_claim(self, subject: Subject, path: str, spec: ResourceClaimSpec) -> None:
        metadata = subject.view.metadata
        requests = list(device_requests(subject.kind, subject.view))
        self._claims[subject.kind, metadata.namespace or "default", metadata.name] = _Claim(
            spec,
            subject.place(f"{path}.devices.requests"),
            subject.kind == "ResourceClaim" and subject.view.status.allocation is not None,
            tuple(
                (request.deviceClassName, subject.place(f"{where}.deviceClassName"))
                for where, request in requests
                if request.deviceClassName
            ),
            tuple(
                (
                    tuple(request.tolerations),
                    tuple(subject.place(f"{where}.tolerations[{i}]") for i in range(len(request.tolerations))),
                )
                for where, request in requests
                if request.tolerations
            ),
        )

    def complaints(self, facts: Facts) -> Iterator[PlacedComplaint]:
        yield from self._missing_claims()
        yield from self._missing_classes()
        yield from self._tolerations()
        yield from self._unsatisfiable()

    def _missing_claims(self) -> Iterator[PlacedComplaint]:
        if not self._claims or len(self._claims) >= _MAX_KEPT:
            return
        for key, place in self._references.items():
            if key in self._claims:
                continue
            kind, namespace, name = key
            message = f'{kind} "{name}" is not among the claims and templates of the input in namespace {namespace}'
            yield Complaint("device-claim-missing", place.path, message, self._where_else(*key)), place

    def _where_else(self, kind: str, namespace: str, name: str) -> str:
        other = next(field for field in _FIELDS if field != kind)
        if (other, namespace, name) in self._claims:
            return f"{name} is a {other}: write {_FIELDS[other]}"
        elsewhere = sorted(key[1] for key in self._claims if key[0] == kind and key[2] == name)
        if elsewhere:
            return f"it is in namespace {elsewhere[0]}; pods use claims and templates of their own namespace only"
        return did_you_mean(name, [key[2] for key in self._claims if key[:2] == (kind, namespace)])

    def _missing_classes(self) -> Iterator[PlacedComplaint]:
        classes = self._offers.classes
        if not classes:
            return
        for claim in self._claims.values():
            for name, place in claim.classes:
                if name not in classes and not claim.allocated:
                    message = f'DeviceClass "{name}" is not in the input, which has {_some(sorted(classes))}'
                    hint = did_you_mean(name, classes)
                    yield Complaint("device-class-missing", place.path, message, hint), place

    def _tolerations(self) -> Iterator[PlacedComplaint]:
        if not self._taints or len(self._taints) >= _MAX_TAINTS:
            return
        until = time.monotonic() + _MAX_SECONDS
        never = lru_cache(maxsize=_MAX_KEPT)(self._never_matches)
        evicted = lru_cache(maxsize=_MAX_KEPT)(self._evicted)
        for claim in self._claims.values():
            for tolerations, places in claim.tolerations:
                if time.monotonic() > until:
                    return
                for toleration, place in zip(tolerations, places, strict=True):
                    if (verdict := never(toleration)) is not None:
                        yield Complaint("device-toleration-never-matches", place.path, *verdict), place
                if (eviction := evicted(tolerations)) is not None:
                    index, message = eviction
                    hint = "write effect: NoExecute, in a toleration of its own if NoSchedule is meant too"
                    yield Complaint("device-toleration-evicts", places[index].path, message, hint), places[index]

    def _never_matches(self, toleration: DeviceToleration) -> tuple[str, str] | None:
        """Return message and hint for a toleration that matches no taint of the input."""
        matcher = compile_device_toleration(toleration, _ALL_GATES)
        if matcher.never is not None or any(matcher.match(as_taint(taint)) for taint, _ in self._taints.values()):
            return None
        of_key = [as_taint(taint) for taint, _ in self._taints.values() if taint.key == toleration.key]
        message = "no taint that the slices and rules of the input publish matches this toleration"
        if of_key and not toleration.expression:
            readable = readable_taints(matcher.toleration, of_key)
            nearest = nearest_taint(matcher.toleration, readable) if readable else of_key[0]
            more = f" (and {len(of_key) - 1} more taints of this key)" if len(of_key) > 1 else ""
            hint = how_to_match(matcher.toleration, nearest, of_key) if readable else ""
            return f"{message}: {matcher.explain(nearest)}{more}", hint
        keys = sorted({taint.key for taint, _ in self._taints.values()})
        hint = "" if toleration.expression else did_you_mean(toleration.key, keys)
        described = _some([describe_taint(as_taint(taint)) for taint, _ in self._taints.values()])
        return f"{message}: the input has {described}", hint

    def _evicted(self, tolerations: tuple[DeviceToleration, ...]) -> tuple[int, str] | None:
        """Return a toleration that lets a device be allocated whose taint evicts the pod at once."""
        compiled = compile_device_tolerations(tolerations, _ALL_GATES)
        for taint, place in self._taints.values():
            if taint.effect != NO_EXECUTE or not compiled.tolerates(taint) or tolerated_seconds(taint, compiled) != 0:
                continue
            matching = compiled.matching(taint)
            if any(one.effect == NO_EXECUTE for one in matching):
                continue  # tolerationSeconds: 0 says so
            listed = [matcher.toleration for matcher in compiled.tolerations.matchers]
            message = (
                f"a device with the taint {describe_taint(as_taint(taint))}:NoExecute ({place.described}) is "
                "allocated, and its pods are evicted at once: eviction counts only tolerations that name the effect "
                "NoExecute"
            )
            return listed.index(matching[0]), message
        return None

    def _unsatisfiable(self) -> Iterator[PlacedComplaint]:
        until = time.monotonic() + _MAX_SECONDS
        for (_, namespace, name), claim in self._claims.items():
            if claim.allocated or not claim.spec.devices.requests:
                continue
            why = self._offers.why_unsatisfiable(claim.spec, f"{namespace}/{name}", until)
            if why:
                message = f"no node has devices for it in the slices of the input: {why}"
                yield Complaint("device-claim-unsatisfiable", claim.place.path, message), claim.place


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.model.gates import GateSet
    from moorage.model.types.devices import DeviceSelector

_DEVICE = "device"
_LONGEST = 10 * 1024


def selectors_in(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield every selector of a class, a claim or a template, with its path."""
    if subject.kind == "DeviceClass":
        yield from _listed(subject.view.spec.selectors, "spec")
    for path, request in device_requests(subject.kind, subject.view):
        yield from _listed(request.selectors, path)


def _listed(selectors: tuple[DeviceSelector, ...], path: str) -> Iterator[tuple[str, str]]:
    for index, selector in enumerate(selectors):
        if selector.cel is not None:
            yield f"{path}.selectors[{index}].cel.expression", selector.cel.expression


@check(
    Theme.DEVICES,
    Rule("device-taint-rule-unselective", WARNING, "Without a deviceSelector the rule taints every device."),
)
def check_taint_rule(subject: Subject, facts: Facts, refusals: frozenset[str]) -> Iterator[Complaint]:
    """Report a DeviceTaintRule without a selector, which taints all devices although it is documented to taint none."""
    if subject.kind == "DeviceTaintRule" and subject.view.spec.deviceSelector is None:
        evicts = " and evicts no pod" if subject.view.spec.taint.effect == NO_EXECUTE else ""
        yield Complaint(
            "device-taint-rule-unselective",
            "spec.deviceSelector",
            f"without a deviceSelector the scheduler sees this taint on every device of the cluster{evicts}, although "
            "the API's documentation says that no device matches",
            "name the devices by driver, pool or device; write deviceSelector: {} if all are meant",
        )


@check(
    Theme.DEVICES,
    Rule("device-selector-constant", WARNING, "The selector has the same answer for every device."),
)
def check_selectors(subject: Subject, facts: Facts, refusals: frozenset[str]) -> Iterator[Complaint]:
    for path, expression in selectors_in(subject):
        verdict = _verdict(expression, facts.gates)
        if verdict is not None:
            yield Complaint("device-selector-constant", path, *verdict)


@lru_cache(maxsize=512)
def _verdict(expression: str, gates: GateSet) -> tuple[str, str] | None:
    """Return message and hint for a selector with one answer for all devices."""
    from moorage.lint.facts.expression_reading import nodes_of
    from moorage.match.cel.parse.parser import parse
    from moorage.match.cel.parse.syntax import Source
    from moorage.match.devices.selector import DeviceSelector as CompiledSelector
    from moorage.match.devices.selector import compile_device_selector

    if len(expression) > _LONGEST:
        return None
    compiled = compile_device_selector(expression, gates)
    root = parse(Source(expression))
    if not isinstance(compiled, CompiledSelector) or isinstance(root, list):
        return None
    if any(isinstance(node, Ident) and node.name == _DEVICE for node in nodes_of(root)):
        answer = _fixed(root)
        if answer is None:
            return None
        return _said(f"the selector is {str(answer).lower()} whatever the device is", answer)
    answer, failure = _evaluated(compiled)
    if failure:
        message = f"the selector does not look at the device, and fails every time: {failure}"
        return message, "such a failure ends the search for devices: compare device.driver, attributes or capacity"
    return _said(f"the selector does not look at the device: it is always {str(answer).lower()}", answer)


def _said(message: str, answer: bool) -> tuple[str, str]:
    if answer:
        return (
            f"{message}, so it excludes no device",
            "compare device.driver, device.attributes or device.capacity, or remove the selector",
        )
    return f"{message}, so no device matches", "compare device.driver, device.attributes or device.capacity"


def _evaluated(selector: object) -> tuple[bool, str]:
    from moorage.match.cel import CelError
    from moorage.match.devices.description import DeviceDescription
    from moorage.match.devices.selector import DeviceSelector as CompiledSelector

    assert isinstance(selector, CompiledSelector)
    try:
        return selector.matches(DeviceDescription("driver.example.com", False, (), ())), ""
    except CelError as error:
        return False, str(error)


def _fixed(node: Node) -> bool | None:
    """Return the answer if the constants of `&&`, `||` and `!` decide it."""
    if isinstance(node, Literal):
        return node.value if isinstance(node.value, bool) else None
    if not isinstance(node, Call):
        return None
    if node.function == "!_":
        inner = _fixed(node.args[0])
        return None if inner is None else not inner
    if node.function in ("_&&_", "_||_"):
        decides = node.function == "_||_"
        answers = [_fixed(part) for part in node.args]
        if decides in answers:
            return decides
        return None if None in answers else not decides
    return None
