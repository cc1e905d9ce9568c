"""Build the admission chain: which plugins run, in which order, is decided here and nowhere else.

The API server, the simulation, `plan`'s reading of files, `lint`, `explain` and gate audits ask an `Admission`. They
differ in the world that they pass, never in the plugins. An object passes three phases:

1. mutate: decode, default, let plugins change it (`mutate`);
2. validate: prepare it as its kind does, validate it, let plugins refuse it (`validate`);
3. charge: count it against the quotas of its namespace (`charges`), last, when nothing else can refuse it.

Policies and webhooks are asked at the end of the first two phases, if any may be about a request (`is_extended`).
They may need answers from outside, so that the phases of such a request are generators (`changing`, `checking`), which
yield what has to be asked (`extension.steps`).

A step that the API server has to await is made of two halves. The pure one decides, here, and is all that a simulation
or a linter needs; the awaited one is the server's and carries out what was decided. Quotas are such a step: `charges`
says what a write costs, and `serve.admission.quota_ledger` writes it before the object.
Kubernetes: AllOrderedPlugins of pkg/kubeapiserver/options.
"""

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import msgspec

from moorage.admit import admission
from moorage.admit.admission import Admitted, Mutated, PluginPhases, Rejected, phases_of
from moorage.admit.attributes import CREATE, Write
from moorage.admit.extension.extended_request import ExtendedRequest, request_attributes
from moorage.admit.extension.steps import Steps
from moorage.admit.extension.world import ExtensionWorld
from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.plugins.limit_ranger import LimitRanger
from moorage.admit.plugins.node_restriction.plugin import NodeRestriction
from moorage.admit.plugins.pod_resize import NodeDeclaredFeatureValidator, PodResizeValidator
from moorage.admit.plugins.pod_security import PodSecurity
from moorage.admit.plugins.priority import Priority
from moorage.admit.plugins.quota import QuotaCharge, charges_of
from moorage.admit.plugins.runtime_class import RuntimeClassPlugin
from moorage.admit.plugins.service_account import ServiceAccount
from moorage.admit.plugins.standard import (
    DefaultTolerationSeconds,
    NamespaceLifecycle,
    TaintNodesByCondition,
)
from moorage.admit.plugins.storage import DefaultStorageClass, PersistentVolumeClaimResize, StorageObjectInUseProtection
from moorage.admit.plugins.topology import PodTopologyLabels
from moorage.admit.prepare.service_addresses import ServiceAddresses
from moorage.admit.prepare.service_allocator import ServiceAllocator
from moorage.admit.raw import Raw, copy_document
from moorage.admit.request import ANY_REQUEST, Request
from moorage.admit.requester import Named, Requester, node_of
from moorage.admit.subresources.pod_parts import admit_pod_part
from moorage.admit.world import AdmissionWorld
from moorage.model.api_error import ApiError
from moorage.model.gates import NODE_DECLARED_FEATURES, POD_TOPOLOGY_LABELS_ADMISSION, GateSet
from moorage.model.generated_names import new_suffix
from moorage.model.kinds import Kind, kind_of
from moorage.model.schema.known_fields import write_as_go

Own = Callable[[Raw], object]
#: Of how many kinds of requests it is known whether policies or webhooks may be about them.
_MOST_ANSWERS = 4096


class _Extended(NamedTuple):
    """Whether policies or webhooks may be about requests, by operation, kind, subresource and version."""

    generation: int
    answers: dict[tuple[str, Kind, str, str], bool]


class _OfTemplates(NamedTuple):
    """Whether what policies answer about a pod, or an object of another kind, holds for all of its template."""

    generation: int
    answers: dict[Kind, bool]


