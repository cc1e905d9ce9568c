"""Collect the values on nodes and the comparisons on pods, and find the values that no comparison can read.

Memory is bounded by distinct values, not by objects: five thousand nodes have a dozen distinct taints. What exceeds the
limits below is left out.
Versions such as `5.15.0-91-generic`, `1.30.5-gke.1014001` and `1.29.0-eks-5e0fdde` are builds after the release, yet
parse as pre-releases (KEP-5721) and sort below it: `> 5.15.0-91-generic` does not mean what it says.
Kubernetes: blang/semver, which follows semver.org; the scheduler logs a value that cannot be compared, pod by pod.
"""

import re
from collections.abc import Iterator

import msgspec

from moorage.lint.catalogue import WARNING, Facts, Rule, Theme, check, collector
from moorage.lint.finding import SourcePlace
from moorage.lint.subject import Complaint, PlacedComplaint, Subject, node_requirements, toleration_lists
from moorage.match.comparison import CANONICAL_INTEGER, VERSION, Comparison
from moorage.match.operators import BY_NAME, NODE_SELECTOR, TOLERATION, OperatorPlace, comparison_of
from moorage.match.semver import Version, version_or_none
from moorage.model.gates import GateSet
from moorage.model.types.devices import DeviceTaint
from moorage.model.types.node import Taint

_MAX_VALUES_PER_KEY = 200
_MAX_KEYS = 5_000
_COMPARING_KINDS = ("PersistentVolume", "ResourceClaim", "ResourceClaimTemplate")
NODE_TAINT, DEVICE_TAINT, LABEL = "taint", "device-taint", "label"
_SHOWN = {NODE_TAINT: "taint", DEVICE_TAINT: "device taint", LABEL: "label"}
_RULES = {NODE_TAINT: "taint-not-comparable", DEVICE_TAINT: "taint-not-comparable", LABEL: "label-not-comparable"}


class _Comparison(msgspec.Struct, frozen=True):
    """A toleration or node affinity that reads the values of a key as numbers or versions."""

    operator: str
    value: str
    effect: str
    place: SourcePlace
    comparison: Comparison


class NodeValue(msgspec.Struct):
    """The value of a taint, or of a label that a comparison may fail on: its first place, and how many more have it."""

    value: str
    effect: str
    place: SourcePlace
    others: int = 0


