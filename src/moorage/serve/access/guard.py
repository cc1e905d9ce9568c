"""Check what a user writes: no rights that the user lacks, and no object created by an update without that right.

A role may hold the rules that its writer has; a binding may grant the role whose rules its writer has. The verbs
`escalate` on roles and `bind` on the granted role lift this; an aggregationRule needs all rights. Kubernetes: the
policy-based storages of pkg/registry/rbac, withAuthorization of the update and patch handlers, and component-helpers'
auth/rbac/validation (CompactRules, CompactString).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice, product
from math import prod
from operator import and_
from typing import Any, Final

from moorage.admit.raw import Raw
from moorage.model.api_error import forbidden, not_found
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import Kind, Ref
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.policy import ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding
from moorage.serve.access.authorization import Authorization, resource_attributes
from moorage.serve.access.parameter_rights import ParameterRights
from moorage.serve.access.rbac import RBAC_GROUP, RoleIndex
from moorage.serve.pki.authentication import User

#: What cluster-admin has.
ALL_RIGHTS: Final = (PolicyRule(("*",), ("*",), ("*",)), PolicyRule(("*",), nonResourceURLs=("*",)))
#: The parts that are listed at most; a rule of a kilobyte may have a million.
_MAX_LISTED = 1_000
_MAX_LOOKED_AT = 10_000
#: The combinations of values that are looked at in all rules together; no person writes that many.
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
        owned = self._resources.get("*", 0) | self._resources.get(resource, 0)
        _, slash, subresource = resource.partition("/")
        return owned | self._resources.get(f"*/{subresource}", 0) if slash else owned

    def name(self, name: str) -> int:
        return self.unnamed | self._names.get(name, 0)

    def url(self, url: str) -> int:
        owned = self._urls.get(url, 0)
        for prefix, bits in self._prefixes:
            if url.startswith(prefix):
                owned |= bits
        return owned & self.unnamed


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


_MISSING_ROLE = re.compile(rf"\b(?:cluster)?role\.{re.escape(RBAC_GROUP)}")
#: What the garbage collector changes: who may change only these need not have the rights of the role.
_OF_GARBAGE_COLLECTION = ("ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation")


class WriteGuard:
    """Checks the writes of one request, whose user is not of system:masters. `verb` is that of the request.

    `parameters` are the rights that decide about policies and their bindings.
    """

    def __init__(
        self,
        user: User,
        verb: str,
        authorization: Authorization,
        roles: RoleIndex,
        parameters: ParameterRights | None = None,
    ) -> None:
        self._user, self._verb = user, verb
        self._authorization, self._roles, self._parameters = authorization, roles, parameters

    def check_new(self, kind: Kind, namespace: str, raw: Raw) -> None:
        """Raise ApiError if the user may not create this object, by whatever verb."""
        name = str(raw["metadata"].get("name") or "")
        if self._verb != "create":
            attributes = resource_attributes("create", kind.group, kind.plural, namespace=namespace, name=name)
            decision = self._authorization.authorize(self._user, attributes)
            if not decision.allowed:
                raise forbidden(kind, name, decision.reason)
        if kind.group == RBAC_GROUP:
            self._check_rights(Ref(kind, namespace, name), raw, None, "" if self._verb == "create" else name)
        elif self._parameters is not None:
            self._parameters.check(Ref(kind, namespace, name), raw, None)

    def check_change(self, ref: Ref, new: Raw, old: Raw) -> None:
        """Raise ApiError if the user may not change an object so."""
        if ref.kind.group == RBAC_GROUP and not _changes_only_owners(new, old):
            self._check_rights(ref, new, old, ref.name)
        elif self._parameters is not None:
            self._parameters.check(ref, new, old)

    def _check_rights(self, ref: Ref, raw: Raw, old: Raw | None, requested: str) -> None:
        """Check a role or binding; `requested` is the name in the request's path."""
        try:
            view: Any = convert_view(raw, ref.kind.view)
        except ConversionError:
            return  # which admission says better
        if isinstance(view, Role | ClusterRole):
            self._check_role(ref, view, old, requested)
        elif isinstance(view, RoleBinding | ClusterRoleBinding):
            self._check_binding(ref, view)

    def _check_role(self, ref: Ref, role: Role | ClusterRole, old: Raw | None, requested: str) -> None:
        kind, namespace, name = ref
        attributes = resource_attributes("escalate", RBAC_GROUP, kind.plural, namespace=namespace, name=requested)
        if self._authorization.authorize(self._user, attributes).allowed:
            return
        self._refuse_escalation(ref, role.rules)
        aggregation = role.aggregationRule if isinstance(role, ClusterRole) else None
        aggregates = aggregation is not None and bool(aggregation.clusterRoleSelectors)
        aggregated = old is not None and bool((old.get("aggregationRule") or {}).get("clusterRoleSelectors"))
        owned = self._roles.rules_for(self._user, namespace).rules
        if (aggregates or aggregated) and uncovered(owned, ALL_RIGHTS):
            raise forbidden(kind, name, "must have cluster-admin privileges to use the aggregationRule")

    def _check_binding(self, ref: Ref, binding: RoleBinding | ClusterRoleBinding) -> None:
        reference, namespace = binding.roleRef, ref.namespace
        if reference.kind not in ("Role", "ClusterRole"):
            return  # which validation says better
        group, plural = reference.apiGroup or RBAC_GROUP, f"{reference.kind.lower()}s"
        attributes = resource_attributes("bind", group, plural, namespace=namespace, name=reference.name)
        if self._authorization.authorize(self._user, attributes).allowed:
            return
        rules = self._roles.rules_of(reference, namespace)
        if isinstance(rules, str):
            raise not_found(ref.kind, reference.name)
        self._refuse_escalation(ref, rules)

    def _refuse_escalation(self, ref: Ref, rules: Sequence[PolicyRule]) -> None:
        """Raise ApiError 403 if the user lacks any of these rights."""
        owned = self._roles.rules_for(self._user, ref.namespace)
        missing = uncovered(owned.rules, rules)
        if not missing:
            return
        who = f"user {go_quote(self._user.name)} (groups={quoted_list(self._user.groups)})"
        why = f"{who} is attempting to grant RBAC permissions not currently held:\n{describe_rules(missing)}"
        if owned.error:
            # Kubernetes looks roles up at the storage, which names the kind that is written.
            error = _MISSING_ROLE.sub(f"{ref.kind.plural}.{RBAC_GROUP}", owned.error)
            why += f"; resolution errors: [{error}]"
        raise forbidden(ref.kind, ref.name, why)


def _changes_only_owners(new: Raw, old: Raw) -> bool:
    return _without_owners(new) == _without_owners(old)


def _without_owners(raw: Raw) -> Raw:
    metadata = {name: value for name, value in raw["metadata"].items() if name not in _OF_GARBAGE_COLLECTION}
    return {**{name: value for name, value in raw.items() if value is not None}, "metadata": metadata}
