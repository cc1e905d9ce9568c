"""Reconcile one claim: bind, provision, expand, or wait. Kubernetes: syncClaim.

A claim that names a volume gets that one or none. Any other gets a volume that names it, else the smallest free one
that matches, else a new one. With WaitForFirstConsumer the scheduler chooses: it makes a volume name the claim, or the
claim name a node. Differs: events are reported when they are new, not every 15 seconds; no CSI migration.
"""

from collections.abc import Sequence

from moorage.client.protocol import Object
from moorage.control.framework.actions import Action, Answers, Plan, Question, Report, Update, note, warn
from moorage.control.framework.world import World
from moorage.control.volumes import written
from moorage.control.volumes.provisioning import Provisioner, expand
from moorage.control.volumes.volume_index import PodUses, VolumeIndex, is_over
from moorage.control.volumes.written import LOST, PENDING
from moorage.match.volumes.claims import BIND_COMPLETED, SELECTED_NODE, claim_class, default_class
from moorage.match.volumes.volume_matching import is_reserved_for, why_not_requested
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS
from moorage.model.types.storage import PersistentVolumeClaim
from moorage.model.well_known.annotations import BETA_STORAGE_CLASS, BOUND_BY_CONTROLLER

_DELAYED = "WaitForFirstConsumer"
FAILED_BINDING, VOLUME_MISMATCH = "FailedBinding", "VolumeMismatch"
_NO_VOLUME = "no persistent volumes available for this claim and no storage class is set"
_NO_REFERENCE = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
_VOLUME_GONE = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
_TWO_CLAIMS = "Two claims are bound to the same volume, this one is bound incorrectly"


