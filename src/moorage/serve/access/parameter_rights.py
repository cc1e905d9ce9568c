"""Check that who writes an admission policy or a binding may read the parameters that it names.

What a policy says of a request may tell what is in its parameters. Kubernetes: authz.go of the registries of admission
policies and bindings. Differs: rights are checked before the object is validated.
"""

from collections.abc import Callable
from typing import Any, Protocol

from moorage.admit.admission import Rejected
from moorage.admit.not_admitted import NotAdmitted
from moorage.admit.raw import Raw
from moorage.model.field_error import forbidden
from moorage.model.kinds import KINDS, Kind, Ref
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.extension.admission_policies import (
    MutatingAdmissionPolicyBindingSpec,
    ParamKind,
    ValidatingAdmissionPolicyBindingSpec,
)
from moorage.serve.access.authorization import Attributes, Authorization
from moorage.serve.pki.authentication import User

POLICIES = (KINDS.VALIDATING_ADMISSION_POLICY, KINDS.MUTATING_ADMISSION_POLICY)
BINDINGS = {
    KINDS.VALIDATING_ADMISSION_POLICY_BINDING: KINDS.VALIDATING_ADMISSION_POLICY,
    KINDS.MUTATING_ADMISSION_POLICY_BINDING: KINDS.MUTATING_ADMISSION_POLICY,
}
WITH_PARAMETERS = frozenset((*POLICIES, *BINDINGS))
_ALL = "*"
BindingSpec = ValidatingAdmissionPolicyBindingSpec | MutatingAdmissionPolicyBindingSpec


class Lookups(Protocol):
    """What is looked up about what is written."""

    def policy(self, kind: Kind, name: str) -> Any:
        """Return the view of a policy, or None."""
        ...

    def plural(self, api_version: str, kind: str) -> str:
        """Return the name of a kind's resource, or an empty text."""
        ...


class ParameterRights:
    """The rights of one user to the parameters of policies."""

    def __init__(self, user: User, authorization: Authorization, lookups: Lookups) -> None:
        self._user, self._authorization, self._lookups = user, authorization, lookups

    def check(self, ref: Ref, new: Raw, old: Raw | None) -> None:
        """Raise NotAdmitted if the user must not write this object because of its parameters."""
        check: Callable[[Ref, Any, Any], str] = self._check_policy if ref.kind in POLICIES else self._check_binding
        try:
            view: Any = convert_view(new, ref.kind.view)
            before: Any = None if old is None else convert_view(old, ref.kind.view)
        except ConversionError:
            return  # which admission says better
        if why := check(ref, view.spec, None if before is None else before.spec):
            path = "spec.paramKind" if ref.kind in POLICIES else "spec.paramRef"
            raise NotAdmitted(Rejected(ref.kind, ref.name, errors=(forbidden(path, why),)))

    def _check_policy(self, ref: Ref, new: Any, old: Any) -> str:
        kind: ParamKind | None = new.paramKind
        if kind is None or (old is not None and old.paramKind == kind):
            return ""
        group, version, plural = self._resource(kind)
        if self._may("get", group, version, plural, _ALL, _ALL):
            return ""
        named = f"(kind={kind.kind}, apiVersion={kind.apiVersion})"
        return f'user {self._shown} must have "get" permission on all objects of the referenced paramKind {named}'

    def _check_binding(self, ref: Ref, new: BindingSpec, old: BindingSpec | None) -> str:
        reference = new.paramRef
        if reference is None:
            return ""
        policy = self._lookups.policy(BINDINGS[ref.kind], new.policyName)
        kind: ParamKind | None = None if policy is None else policy.spec.paramKind
        group, version, plural = (_ALL, _ALL, _ALL) if kind is None else self._resource(kind)
        verb = "get" if reference.name else "list"
        if self._may(verb, group, version, plural, reference.namespace, reference.name):
            return ""
        everything = f'user {self._shown} does not have "{verb}" permission for all groups, versions and resources'
        if policy is None:
            return f"unable to get policy {new.policyName} to determine minimum required permissions and {everything}"
        if kind is not None and plural == _ALL:
            shown = f"&{{{kind.apiVersion} {kind.kind}}}"
            return f"unable to resolve paramKind {shown} to determine minimum required permissions and {everything}"
        return f'user {self._shown} does not have "{verb}" permission on the object referenced by paramRef'

    def _resource(self, kind: ParamKind) -> tuple[str, str, str]:
        """Return group, version and resource of parameters; all of them where they are not known."""
        group, _, version = kind.apiVersion.rpartition("/")
        return group, version, self._lookups.plural(kind.apiVersion, kind.kind) or _ALL

    def _may(self, verb: str, group: str, version: str, plural: str, namespace: str, name: str) -> bool:
        asked = Attributes(verb, group, version, plural, "", namespace, name, "", "", True)
        return self._authorization.authorize(self._user, asked).allowed

    @property
    def _shown(self) -> str:
        """The user as Go prints it."""
        extra = " ".join(f"{name}:[{' '.join(values)}]" for name, values in sorted(self._user.extra.items()))
        return f"&{{{self._user.name} {self._user.uid} [{' '.join(self._user.groups)}] map[{extra}]}}"