@collector(
    Theme.VALUES,
    Rule("taint-not-comparable", WARNING, "A toleration compares this taint's value, which is no number or version."),
    Rule(
        "label-not-comparable", WARNING, "A node affinity compares this label's value, which is no number or version."
    ),
)
class ComparedValues:
    """Both sides of every comparison in the input: where the value is, then key, then the distinct facts."""

    def __init__(self, gates: GateSet) -> None:
        self._comparisons: dict[tuple[str, str], dict[tuple[str, str, str], _Comparison]] = {}
        self._values: dict[tuple[str, str], dict[tuple[str, str], NodeValue]] = {}

    def add(self, subject: Subject) -> None:
        if subject.kind == "Node":
            self._add_node(subject)
            return
        for path, taint in device_taints_in(subject):
            self._add_value(subject, DEVICE_TAINT, taint.key, taint.value, taint.effect, f"{path}.value")
        for listed in toleration_lists(subject):
            where = DEVICE_TAINT if listed.of_devices else NODE_TAINT
            for index, toleration in enumerate(listed.tolerations):
                if comparison_of(toleration.operator, TOLERATION) is not None:
                    wanted = (toleration.operator, toleration.value, toleration.effect)
                    self._add_comparison(subject, where, toleration.key, wanted, f"{listed.path}[{index}]")
        for path, requirement in node_requirements(subject.kind, subject.view, subject.pods):
            if comparison_of(requirement.operator, NODE_SELECTOR) is not None and len(requirement.values) == 1:
                self._add_comparison(
                    subject, LABEL, requirement.key, (requirement.operator, requirement.values[0], ""), path
                )

    def _add_comparison(self, subject: Subject, where: str, key: str, wanted: tuple[str, str, str], path: str) -> None:
        known = self._comparisons.get((where, key))
        if known is None:
            if not key or len(self._comparisons) >= _MAX_KEYS:
                return
            known = self._comparisons[where, key] = {}
        comparison = comparison_of(wanted[0], NODE_SELECTOR if where == LABEL else TOLERATION)
        if comparison is None or wanted in known or len(known) >= _MAX_VALUES_PER_KEY:
            return
        if comparison.unreadable(wanted[1]) is None:  # else the API server reports it
            known[wanted] = _Comparison(*wanted, subject.place(path), comparison)

    def _add_node(self, subject: Subject) -> None:
        for index, taint in enumerate(subject.view.spec.taints):
            self._add_value(subject, NODE_TAINT, taint.key, taint.value, taint.effect, f"spec.taints[{index}].value")
        for key, value in subject.view.metadata.labels.items():
            if _suspicious(value):
                self._add_value(subject, LABEL, key, value, "", f"metadata.labels[{key}]")

    def _add_value(self, subject: Subject, where: str, key: str, value: str, effect: str, path: str) -> None:
        if len(self._values) >= _MAX_KEYS and (where, key) not in self._values:
            return
        known = self._values.setdefault((where, key), {})
        if fact := known.get((value, effect)):
            fact.others += 1
        elif len(known) < _MAX_VALUES_PER_KEY:
            known[value, effect] = NodeValue(value, effect, subject.place(path))

    def taints(self, wanted: str) -> Iterator[tuple[str, NodeValue]]:
        for (where, key), known in self._values.items():
            if where == wanted:
                yield from ((key, fact) for fact in known.values())

    def taints_by_key(self, wanted: str) -> dict[str, list[Taint]]:
        """Return the distinct taints of each key, without keys that have too many to know them all."""
        return {
            key: [Taint(key, fact.value, fact.effect) for fact in known.values()]
            for (where, key), known in self._values.items()
            if where == wanted and len(known) < _MAX_VALUES_PER_KEY
        }

    def complaints(self, facts: Facts) -> Iterator[PlacedComplaint]:
        for (where, key), comparisons in self._comparisons.items():
            for fact in self._values.get((where, key), {}).values():
                concerned = [
                    comparison for comparison in comparisons.values() if comparison.effect in ("", fact.effect)
                ]
                yield from _not_comparable(where, fact, concerned)
                yield from _prereleases(where, fact, concerned)


def device_taints_in(subject: Subject) -> Iterator[tuple[str, DeviceTaint]]:
    """Yield the taints that a ResourceSlice or a DeviceTaintRule publishes, with their paths."""
    if subject.kind == "ResourceSlice":
        for number, device in enumerate(subject.view.spec.devices):
            for index, taint in enumerate(device.taints):
                yield f"spec.devices[{number}].taints[{index}]", taint
    elif subject.kind == "DeviceTaintRule":
        yield "spec.taint", subject.view.spec.taint


def _suspicious(value: str) -> bool:
    """Return whether some comparison may fail on the value; plain numbers and releases need not be remembered."""
    if value.isascii() and value.isdigit() and len(value) < 19 and (value[0] != "0" or value == "0"):
        return False
    version = version_or_none(value)
    return True if version is None else (bool(version.pre) or CANONICAL_INTEGER.unreadable(value) is not None)


def _not_comparable(where: str, fact: NodeValue, comparisons: list[_Comparison]) -> Iterator[PlacedComplaint]:
    """Yield one complaint for each kind of values, numbers first, naming the first comparison that reads them."""
    by_noun: dict[str, list[_Comparison]] = {}
    for comparison in comparisons:
        by_noun.setdefault(comparison.comparison.kind.noun, []).append(comparison)
    for noun, asking in sorted(by_noun.items()):
        first = asking[0]
        complaint = first.comparison.unreadable(fact.value)
        if complaint is None:
            continue
        what = "node affinity" if where == LABEL else "toleration"
        yield placed(
            _RULES[where],
            fact,
            f"{_SHOWN[where]} value {complaint}: it never matches {what} {first.operator} {first.value} of "
            f"{first.place.described}{f' and {len(asking) - 1} more' if len(asking) > 1 else ''}",
            _advice(fact.value, noun),
        )