class ClaimSync:
    """Plans for claims."""

    def __init__(self, shelf: VolumeIndex, uses: PodUses, provisioner: Provisioner) -> None:
        self._shelf, self._uses, self._provisioner = shelf, uses, provisioner
        self._said: dict[str, tuple[str, str]] = {}  # reason and message of the last event
        self._given_class: set[str] = set()

    def questions(self, claim: Object, world: World) -> Sequence[Question]:
        """Look up a volume that is not in the caches before its claim is declared Lost."""
        view: PersistentVolumeClaim = claim.view
        name = view.spec.volumeName
        if BIND_COMPLETED in view.metadata.annotations and name and view.status.phase != LOST:
            return (
                ()
                if world.get(KINDS.PERSISTENT_VOLUME, name) is not None
                else (Question(KINDS.PERSISTENT_VOLUME, "", name),)
            )
        return ()

    def plan(self, key: str, claim: Object | None, world: World, answers: Answers) -> Plan:
        returned = self._shelf.give_back(key)
        self._given_class.discard(key)
        if claim is None:
            self._said.pop(key, None)
            return Plan(wakes=self._waiting_too(returned, "", world))
        view: PersistentVolumeClaim = claim.view
        if BIND_COMPLETED in view.metadata.annotations:
            actions = self._bound(key, claim, world, answers)
        elif view.spec.volumeName:
            actions = self._requested(key, claim, world)
        else:
            return self._unbound(key, claim, world, returned)
        return Plan(actions, wakes=self._waiting_too(returned, "", world))

    def gave_class(self, key: str) -> bool:
        """Return, once, whether the last plan for a claim set the default class."""
        is_given = key in self._given_class
        self._given_class.discard(key)
        return is_given

    # -- without a volume ---------------------------------------------------------------------------------------------

    def _unbound(self, key: str, claim: Object, world: World, returned: str) -> Plan:
        view: PersistentVolumeClaim = claim.view
        name = claim_class(view)
        storage_class = world.view(KINDS.STORAGE_CLASS, name) if name else None
        is_delayed = storage_class is not None and storage_class.volumeBindingMode == _DELAYED
        volume = self._shelf.best(key, view, world, delayed=is_delayed)
        if volume is not None:
            self._shelf.choose(volume.name, key)
            return Plan(written.bind(volume, claim), wakes=self._waiting_too(returned, volume.name, world))
        wakes = self._waiting_too(returned, "", world)
        if view.spec.storageClassName is None and BETA_STORAGE_CLASS not in view.metadata.annotations:
            default = default_class(one.view for one in world.all(KINDS.STORAGE_CLASS))
            if default is not None:
                self._given_class.add(key)
                spec = {**claim.raw["spec"], "storageClassName": default.metadata.name}
                return Plan((Update(KINDS.PERSISTENT_VOLUME_CLAIM, written.changed(claim, spec=spec)),), wakes=wakes)
        if is_delayed and SELECTED_NODE not in view.metadata.annotations:
            report = self._waits_for(key, claim)
        elif name:
            actions, says = self._provisioner.provision(claim, world)
            return Plan((*actions, *self._say(key, says)), wakes=wakes)
        else:
            report = note(claim, FAILED_BINDING, _NO_VOLUME)
        return Plan((*self._say(key, report), *written.claim_status(claim, PENDING)), wakes=wakes)

    def _waits_for(self, key: str, claim: Object) -> Report:
        pods = [found.name for found in self._uses.of(key) if not found.view.spec.nodeName and not is_over(found.view)]
        if not pods:
            return note(claim, _DELAYED, "waiting for first consumer to be created before binding")
        whom = f"pod {pods[0]}" if len(pods) == 1 else f"pods {','.join(pods)}"
        return note(claim, "WaitForPodScheduled", f"waiting for {whom} to be scheduled")

    def _waiting_too(self, returned: str, taken: str, world: World) -> tuple[str, ...]:
        """Return the claims that may take the volume which this claim has given back."""
        found = world.get(KINDS.PERSISTENT_VOLUME, returned) if returned and returned != taken else None
        return tuple(self._shelf.waiting_for(found.view)) if found is not None else ()

    # -- with a volume ------------------------------------------------------------------------------------------------

    def _requested(self, key: str, claim: Object, world: World) -> tuple[Action, ...]:
        view: PersistentVolumeClaim = claim.view
        volume = world.get(KINDS.PERSISTENT_VOLUME, view.spec.volumeName)
        if volume is None:
            return written.claim_status(claim, PENDING)
        if volume.view.spec.claimRef is None:
            why_not = why_not_requested(volume.view, view)
            if why_not is None:
                return written.bind(volume, claim)
            text = f"Cannot bind to requested volume {go_quote(volume.name)}: {why_not}"
            report = warn(claim, VOLUME_MISMATCH, text)
        elif is_reserved_for(volume.view, view):
            return written.bind(volume, claim)
        else:
            text = f"volume {go_quote(volume.name)} already bound to a different claim."
            report = warn(claim, FAILED_BINDING, text)
            if BOUND_BY_CONTROLLER in view.metadata.annotations:
                return self._say(key, report)
        return (*self._say(key, report), *written.claim_status(claim, PENDING))

    def _bound(self, key: str, claim: Object, world: World, answers: Answers) -> tuple[Action, ...]:
        name = claim.view.spec.volumeName
        if not name:
            return _lost(claim, "ClaimLost", _NO_REFERENCE)
        volume = world.get(KINDS.PERSISTENT_VOLUME, name) or next(
            iter(answers.get(Question(KINDS.PERSISTENT_VOLUME, "", name), ())), None
        )
        if volume is None:
            return _lost(claim, "ClaimLost", _VOLUME_GONE)
        reference = volume.view.spec.claimRef
        if reference is not None and reference.uid != claim.uid:
            return _lost(claim, "ClaimMisbound", _TWO_CLAIMS)
        actions, says = written.bind(volume, claim), None
        if not actions:
            actions, says = expand(claim, volume, self._provisioner)
        if says is None:
            self._said.pop(key, None)
        return (*actions, *self._say(key, says))

    def _say(self, key: str, report: Report | None) -> tuple[Action, ...]:
        if report is None or self._said.get(key) == (report.reason, report.message):
            return ()
        self._said[key] = (report.reason, report.message)
        return (report,)


def _lost(claim: Object, reason: str, message: str) -> tuple[Action, ...]:
    if claim.view.status.phase == LOST:
        return ()
    return (*written.claim_status(claim, LOST), warn(claim, reason, message))
