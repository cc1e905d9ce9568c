"""Match requests with rules: operations, groups, versions, resources with subresources, scope and names.

Kubernetes: plugin/webhook/predicates/rules, the exclusions of plugin/policy/generic and of
pkg/kubeapiserver/admission/exclusion.
"""

from collections.abc import Iterable
from typing import NamedTuple

from moorage.admit.extension.attributes import Attributes, ObjectResource
from moorage.model.types.extension.admission_policies import NamedRuleWithOperations, RuleWithOperations

ANY = "*"
_EMPTY = '""'
NAMESPACES = ObjectResource("", "v1", "namespaces")
_REGISTRATION = "admissionregistration.k8s.io"
_POLICY_RESOURCES = frozenset(
    {
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    }
)
_REGISTRATION_KINDS = frozenset(
    {
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    }
)
#: Reviews are answered and not stored; a policy about them could break a cluster.
_REVIEWS = frozenset(
    {
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    }
)


def is_exempt_from_policies(attributes: Attributes) -> bool:
    """Return whether no policy is asked: about policies, their bindings, and reviews of users and rights."""
    group, _, resource = attributes.resource
    return (group == _REGISTRATION and resource in _POLICY_RESOURCES) or (group, resource) in _REVIEWS


def is_exempt_from_webhooks(attributes: Attributes) -> bool:
    """Return whether no webhook is called: about policies, their bindings and webhook configurations."""
    return attributes.kind.group == _REGISTRATION and attributes.kind.kind in _REGISTRATION_KINDS


class RequestRule(NamedTuple):
    """A rule, ready to match. None stands for a wildcard."""

    operations: frozenset[str] | None
    groups: frozenset[str] | None
    versions: frozenset[str] | None
    resources: tuple[tuple[str, str], ...]
    scope: str
    names: frozenset[str]

    def matches(self, attributes: Attributes, resource: ObjectResource) -> bool:
        """Return whether a request matches if it were one about `resource`. Names are looked at by `matches_name`."""
        return self.may_match(attributes.operation, resource, attributes.subresource) and self._matches_scope(
            resource, attributes.namespace
        )

    def may_match(self, operation: str, resource: ObjectResource, subresource: str) -> bool:
        """Return whether requests of this kind may match, whatever their scope and name."""
        return (
            (self.operations is None or operation in self.operations)
            and (self.groups is None or resource.group in self.groups)
            and (self.versions is None or resource.version in self.versions)
            and self._matches_resource(resource.resource, subresource)
        )

    def matches_name(self, name: str) -> bool:
        return not self.names or name in self.names

    def objection(self, attributes: Attributes, resource: ObjectResource) -> str | None:
        """Return the first field that a request differs in, such as `operations CREATE, not DELETE`.

        None exactly if `matches` and `matches_name` are true.
        """
        subresource, place = attributes.subresource, f"namespace {attributes.namespace}"
        if self.operations is not None and attributes.operation not in self.operations:
            return f"operations {_listed(self.operations)}, not {attributes.operation}"
        if self.groups is not None and resource.group not in self.groups:
            return f"apiGroups {_listed(self.groups)}, not {resource.group or _EMPTY}"
        if self.versions is not None and resource.version not in self.versions:
            return f"apiVersions {_listed(self.versions)}, not {resource.version}"
        if not self._matches_resource(resource.resource, subresource):
            named = _listed("/".join(filter(None, each)) for each in self.resources)
            return f"resources {named}, not {'/'.join(filter(None, (resource.resource, subresource)))}"
        if not self._matches_scope(resource, attributes.namespace):
            return f"scope {self.scope}, not {place if self.scope == 'Cluster' else 'outside of namespaces'}"
        return (
            None
            if self.matches_name(attributes.name)
            else (
                f"resourceNames {_listed(self.names)}, not {attributes.name or 'a name that is still to be generated'}"
            )
        )

    def _matches_resource(self, resource: str, subresource: str) -> bool:
        return any(own in (ANY, resource) and part in (ANY, subresource) for own, part in self.resources)

    def _matches_scope(self, resource: ObjectResource, namespace: str) -> bool:
        if self.scope in ("", ANY):
            return True
        is_namespaced = resource != NAMESPACES and bool(namespace)  # a Namespace is in the namespace of its name
        return is_namespaced if self.scope == "Namespaced" else self.scope == "Cluster" and not is_namespaced


def compile_rules(rules: Iterable[RuleWithOperations]) -> tuple[RequestRule, ...]:
    """Compile rules of a webhook, or those of a policy, which may name objects."""
    return tuple(
        RequestRule(
            _set_of(rule.operations),
            _set_of(rule.apiGroups),
            _set_of(rule.apiVersions),
            tuple(split_resource(resource) for resource in rule.resources),
            rule.scope or "",
            frozenset(rule.resourceNames) if isinstance(rule, NamedRuleWithOperations) else frozenset(),
        )
        for rule in rules
    )


def split_resource(text: str) -> tuple[str, str]:
    """Return resource and subresource of an entry of a rule: `pods`, `pods/status`, `*/scale`."""
    resource, _, subresource = text.partition("/")
    return resource, subresource


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(name or _EMPTY for name in names)) or "none"


def _set_of(items: tuple[str, ...]) -> frozenset[str] | None:
    return None if ANY in items else frozenset(items)
