"""Keep the certificates of the webhook: its Secret, and the authorities that webhook configurations trust.

The Secret is looked up, not watched, so that the right to read one Secret is enough; configurations are watched, so
that a `caBundle` that something resets is repaired at once. Nothing is done where cert-manager does it.
Kubernetes: cert-manager and its CA injector.
"""

from collections.abc import Callable, Iterable

from moorage.attached import names
from moorage.attached.certificates.configurations import is_known_to, is_ours, trust_patch
from moorage.attached.certificates.pairs import Pair, make_pair, seconds_left
from moorage.attached.certificates.rotation import Held, advanced, due_in
from moorage.attached.certificates.secret import bundle_of, changed_secret, held_in, new_secret
from moorage.attached.controller.registry import AttachedContext, AttachedController
from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Action, Answers, Create, Patch, Plan, Question, Update, note
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, Kind

KEY = "certificates"
#: How often the Secret is looked at, which is not watched.
_LOOK_EVERY = 300.0
_LABELS = {"app.kubernetes.io/part-of": "moorage-attach", "app.kubernetes.io/managed-by": names.CONTROLLER}


class CertificatesController(AttachedController):
    """Makes, replaces and distributes the certificates of one installation."""

    name = "certificates"
    watches = (KINDS.MUTATING_WEBHOOK_CONFIGURATION,)
    workers = 1

    def __init__(self, attached: AttachedContext, make: Callable[[str, float], Pair] = make_pair) -> None:
        super().__init__(attached)
        self._make = make

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return (KEY,) if any(self._is_ours(each) for each in (old, new)) else ()

    def questions(self, key: str, world: World, now: float) -> list[Question]:
        return [Question(KINDS.SECRET, self.attached.namespace, names.CERTIFICATES)] if self._ours(world) else []

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return NOTHING  # no configuration calls this installation

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        configurations = self._ours(world)
        if not configurations:
            return NOTHING
        secret = next((found for each in answers.values() for found in each), None)
        held = Held() if secret is None else held_in(secret.raw)
        is_known = all(is_known_to(each.raw, self.attached.namespace, held.authorities) for each in configurations)
        wanted = advanced(held, self.attached.namespace, is_known, now, self._make)
        actions: list[Action] = [*self._kept(secret, held, wanted, now), *self._trusted(configurations, wanted)]
        return Plan(tuple(actions), again_after=min(max(due_in(wanted, now), 1.0), _LOOK_EVERY))

    def _kept(self, secret: Object | None, held: Held, wanted: Held, now: float) -> Iterable[Action]:
        """Write the Secret; it is refused if another has written it since it was looked up."""
        namespace = self.attached.namespace
        if secret is None:
            yield Create(KINDS.SECRET, new_secret(namespace, wanted, _LABELS), namespace)
            return
        if wanted == held:
            return
        yield Update(KINDS.SECRET, changed_secret(secret.raw, wanted))
        if wanted.served != held.served and wanted.served is not None:
            days = int(seconds_left(wanted.served.certificate, now) // 86_400)
            yield note(secret, "CertificateReplaced", f"The webhook serves a new certificate, valid for {days} days")

    def _trusted(self, configurations: Iterable[Object], wanted: Held) -> Iterable[Action]:
        bundle = bundle_of(wanted)
        for each in configurations:
            if (patch := trust_patch(each.raw, self.attached.namespace, bundle)) is not None:
                yield Patch(each.kind, "", each.name, patch)

    def _ours(self, world: World) -> list[Object]:
        return [each for each in world.all(KINDS.MUTATING_WEBHOOK_CONFIGURATION) if self._is_ours(each)]

    def _is_ours(self, found: Object | None) -> bool:
        return found is not None and is_ours(found.raw, self.attached.namespace)