def _prereleases(where: str, fact: NodeValue, comparisons: list[_Comparison]) -> Iterator[PlacedComplaint]:
    version = version_or_none(fact.value)
    if version is None or not is_distribution_build(version):
        return
    for comparison in comparisons:
        if comparison.comparison.kind is not VERSION:
            continue
        wanted = version_or_none(comparison.value)
        if wanted is None or not same_base(version, wanted) or wanted.pre == version.pre:
            continue
        base = base_of(version)
        outcome = "matches" if comparison.comparison.compile(comparison.value)(fact.value) else "does not match"
        yield placed(
            "version-is-prerelease",
            fact,
            f"{fact.value} parses as a pre-release of {base} and sorts below it: it {outcome} {comparison.operator} "
            f"{comparison.value} of {comparison.place.described}",
            f"publish the release on the {_SHOWN[where]} ({base}), or compare with a version below {base} "
            "on the pod's side",
        )
        return


def placed(rule: str, fact: NodeValue, message: str, hint: str) -> PlacedComplaint:
    """Return a complaint at the first node that has the value."""
    more = f" (and {fact.others} more with this value)" if fact.others else ""
    return Complaint(rule, fact.place.path, message + more, hint), fact.place


def _advice(value: str, wanted: str) -> str:
    from moorage.lint.hints import canonical_number, nearest_version

    better = canonical_number(value) if wanted == "number" else nearest_version(value)
    return f'write "{better}"' if better else f"give it a value that is a {wanted}"


@check(
    Theme.VALUES,
    Rule("version-is-prerelease", WARNING, "The version parses as a pre-release and so sorts below its base version."),
)
def check_versions(subject: Subject, facts: Facts, refusals: frozenset[str]) -> Iterator[Complaint]:
    if subject.pods is None and subject.kind not in _COMPARING_KINDS:
        return
    for listed in toleration_lists(subject):
        for index, toleration in enumerate(listed.tolerations):
            if _compares_versions(toleration.operator, TOLERATION):
                yield from _check(toleration.operator, toleration.value, f"{listed.path}[{index}].value")
    for path, requirement in node_requirements(subject.kind, subject.view, subject.pods):
        if _compares_versions(requirement.operator, NODE_SELECTOR) and len(requirement.values) == 1:
            yield from _check(requirement.operator, requirement.values[0], f"{path}.values[0]")


def _check(operator: str, value: str, path: str) -> Iterator[Complaint]:
    version = version_or_none(value)
    if version is None or not is_distribution_build(version):
        return
    base = base_of(version)
    consequence = BY_NAME[operator].prerelease.format(base=base, value=value)
    yield Complaint(
        "version-is-prerelease",
        path,
        f"{value} parses as a pre-release of {base} and sorts below it: {consequence}",
        f"compare with a release, such as {base}: parts with letters are compared as text, so that 100-x is below 91-x",
    )


def _compares_versions(operator: str, place: OperatorPlace) -> bool:
    comparison = comparison_of(operator, place)
    return comparison is not None and comparison.kind is VERSION


#: The first word of what is meant as a pre-release.
_PRERELEASE = re.compile(
    "(a|alpha|b|beta|c|canary|cr|dev|ea|experimental|m|milestone|next|nightly|pre|preview"
    "|prerelease|rc|snapshot|test|unstable)(?![a-z])",
    re.IGNORECASE,
)


def is_distribution_build(version: Version) -> bool:
    """Return whether the version parses as a pre-release though it was not meant as one."""
    if not version.pre:
        return False
    first = version.pre[0]
    if isinstance(first, int):
        return first != 0  # `-0` is how people write "and its pre-releases"
    return _PRERELEASE.match(first) is None


def base_of(version: Version) -> str:
    return f"{version.major}.{version.minor}.{version.patch}"


def same_base(one: Version, other: Version) -> bool:
    return (one.major, one.minor, one.patch) == (other.major, other.minor, other.patch)
