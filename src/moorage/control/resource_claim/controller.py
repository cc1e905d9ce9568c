"""Create claims from templates for pods, reserve and release claims, delete generated claims that are not needed.

Keys: `pod:<namespace>/<name>` and `claim:<namespace>/<name>`. Kubernetes: pkg/controller/resourceclaim. Differs: a
claim is queued only if something may have to be done about it; a finished pod gets no claim in place of the one that
was deleted because it finished; claims of PodGroups (gate DRAWorkloadResourceClaims) are not known.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Action, Answers, Create, Plan, Question, patch_status, warn
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.world import World
from moorage.control.resource_claim.claim_release import is_done, may_need_release, questions_about, release, reserve
from moorage.control.resource_claim.pod_claims import (
    POD_CLAIM_NAME,
    NewClaim,
    pod_needs_work,
    sync_pod,
    wants_admin_access,
)
from moorage.match.devices.claims import claim_keys
from moorage.model.api_error import ApiError
from moorage.model.generated_names import new_suffix
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.devices import ResourceClaim
from moorage.model.types.pod import Pod
from moorage.model.well_known.annotations import EXTENDED_RESOURCE_CLAIM

FAILED_CREATION = "FailedResourceClaimCreation"
_POD_KEY, _CLAIM_KEY = "pod:", "claim:"
_MAX_CREATING = 16_384


class ResourceClaimController(Controller):
    """Reconciles pods with claims, and claims."""

    name = "resourceclaim-controller"
    component = "resource_claim"
    watches = (KINDS.POD, KINDS.RESOURCE_CLAIM, KINDS.RESOURCE_CLAIM_TEMPLATE)
    workers = 64

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._by_claim, self._by_template = PodsByClaim(), PodsByClaim()
        self._gone, self._counts = GonePods(), ClaimCounts()
        self._creating: dict[str, str] = {}  # claims that are not in the world yet, and their label for metrics
        self._creates = context.metrics.counter(
            "resourceclaim_controller_creates_total",
            "Number of ResourceClaims creation requests, categorized by creation status and admin access",
            ("status", "admin_access"),
        )
        context.metrics.gauge_function(
            "resourceclaim_controller_resource_claims",
            "Number of ResourceClaims, categorized by allocation status, admin access, and source. Source can be "
            "'resource_claim_template' (created from a template), 'extended_resource' (extended resources), or empty "
            "(manually created by a user).",
            self._counts.read,
            ("allocated", "admin_access", "source"),
        )

    # -- changes ------------------------------------------------------------------------------------------------------

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.POD:
            return self._pod_changed(old, new, world)
        if kind is KINDS.RESOURCE_CLAIM:
            return self._claim_changed(old, new, world)
        return self._pods_concerned(self._by_template.of(new.key), world) if new is not None else ()

    def _pod_changed(self, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        found = new if new is not None else old
        if found is None or not (_has_claims(found.view) or (old is not None and _has_claims(old.view))):
            return ()
        pod: Pod = found.view
        if old is None or new is None or not _names_the_same(old.view, pod):
            self._by_claim.set(found.key, named_claims(pod) if new is not None else ())
            self._by_template.set(found.key, named_templates(pod) if new is not None else ())
        keys: dict[str, None] = {}
        if old is not None and (new is None or old.view.metadata.uid != pod.metadata.uid):
            self._gone.add(old.view.metadata.uid)
            keys.update(dict.fromkeys(_claims_to_release(old)))
        if new is not None:
            keys.update(dict.fromkeys(_keys_of(new, world)))
        return keys

    def _claim_changed(self, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        self._counts.changed(old, new)
        claim = new if new is not None else old
        if claim is None:
            return ()
        if new is not None and self._creating:
            label = self._creating.pop(new.key, None)
            if label is not None:
                self._creates.labels("success", label).inc()
        keys = list(self._pods_concerned(self._by_claim.of(claim.key), world))
        if new is not None and may_need_release(new.view, world, self._gone.__contains__):
            keys.append(_CLAIM_KEY + new.key)
        return keys

    def _pods_concerned(self, pods: Iterable[str], world: World) -> Iterable[str]:
        for key in pods:
            pod = world.get(KINDS.POD, key)
            if pod is not None:
                yield from _keys_of(pod, world)

    # -- keys ---------------------------------------------------------------------------------------------------------

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return self.decide(key, world, {}, now)

    def questions(self, key: str, world: World, now: float) -> Sequence[Question]:
        claim = world.get(KINDS.RESOURCE_CLAIM, key.removeprefix(_CLAIM_KEY)) if key.startswith(_CLAIM_KEY) else None
        return questions_about(claim, world, self._gone.__contains__) if claim is not None else ()

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        prefix, _, name = key.partition(":")
        if prefix + ":" == _POD_KEY:
            pod = world.get(KINDS.POD, name)
            return self._sync_pod(pod, world) if pod is not None else NOTHING
        claim = world.get(KINDS.RESOURCE_CLAIM, name)
        return Plan(tuple(release(claim, world, answers, self._gone.__contains__))) if claim is not None else NOTHING

    def _sync_pod(self, pod: Object, world: World) -> Plan:
        if pod.view.metadata.deletionTimestamp is not None:
            return NOTHING
        done = sync_pod(pod, world, self.context.gates, self._new_suffix)
        actions: list[Action] = []
        for new in done.creates:
            actions.append(Create(KINDS.RESOURCE_CLAIM, new.document, pod.namespace))
            self._note_creating(new)
        if done.event:
            actions.append(warn(pod, FAILED_CREATION, done.event))
        if done.statuses:
            statuses = [{"name": entry, "resourceClaimName": name} for entry, name in done.statuses]
            actions.append(patch_status(pod, {"resourceClaimStatuses": statuses}))
        actions += [reserve(claim, pod) for claim in done.reserves]
        return Plan(tuple(actions), retries=bool(done.error))

    def _note_creating(self, new: NewClaim) -> None:
        self._creating[new.key] = truth(new.admin_access)
        if len(self._creating) > _MAX_CREATING:
            del self._creating[next(iter(self._creating))]

    def _new_suffix(self) -> str:
        return new_suffix(self.context.random)

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        if not isinstance(action, Create):
            return ()
        metadata = action.document["metadata"]
        label = self._creating.pop(f"{metadata['namespace']}/{metadata['name']}", truth(False))
        self._creates.labels("failure", label).inc()
        pod = world.get(KINDS.POD, key.removeprefix(_POD_KEY))
        if pod is None:
            return ()
        why = f"PodResourceClaim {metadata['annotations'][POD_CLAIM_NAME]}: create ResourceClaim : {error.message}"
        return (warn(pod, FAILED_CREATION, why),)


def _has_claims(pod: Pod) -> bool:
    return bool(pod.spec.resourceClaims) or pod.status.extendedResourceClaimStatus is not None


def _names_the_same(old: Pod, new: Pod) -> bool:
    """Return whether a changed pod shares what names its claims with its older state."""
    return (
        old.spec.resourceClaims is new.spec.resourceClaims
        and old.status.resourceClaimStatuses is new.status.resourceClaimStatuses
    )


def _claims_to_release(found: Object) -> Iterable[str]:
    """Return the keys of all claims of a pod, with that for its extended resources."""
    pod: Pod = found.view
    for name in named_claims(pod):
        yield _CLAIM_KEY + name
    if pod.status.extendedResourceClaimStatus is not None:
        yield f"{_CLAIM_KEY}{found.namespace}/{pod.status.extendedResourceClaimStatus.resourceClaimName}"


def _keys_of(found: Object, world: World) -> Iterable[str]:
    """Return the keys to reconcile for a pod that exists."""
    if is_done(found.view):
        yield from _claims_to_release(found)
    elif pod_needs_work(found.view, world):
        yield _POD_KEY + found.key


_MAX_GONE = 500
#: Distinct labels, shared by all claims.
_SAME: dict[tuple[str, ...], tuple[str, ...]] = {}


class PodsByClaim:
    """Pods by keys of claims, or of templates, that they name."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, None]] = {}
        self._named: dict[str, tuple[str, ...]] = {}

    def set(self, pod: str, names: tuple[str, ...]) -> None:
        """Record what a pod names now; nothing if it is gone."""
        before = self._named.get(pod, ())
        if names == before:
            return
        for name in before:
            pods = self._pods.get(name)
            if pods is not None:
                pods.pop(pod, None)
                if not pods:
                    del self._pods[name]
        for name in names:
            self._pods.setdefault(name, {})[pod] = None
        if names:
            self._named[pod] = names
        else:
            self._named.pop(pod, None)

    def of(self, name: str) -> Iterable[str]:
        """Return the keys of the pods that name a claim or template."""
        return tuple(self._pods.get(name, ()))