class Admission:
    """The admission chain of one cluster: `world` is what it looks up, `gates` are those of the API server.

    `taints_new_nodes` and `protects_storage` say that the controllers run that remove such taints and finalizers.
    `mounts_tokens` mounts the tokens of service accounts and refuses pods whose account is missing.
    `without` leaves plugins out, as --disable-admission-plugins does. Addresses and ports are chosen with `random`.
    `extensions` has the policies and webhooks of the cluster; a cluster without them is not slower.
    """

    def __init__(
        self,
        world: AdmissionWorld,
        gates: GateSet,
        *,
        taints_new_nodes: bool = False,
        protects_storage: bool = False,
        mounts_tokens: bool = False,
        without: tuple[type[Plugin], ...] = (),
        random: Random | None = None,
        extensions: ExtensionWorld | None = None,
    ) -> None:
        self.world, self.gates, self.extensions = world, gates, extensions
        self.random = random or Random()
        #: In the order of Kubernetes. Each plugin sees what those before it have set.
        plugins: tuple[Plugin, ...] = (
            NamespaceLifecycle(world),  # first: nothing else is asked about an object that has no namespace to be in
            LimitRanger(world),  # before RuntimeClass and the quota: its defaults count
            ServiceAccount(world, mounts_tokens=mounts_tokens, new_suffix=lambda: new_suffix(self.random.random)),
            NodeRestriction(world),  # decides by who makes the request; see `restrict`
            *((TaintNodesByCondition(),) if taints_new_nodes else ()),
            PodSecurity(world),  # only validates, so its place matters for the order of refusals alone
            Priority(world),
            DefaultTolerationSeconds(),  # before RuntimeClass, which merges its tolerations with those of the pod
            DefaultStorageClass(world),
            *((StorageObjectInUseProtection(),) if protects_storage else ()),
            PersistentVolumeClaimResize(world),
            RuntimeClassPlugin(world),
            *((PodTopologyLabels(world),) if gates.enabled(POD_TOPOLOGY_LABELS_ADMISSION) else ()),
            *((NodeDeclaredFeatureValidator(world),) if gates.enabled(NODE_DECLARED_FEATURES) else ()),
            PodResizeValidator(world),  # after the features: a node that lacks them is told first
            ServiceAddresses(self._allocator),  # not a plugin there: the registry allocates after all plugins have run
        )
        self._plugins = tuple(plugin for plugin in plugins if not isinstance(plugin, without))
        self._phases = phases_of(self._plugins)
        self._of_parts = tuple(
            plugin
            for plugin in self._plugins
            if (type(plugin).resize, type(plugin).attach) != (Plugin.resize, Plugin.attach)
        )
        self._live = tuple(plugin for plugin in self._plugins if plugin.live)
        self._extended, self._of_templates = _Extended(-1, {}), _OfTemplates(-1, {})
        self._allocating = tuple(plugin for plugin in self._plugins if isinstance(plugin, ServiceAddresses))
        self._restrictions = tuple(plugin for plugin in self._plugins if isinstance(plugin, NodeRestriction))

    def _allocator(self) -> ServiceAllocator:
        return ServiceAllocator(self.world.services(), self.random, self.world.service_range)

    def restricts(self, user: Named) -> bool:
        """Return whether plugins decide by this user. The requests of others need no requester."""
        return bool(self._restrictions) and node_of(user) is not None

    def restrict(self, requester: Requester | None, write: Write) -> None:
        """Raise ApiError if plugins refuse a write for who makes it.

        For updates, deletions and subresources, which are looked at before they are validated. A create is looked at
        in the order of all plugins, if its `Request` has the requester.
        """
        if requester is not None:
            for plugin in self._restrictions:
                plugin.check(requester, write)

    def _phases_of(self, request: Request | None) -> PluginPhases:
        """Return the plugins as they are for a request."""
        if request is None or request.requester is None:
            return self._phases
        return phases_of(
            [plugin.bound(request) if isinstance(plugin, NodeRestriction) else plugin for plugin in self._plugins]
        )

    def admit(self, new: Raw, old: Raw | None = None, *, request: Request | None = ANY_REQUEST) -> Admitted | Rejected:
        """Admit a document of any kind, and leave it as it is: created if `old` is None, else updated."""
        kind = kind_of(new)
        if kind is None:
            return Admitted(copy_document(new), None)
        if old is not None and kind_of(old) is not kind:
            raise ValueError(f"a {kind.name} cannot be an update of {old.get('apiVersion')} {old.get('kind')}")
        if old is None:
            return self.create(kind, new, request, copies=True)
        return self.update(kind, new, old, request, copies=True)

    def create(
        self, kind: Kind, raw: Raw, request: Request | None, own: Own | None = None, *, copies: bool = False
    ) -> Admitted | Rejected:
        """Admit a new object, completed in place unless `copies`. `own` writes its field owners."""
        return self.noted(
            admission.admit_own(
                kind, raw, None, self.gates, plugins=self._phases_of(request), request=request, own=own, copies=copies
            )
        )

    def update(
        self,
        kind: Kind,
        raw: Raw,
        old: Raw,
        request: Request | None,
        own: Own | None = None,
        *,
        old_view: Any = None,
        copies: bool = False,
    ) -> Admitted | Rejected:
        """Admit an object that replaces `old`, whose view may be in memory."""
        return self.noted(
            admission.admit_own(
                kind,
                raw,
                old,
                self.gates,
                plugins=self._phases_of(request),
                request=request,
                own=own,
                old_view=old_view,
                copies=copies,
            )
        )

    def mutate(
        self,
        kind: Kind,
        raw: Raw,
        old: Raw | None,
        request: Request | None,
        own: Own | None = None,
        *,
        old_view: Any = None,
        copies: bool = False,
    ) -> Mutated | Rejected:
        """Carry out the first phase alone, for a caller that awaits something before the second."""
        return admission.mutate(
            kind,
            raw,
            old,
            self.gates,
            plugins=self._phases_of(request),
            request=request,
            own=own,
            old_view=old_view,
            copies=copies,
        )

    def validate(self, mutated: Mutated) -> Admitted | Rejected:
        """Carry out the second phase."""
        return self.noted(admission.validate(mutated, self._phases))

    def is_extended(self, operation: str, kind: Kind, subresource: str = "", version: str = "") -> bool:
        """Return whether policies or webhooks may be about such requests. If not, they need no `ExtendedRequest`.

        `version` is that of the resource in the path, if it is not the kind's own.
        """
        world = self.extensions
        if world is None or world.is_empty:
            return False
        known, generation = self._extended, world.generation
        if known.generation != generation or len(known.answers) >= _MOST_ANSWERS:
            known = self._extended = _Extended(generation, {})
        key = (operation, kind, subresource, version)
        answer = known.answers.get(key)
        if answer is None:
            from moorage.admit.extension import extensions  # the compiler of expressions, which few commands need

            attributes = request_attributes(operation, kind, subresource, version)
            answer = known.answers[key] = extensions.may_concern(attributes, world)
        return answer

    def answers_templates(self, kind: Kind) -> bool:
        """Return whether all that policies answer to the creation of an object holds for any other of its template.

        As long as no policy and no namespace changes; and webhooks, which answer as they like, are not asked.
        """
        world = self.extensions
        if world is None or world.is_empty:
            return True
        known, generation = self._of_templates, world.generation
        if known.generation != generation:
            known = self._of_templates = _OfTemplates(generation, {})
        answer = known.answers.get(kind)
        if answer is None:
            from moorage.admit.extension import extensions

            attributes = request_attributes(CREATE, kind)
            answer = known.answers[kind] = extensions.answers_templates(attributes, world)
        return answer

    def changing(
        self,
        kind: Kind,
        raw: Raw,
        old: Raw | None,
        request: Request,
        own: Own | None,
        extended: ExtendedRequest,
        *,
        old_view: Any = None,
        copies: bool = False,
    ) -> Steps[Mutated | Rejected]:
        """Carry out the first phase of a request that policies or webhooks may be about.

        A new object has no uid and no time yet, and no generated name: `checking` adds them.
        """
        mutated = admission.complete(
            kind, raw, old, self.gates, request=request, own=own, old_view=old_view, copies=copies, stamps=False
        )
        if isinstance(mutated, Rejected):
            return mutated
        write_as_go(mutated.object, kind.view)
        completed = mutated
        plugins = [plugin for plugin in self._phases_of(request).changing if plugin not in self._allocating]

        def in_tree(document: Raw) -> Rejected | None:
            return admission.changed_by(plugins, completed, document)

        document = yield from extended.change(mutated.object, mutated.old, in_tree)
        if isinstance(document, Rejected):
            return document
        return msgspec.structs.replace(mutated, object=document, given=None, given_view=None)

    def checking(
        self, mutated: Mutated, document: Raw, request: Request, extended: ExtendedRequest
    ) -> Steps[Admitted | Rejected]:
        """Carry out the second phase with a document that `changing` has made, or a copy with another name."""
        mutated = admission.stamp(msgspec.structs.replace(mutated, object=document), request)
        refusal = admission.changed_by(self._allocating, mutated, mutated.object)
        return (yield from extended.checked(refusal or self.validate(mutated), mutated.old))

    def update_part(self, part: str, new: Raw, old: Raw, own: Own | None) -> Admitted | Rejected:
        """Admit a change of one part of a pod: its ephemeral containers, or the resources of its containers."""
        return admit_pod_part(part, new, old, self.gates, self._of_parts, own)

    def mutate_custom(self, kind: Kind, raw: Raw, old: Raw | None, request: Request | None = None) -> None:
        """Let the plugins change an object of a custom kind. Raises Forbidden and ApiError."""
        for plugin in self._phases_of(request).changing:
            plugin.admit(kind, raw, old)

    def validate_custom(self, kind: Kind, raw: Raw, old: Raw | None) -> None:
        """Let the plugins refuse an object of a custom kind that is valid. Raises Forbidden and ApiError."""
        for plugin in self._phases.refusing:
            plugin.validate(kind, raw, old)

    def still_admits(self, kind: Kind, raw: Raw) -> bool:
        """Return whether a copy of an object that was admitted before would be admitted now.

        Asks those plugins alone whose answers change although `world.generation` stays; a caller that keeps templates
        of admitted objects forgets them when the generation grows.
        """
        try:
            for plugin in self._live:
                plugin.admit(kind, raw, None)
        except (Forbidden, ApiError):
            return False
        return True

    def charges(
        self, kind: Kind, namespace: str, name: str, new: Any, old: Any = None, subresource: str = "", *, now: float
    ) -> list[QuotaCharge]:
        """Return what a write adds to the quotas of its namespace. Raises ApiError 403 if one does not allow it.

        `new` and `old` are views. The caller adds the charges to the balances that its world shows.
        """
        return charges_of(kind, name, new, old, self.world.quota_balances(namespace), subresource, now)

    def noted(self, result: Admitted | Rejected) -> Admitted | Rejected:
        """Return the answer with what was assumed to give it."""
        assumed = self.world.assumed
        if not assumed:
            return result
        assumptions = tuple(assumed)
        assumed.clear()
        return msgspec.structs.replace(result, assumptions=assumptions)
