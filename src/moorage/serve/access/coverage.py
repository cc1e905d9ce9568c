"""Compare rules: which of them do others not cover?

Kubernetes: component-helpers, auth/rbac/validation; CompactRules and CompactString.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice, product
from math import prod
from operator import and_
from typing import Final

from moorage.model.go.quoting import go_quote
from moorage.model.types.policy import PolicyRule

#: What cluster-admin has.
ALL_RIGHTS: Final = (PolicyRule(("*",), ("*",), ("*",)), PolicyRule(("*",), nonResourceURLs=("*",)))
#: The parts that are listed at most; a rule of a kilobyte may have a million.
_MAX_LISTED = 1_000
_MAX_LOOKED_AT = 10_000
#: The combinations of values that are looked at in all rules together; no person writes so many.
_MAX_COMBINATIONS = 200_000


class _Owned:
    """For each verb, group, resource, name and URL the rules that have it, as bits of an integer."""

    def __init__(self, rules: Sequence[PolicyRule]) -> None:
        self._verbs, self._groups, self._resources = dict[str, int](), dict[str, int](), dict[str, int]()
        self._names, self._urls, self.unnamed = dict[str, int](), dict[str, int](), 0
        self.combinations_left = _MAX_COMBINATIONS
        for place, rule in enumerate(rules):
            bit = 1 << place
            for values, known in (
                (rule.verbs, self._verbs),
                (rule.apiGroups, self._groups),
                (rule.resources, self._resources),
                (rule.resourceNames, self._names),
                (rule.nonResourceURLs, self._urls),
            ):
                for value in values:
                    known[value] = known.get(value, 0) | bit
            if not rule.resourceNames:
                self.unnamed |= bit
        self._prefixes = [(url.rstrip("*"), bits) for url, bits in self._urls.items() if url.endswith("*")]

    def verb(self, verb: str) -> int:
        return self._verbs.get("*", 0) | self._verbs.get(verb, 0)

    def group(self, group: str) -> int:
        return self._groups.get("*", 0) | self._groups.get(group, 0)

    def resource(self, resource: str) -> int:
        found = self._resources.get("*", 0) | self._resources.get(resource, 0)
        _, slash, subresource = resource.partition("/")
        return found | self._resources.get(f"*/{subresource}", 0) if slash else found

    def name(self, name: str) -> int:
        return self.unnamed | self._names.get(name, 0)

    def url(self, url: str) -> int:
        found = self._urls.get(url, 0)
        for prefix, bits in self._prefixes:
            if url.startswith(prefix):
                found |= bits
        return found & self.unnamed


#: The values of one field, by the rules that have them: few sets of many values.
_Alike = dict[int, list[str]]


def uncovered(owned: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return the parts of `wanted` that no rule of `owned` covers, each with one verb, resource and name.

    That takes as long as the rules are, not as many parts as they have; a thousand parts are returned at most.
    """
    index, missing = _Owned(owned), list[PolicyRule]()
    for rule in wanted:
        for parts in (_resource_parts(index, rule), _url_parts(index, rule)):
            missing += islice(parts, _MAX_LISTED - len(missing))
        if len(missing) >= _MAX_LISTED:
            break
    return missing


def _resource_parts(index: _Owned, rule: PolicyRule) -> Iterator[PolicyRule]:
    """Yield what is not covered of the resources of a rule."""
    names: Sequence[str] = rule.resourceNames or ("",)
    of_name = index.name if rule.resourceNames else lambda name: index.unnamed
    wanted = (rule.apiGroups, rule.resources, rule.verbs, names)
    for group, resource, verb, name in _not_covered(index, wanted, (index.group, index.resource, index.verb, of_name)):
        yield PolicyRule((verb,), (group,), (resource,), (name,) if rule.resourceNames else ())


def _url_parts(index: _Owned, rule: PolicyRule) -> Iterator[PolicyRule]:
    for url, verb in _not_covered(index, (rule.nonResourceURLs, rule.verbs), (index.url, index.verb)):
        yield PolicyRule((verb,), nonResourceURLs=(url,))


def _not_covered(
    index: _Owned, wanted: Sequence[Sequence[str]], bits_of: Sequence[Callable[[str], int]]
) -> Iterator[tuple[str, ...]]:
    """Yield the combinations of values, one of each field, that have no rule in common."""
    fields = list[_Alike]()
    for values, bits in zip(wanted, bits_of, strict=True):
        alike: _Alike = {}
        for value in values:
            alike.setdefault(bits(value), []).append(value)
        fields.append(alike)
    index.combinations_left -= prod(map(len, fields))
    if index.combinations_left < 0:
        yield from product(*wanted)
    elif any(not reduce(and_, bits) for bits in product(*fields)):
        if prod(map(len, wanted)) <= _MAX_LOOKED_AT:
            for combination in product(*wanted):
                if not reduce(and_, (bits(value) for bits, value in zip(bits_of, combination, strict=True))):
                    yield combination
        else:
            for alike_bits in product(*fields):
                if not reduce(and_, alike_bits):
                    yield from product(*(field[bits] for field, bits in zip(fields, alike_bits, strict=True)))


def describe_rules(parts: Iterable[PolicyRule]) -> str:
    """Describe parts of rules a line for each resource, sorted."""
    verbs: dict[PolicyRule, list[str]] = {}
    others: list[str] = []
    for part in parts:
        if part.nonResourceURLs:
            others.append(_text(part, part.verbs))
        else:
            key = PolicyRule((), part.apiGroups, part.resources, part.resourceNames)
            verbs.setdefault(key, []).extend(part.verbs)
    return "\n".join(sorted({*others, *(_text(rule, said) for rule, said in verbs.items())}))


def _text(rule: PolicyRule, verbs: Sequence[str]) -> str:
    parts = (
        ("APIGroups", rule.apiGroups),
        ("Resources", rule.resources),
        ("NonResourceURLs", rule.nonResourceURLs),
        ("ResourceNames", rule.resourceNames),
        ("Verbs", verbs),
    )
    return "{" + ", ".join(f"{name}:{quoted_list(values)}" for name, values in parts if values) + "}"


def quoted_list(texts: Iterable[str]) -> str:
    """Return texts as Go's %q prints a list of them."""
    return f"[{' '.join(map(go_quote, texts))}]"