def named_claims(pod: Pod) -> tuple[str, ...]:
    """Return the keys of the claims that a pod names, in spec and status."""
    return tuple(f"{namespace}/{name}" for namespace, name in claim_keys(pod))


def named_templates(pod: Pod) -> tuple[str, ...]:
    namespace = pod.metadata.namespace
    names = (entry.resourceClaimTemplateName for entry in pod.spec.resourceClaims)
    return tuple(dict.fromkeys(f"{namespace}/{name}" for name in names if name is not None))


class GonePods:
    """The UIDs of the pods that were deleted last."""

    def __init__(self) -> None:
        self._uids: dict[str, None] = {}

    def __contains__(self, uid: object) -> bool:
        return uid in self._uids

    def add(self, uid: str) -> None:
        self._uids[uid] = None
        if len(self._uids) > _MAX_GONE:
            del self._uids[next(iter(self._uids))]


class ClaimCounts:
    """How many claims there are, by whether they are allocated and have admin access, and by their source."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._labels: dict[str, tuple[str, ...]] = {}  # by the claim's key

    def changed(self, old: Object | None, new: Object | None) -> None:
        claim = new if new is not None else old
        if claim is None:
            return
        before = self._labels.get(claim.key)
        after = _labels(new.view) if new is not None else None
        if before == after:
            return
        if after is None:
            self._labels.pop(claim.key, None)
        else:
            self._labels[claim.key] = _SAME.setdefault(after, after)
        if before is not None:
            self._counts[before] -= 1
            if not self._counts[before]:
                del self._counts[before]
        if after is not None:
            self._counts[after] += 1

    def read(self) -> dict[tuple[str, ...], float]:
        return {labels: float(count) for labels, count in self._counts.items()}


def truth(value: bool) -> str:
    """Return a boolean as metrics' labels have it."""
    return "true" if value else "false"


def _labels(claim: ResourceClaim) -> tuple[str, ...]:
    annotations = claim.metadata.annotations
    source = "resource_claim_template" if annotations.get(POD_CLAIM_NAME) else ""
    if annotations.get(EXTENDED_RESOURCE_CLAIM) == "true":
        source = "extended_resource"
    return truth(claim.status.allocation is not None), truth(wants_admin_access(claim.spec)), source
