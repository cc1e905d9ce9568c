"""Know the policies and webhooks of objects that are in no API server: those of files, and of a simulated cluster.

`OfflineExtensions` is told of every object, as `RegisteredExtensions` is; roles and definitions of kinds count as well.
Where the objects are not those of a whole cluster, a parameter that is missing does not refuse anything: the policy is
left out, and `left_out` says why. Kubernetes: the same as the API server's, at a time when all of it is known.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from moorage.admit.extension.attributes import ObjectKind
from moorage.admit.extension.registered import REGISTERED_KINDS, RegisteredExtensions
from moorage.admit.extension.remarks import NotCalled
from moorage.admit.extension.steps import Answer, Call, WebhookAnswer, WebhookCall, not_answered
from moorage.admit.extension.world import ParamKindRow
from moorage.admit.objects_world import SYSTEM_NAMESPACES
from moorage.admit.raw import Raw
from moorage.control.cluster_role_aggregation import aggregated_rules
from moorage.custom.structural import SchemaTooDeepError
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS, Kind, view_of
from moorage.model.types.extension.admission_policies import (
    MutatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicyBinding,
)
from moorage.model.types.meta import LabelSelector
from moorage.model.types.policy import ClusterRole
from moorage.model.well_known.labels import NAMESPACE_NAME
from moorage.serve.access import authorization
from moorage.serve.access.bootstrap.policy import bootstrap_bindings, bootstrap_roles
from moorage.serve.access.rbac import RBAC_KINDS, RoleIndex
from moorage.serve.admission.extension_lookups import DocumentLookups, Documents
from moorage.serve.custom.conditions import next_status
from moorage.serve.custom.served_kind import ServedKind, served_kinds
from moorage.serve.pki.authentication import User
from moorage.serve.resources.served import Resources

_replace = msgspec.structs.replace
#: The kinds that policies and webhooks depend on, besides their parameters.
FOLLOWED = frozenset((*REGISTERED_KINDS, *RBAC_KINDS, KINDS.CUSTOM_RESOURCE_DEFINITION))
_BINDINGS_OF = {
    KINDS.VALIDATING_ADMISSION_POLICY: KINDS.VALIDATING_ADMISSION_POLICY_BINDING,
    KINDS.MUTATING_ADMISSION_POLICY: KINDS.MUTATING_ADMISSION_POLICY_BINDING,
}
_DENY, _ALLOW = "Deny", "Allow"
_MAX_LEFT_OUT = 100


CallWebhooks = Callable[[Sequence[WebhookCall]], Sequence[WebhookAnswer]]
_HARMLESS = ("None", "NoneOnDryRun")


class LeftOut(NamedTuple):
    """Parameters that are not here, so that policies are not applied to some objects."""

    kind: str
    namespace: str
    name: str  # empty if they are chosen by a selector, or if the kind itself is not known
    policies: tuple[str, ...]  # "ValidatingAdmissionPolicy limits"

    @property
    def text(self) -> str:
        """Say what is missing, and what is not applied."""
        policies = " and ".join(self.policies)
        where = f"{self.namespace}/{self.name}".strip("/")
        missing = f"{self.kind} {where}" if where else self.kind
        are = "are" if len(self.policies) > 1 else "is"
        return f"{policies} {are} not applied where {missing} is the parameter, which is not in the input"


class OfflineRights:
    """Decides by the roles that every cluster has, and by those of the objects. Made when it is first asked."""

    def __init__(self) -> None:
        self._views: dict[tuple[Kind, str, str], Any] = {}
        self._authorization: authorization.Authorization | None = None
        self.generation = 0

    def learn(self, kind: Kind, view: Any) -> None:
        self._views[kind, view.metadata.namespace, view.metadata.name] = view
        self._change()

    def forget(self, kind: Kind, view: Any) -> None:
        self._views.pop((kind, view.metadata.namespace, view.metadata.name), None)
        self._change()

    def _change(self) -> None:
        self._authorization = None
        self.generation += 1

    def authorize(self, user: User, attributes: authorization.Attributes) -> authorization.Decision:
        if self._authorization is None:
            self._authorization = authorization.Authorization((self._index(),))
        return self._authorization.authorize(user, attributes)

    def _index(self) -> RoleIndex:
        views: dict[tuple[Kind, str, str], Any] = {}
        for raw in (*bootstrap_roles(), *bootstrap_bindings()):
            view: Any = view_of(raw)
            views[KINDS[raw["apiVersion"], raw["kind"]], view.metadata.namespace, view.metadata.name] = view
        views |= self._views
        index = RoleIndex()
        roles = [view for (kind, _, _), view in views.items() if kind is KINDS.CLUSTER_ROLE]
        for (kind, _, _), view in views.items():
            index.learn(kind, _with_aggregated(view, roles) if kind is KINDS.CLUSTER_ROLE else view)
        return index


def _with_aggregated(role: ClusterRole, roles: Sequence[ClusterRole]) -> ClusterRole:
    """Return a role with the rules that the controller manager would write into it."""
    if role.aggregationRule is None or role.rules:
        return role
    return _replace(role, rules=tuple(aggregated_rules(role, roles)))


class OfflineExtensions(RegisteredExtensions):
    """The policies and webhooks among objects. `has_all` tells whether these are all of a kind in their cluster."""

    def __init__(self, gates: GateSet, documents: Documents, has_all: Callable[[str], bool]) -> None:
        self._rights = OfflineRights()
        self._resources = Resources(gates)
        self._definitions: dict[str, Raw] = {}
        self._has_all = has_all
        super().__init__(
            DocumentLookups(documents, self._resources, self._rights.authorize, lambda: self._rights.generation)
        )
        self._lenient = _Lenient()
        #: Parameters for want of which a policy was not applied to an object.
        self.left_out: dict[LeftOut, None] = {}

    def close(self) -> None:
        """Let go of the objects, which cycles of references would keep in a process that collects no garbage."""
        vars(self.lookups).clear()
        vars(self).clear()

    def learn(self, kind: Kind, view: Any, raw: Raw | None = None) -> None:
        """Take in an object that is new or has changed. `raw` is needed of definitions alone."""
        if kind in RBAC_KINDS:
            self._rights.learn(kind, view)
        elif kind is KINDS.CUSTOM_RESOURCE_DEFINITION:
            if raw is not None:
                self._define(raw)
        else:
            super().learn(kind, view)

    def forget(self, kind: Kind, view: Any) -> None:
        if kind in RBAC_KINDS:
            self._rights.forget(kind, view)
        elif kind is KINDS.CUSTOM_RESOURCE_DEFINITION:
            self._definitions.pop(view.metadata.name, None)
            self._resources.serve(view.metadata.name, ())
        else:
            super().forget(kind, view)

    def _define(self, definition: Raw) -> None:
        spec, name = definition["spec"], definition["metadata"]["name"]
        others = [
            next_status(other, (), "")["acceptedNames"]
            for other in self._definitions.values()
            if other["spec"]["group"] == spec["group"] and other["metadata"]["name"] != name
        ]
        self._definitions[name] = definition
        status = next_status(definition, others, "")
        kinds = served_kinds({**definition, "status": status}, msgspec.json.encode(definition), 0)
        self._resources.serve(name, [kind for kind in kinds if _has_schema(kind)])

    def namespace(self, name: str) -> Raw | None:
        """Return a namespace; one that is only assumed to exist has the labels that all have."""
        found = super().namespace(name)
        if found is not None or not name or (self._has_all("Namespace") and name not in SYSTEM_NAMESPACES):
            return found
        metadata = {"name": name, "labels": {NAMESPACE_NAME: name}}
        return {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": metadata,
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }

    def failure_policy(self, webhook: NotCalled) -> str:
        """Return what becomes of requests if a webhook cannot be called: Fail or Ignore."""
        found = self._webhook(webhook.configuration, webhook.webhook, webhook.is_mutating)
        return "Fail" if found is None else str(found.failurePolicy)

    def answer(self, calls: Sequence[Call], call: CallWebhooks | None) -> Sequence[Answer]:
        """Return the answers of webhooks that may be called, by `call`; others, and all without it, are not called.

        Those without side effects may; their reviews say that nothing is written. Kubernetes: dry runs.
        """
        answers = list(not_answered(calls))
        if call is None:
            return answers
        chosen = [
            (index, _tried(each))
            for index, each in enumerate(calls)
            if isinstance(each, WebhookCall) and self._side_effects(each) in _HARMLESS
        ]
        if chosen:
            given = call([each for _, each in chosen])
            for (index, _), answer in zip(chosen, given, strict=True):
                answers[index] = answer
        return answers

    def _side_effects(self, call: WebhookCall) -> str:
        found = self._webhook(call.configuration, call.webhook, call.is_mutating)
        return "Unknown" if found is None else str(found.sideEffects)

    def _webhook(self, configuration: str, webhook: str, is_mutating: bool) -> Any:
        row = KINDS.MUTATING_WEBHOOK_CONFIGURATION if is_mutating else KINDS.VALIDATING_WEBHOOK_CONFIGURATION
        found: Any = self._views[row].get(configuration)
        return next((one for one in (() if found is None else found.webhooks) if one.name == webhook), None)

    def param_kinds(self) -> Mapping[tuple[str, str], ParamKindRow | None]:
        """Return the kinds of parameters of all policies by apiVersion and kind; None for what is not known here."""
        policies: list[Any] = [*self.validating_policies(), *self.mutating_policies()]
        kinds = [policy.spec.paramKind for policy in policies if policy.spec.paramKind is not None]
        return {(kind.apiVersion, kind.kind): self.param_kind(kind.apiVersion, kind.kind) for kind in kinds}

    def validating_bindings(self, policy: str) -> Sequence[ValidatingAdmissionPolicyBinding]:
        return self._applied(KINDS.VALIDATING_ADMISSION_POLICY, policy, super().validating_bindings(policy))

    def mutating_bindings(self, policy: str) -> Sequence[MutatingAdmissionPolicyBinding]:
        return self._applied(KINDS.MUTATING_ADMISSION_POLICY, policy, super().mutating_bindings(policy))

    def _applied(self, kind: Kind, name: str, bindings: Sequence[Any]) -> Sequence[Any]:
        """Return the bindings of a policy as they are applied here: what is not known refuses nothing."""
        policy = self._views[kind].get(name)
        wanted = None if policy is None else policy.spec.paramKind
        if not bindings or wanted is None or self._has_all(wanted.kind):
            return bindings
        if self.param_kind(wanted.apiVersion, wanted.kind) is None:
            self._leave_out(LeftOut(wanted.kind, "", "", (f"{kind.name} {name}",)))
            return ()
        return [self._lenient.of(binding) for binding in bindings]

    def param(self, kind: ObjectKind, namespace: str, name: str) -> Raw | None:
        found = super().param(kind, namespace, name)
        if found is None and not self._has_all(kind.kind):
            self._miss(kind, namespace, name)
        return found

    def params(self, kind: ObjectKind, namespace: str, selector: LabelSelector) -> Sequence[Raw]:
        found = super().params(kind, namespace, selector)
        if not found and not self._has_all(kind.kind):
            self._miss(kind, namespace, "")
        return found

    def _miss(self, kind: ObjectKind, namespace: str, name: str) -> None:
        """Note that parameters are not here, unless the policies say that they need not exist."""
        policies = tuple(
            f"{row.name} {policy.metadata.name}"
            for row, bindings in _BINDINGS_OF.items()
            for policy in self._views[row].all()
            if policy.spec.paramKind is not None and policy.spec.paramKind.kind == kind.kind
            if any(_demands(one, namespace, name) for one in self._bindings_of(bindings, policy.metadata.name))
        )
        if policies:
            self._leave_out(LeftOut(kind.kind, namespace, name, policies))

    def _leave_out(self, missing: LeftOut) -> None:
        if len(self.left_out) < _MAX_LEFT_OUT:
            self.left_out[missing] = None


def _demands(binding: Any, namespace: str, name: str) -> bool:
    """Return whether a binding refuses objects if these parameters are missing."""
    reference = binding.spec.paramRef
    if reference is None or reference.parameterNotFoundAction != _DENY:
        return False
    return reference.name == name and reference.namespace in ("", namespace)


def _tried(call: WebhookCall) -> WebhookCall:
    """Return a call whose review says that nothing is written."""
    return call._replace(review={**call.review, "request": {**call.review["request"], "dryRun": True}})


class _Lenient:
    """Bindings that do nothing where their parameters are missing."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[Any, Any]] = {}

    def of(self, binding: Any) -> Any:
        reference = binding.spec.paramRef
        if reference is None or reference.parameterNotFoundAction != _DENY:
            return binding
        name = f"{type(binding).__name__} {binding.metadata.name}"
        known = self._made.get(name)
        if known is None or known[0] is not binding:
            spec = _replace(binding.spec, paramRef=_replace(reference, parameterNotFoundAction=_ALLOW))
            known = self._made[name] = binding, _replace(binding, spec=spec)
        return known[1]


def _has_schema(kind: ServedKind) -> bool:
    """Compile the schema; one that exists already may be deeper than what is admitted here."""
    try:
        _ = kind.schema
    except SchemaTooDeepError:
        return False
    return True
