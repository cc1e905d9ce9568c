"""Check the pieces of an installation: the cluster, its policies and configurations, Deployments, Lease, certificates.

Kubernetes: conditions of Deployments, Leases, `caBundle`. Differs: every problem names the command that mends it.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from moorage import __version__
from moorage.attached import names
from moorage.attached.certificates.configurations import trusted_by, webhooks_of
from moorage.attached.certificates.pairs import LIFETIME_DAYS, complaint_about_trust, seconds_left
from moorage.attached.certificates.secret import held_in
from moorage.attached.install.settings import Installation
from moorage.attached.native import COMPARING
from moorage.attached.status.as_printed import Compared
from moorage.attached.status.finding import Item, Section, fine, note, section, unknown, wrong
from moorage.attached.status.installed import Component, components, install_command, other_namespaces, refuses_new
from moorage.attached.status.snapshot import Snapshot
from moorage.client.leader_election import read_record
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS

Raw = dict[str, Any]

_DAY: Final = 86_400
#: A certificate is replaced when two thirds of its time are over; a few days later something is wrong.
_LEAST_DAYS: Final = LIFETIME_DAYS / 3 - 5
_LOWERING_KINDS: Final = (
    KINDS.MUTATING_ADMISSION_POLICY,
    KINDS.MUTATING_ADMISSION_POLICY_BINDING,
    KINDS.MUTATING_WEBHOOK_CONFIGURATION,
)


def check_cluster(snapshot: Snapshot) -> Section:
    """Say which version and which operators the cluster has, and the way over to them."""
    native = [name for name in COMPARING if name in snapshot.native]
    attached = [name for name in (*COMPARING, "CEL") if name not in native]
    items = [fine(f"Kubernetes {snapshot.version.removeprefix('v')}")]
    if not snapshot.gates.values:
        why = "; ".join(snapshot.gates.problems) or "the API server does not tell"
        items.append(unknown(f"which operators the cluster knows: {why}"))
    elif native:
        items.append(fine(f"the cluster knows {', '.join(native)}; lowered are {', '.join(attached)}"))
    else:
        items.append(fine(f"the cluster knows none of the operators; lowered are {', '.join(attached)}"))
    elsewhere = other_namespaces(snapshot)
    if elsewhere:
        text = f"moorage attach is also installed in namespace {', '.join(elsewhere)}"
        items.append(wrong(text, f"moorage attach status --namespace {elsewhere[0]}"))
    return section("cluster", items, version=snapshot.version, native=native)


# -- what is applied ---------------------------------------------------------------------------------------------------


def check_mirroring(snapshot: Snapshot, found: Sequence[Compared], installation: Installation) -> Section:
    """Check what mirrors nodes."""
    return _check_applied("mirror", names.MIRRORING, snapshot, found, installation)


def check_lowering(snapshot: Snapshot, found: Sequence[Compared], installation: Installation) -> Section:
    """Check what lowers pods and templates."""
    return _check_applied("lowering", names.LOWERING, snapshot, found, installation)


def _check_applied(
    title: str, name: str, snapshot: Snapshot, found: Sequence[Compared], installation: Installation
) -> Section:
    own = [each for each in found if each.name == name and each.kind in _LOWERING_KINDS]
    items = _applied(own, installation) or [fine(f"{_listed(own)}: as this release prints {_it(own)}")]
    if name == names.MIRRORING and installation.has_policies and _find_old_mirror(snapshot):
        plural = KINDS.MUTATING_WEBHOOK_CONFIGURATION.plural
        items.append(note("nodes are mirrored by a webhook, too, as before 1.36", f"kubectl delete {plural} {name}"))
    return section(title, items, objects=[_state(each) for each in own])


def _find_old_mirror(snapshot: Snapshot) -> Raw | None:
    return snapshot.find(KINDS.MUTATING_WEBHOOK_CONFIGURATION, names.MIRRORING)


def _it(found: Sequence[Compared]) -> str:
    return "it" if len(found) == 1 else "them"


def check_objects(snapshot: Snapshot, found: Sequence[Compared], installation: Installation) -> Section:
    """Check all else that was applied: accounts, rights, the Service, budgets."""
    own = [each for each in found if each.kind not in _LOWERING_KINDS and each.kind is not KINDS.DEPLOYMENT]
    items = _applied(own, installation) or [fine(f"{len(own)} objects: accounts, rights, Service and budgets")]
    return section("objects", items, objects=[_state(each) for each in own])


def _applied(found: Sequence[Compared], installation: Installation) -> list[Item]:
    """Return what is wrong with objects; nothing if they are as printed."""
    again = install_command(installation)
    items: list[Item] = []
    for each in found:
        what = f"{each.kind.name} {each.name}"
        if each.unread:
            items.append(unknown(f"{what}: {each.unread}"))
        elif each.live is None:
            items.append(wrong(f"{what} is absent", again))
        elif each.difference and each.release not in ("", __version__):
            items.append(note(f"{what} is of release {each.release}, this command of {__version__}", again))
        elif each.difference:
            items.append(wrong(f"{what} is not as it is printed: {each.difference}", again))
    return items


def _state(compared: Compared) -> Raw:
    state = "not checked" if compared.unread else "absent" if compared.live is None else ""
    state = state or ("different" if compared.difference else "as printed")
    return {
        "kind": compared.kind.name,
        "name": compared.name,
        "state": state,
        **({"difference": compared.difference} if compared.difference else {}),
        **({"release": compared.release} if compared.release else {}),
    }


def _listed(found: Sequence[Compared]) -> str:
    return " and ".join(f"{each.kind.name} {each.name}" for each in found)


# -- what runs ---------------------------------------------------------------------------------------------------------


def check_webhook(snapshot: Snapshot, installation: Installation) -> Section:
    """Check the Deployment of the webhook."""
    webhook, _ = components(snapshot)
    if installation.policies_only:
        return section("webhook", [fine("none: the API server lowers Lt and Gt by a policy")])
    means = "operators that Kubernetes does not know are refused, and lowered templates cannot be changed"
    items = list(_of_deployment(snapshot, webhook, installation, means))
    if refuses_new(snapshot):
        items.append(note("refuses new comparisons, because attach is to be uninstalled", "moorage attach uninstall"))
    return section("webhook", items, **_facts(webhook))


def check_controller(snapshot: Snapshot, installation: Installation) -> Section:
    """Check the Deployment of the controller, and its leader."""
    _, controller = components(snapshot)
    means = "no pod is evicted by a value, and match labels are not written"
    items = list(_of_deployment(snapshot, controller, installation, means))
    holder = ""
    if controller.deployment is not None:
        found, holder = _leader(snapshot)
        items.append(found)
    return section("controller", items, **_facts(controller), leader=holder)


def _facts(component: Component) -> Raw:
    return {
        "release": component.release,
        "image": component.image,
        "replicas": component.replicas if component.deployment is not None else 0,
        "ready": component.ready,
    }


def _of_deployment(snapshot: Snapshot, component: Component, installation: Installation, means: str) -> Iterator[Item]:
    if why := snapshot.why_unread(KINDS.DEPLOYMENT):
        yield unknown(f"Deployment {component.name}: {why}")
        return
    if component.deployment is None:
        yield wrong(f"Deployment {component.name} is absent: {means}", install_command(installation))
        return
    ready = f"{component.ready} of {component.replicas} replicas are ready, image {component.image}"
    look = f"kubectl -n {snapshot.namespace} describe pods -l app.kubernetes.io/name={component.name}"
    scale = f"kubectl -n {snapshot.namespace} scale deployment {component.name} --replicas=2"
    if not component.ready:
        yield wrong(f"{ready}: {means}", look if component.replicas else scale)
    elif component.ready < component.replicas:
        yield wrong(ready, look)
    else:
        yield fine(ready)
    if component.release and component.release != __version__:
        text = f"is of release {component.release}, this command of {__version__}"
        yield note(text, install_command(installation))


def _leader(snapshot: Snapshot) -> tuple[Item, str]:
    if why := snapshot.why_unread(KINDS.LEASE):
        return unknown(f"the Lease {names.CONTROLLER}: {why}"), ""
    lease = snapshot.find(KINDS.LEASE, names.CONTROLLER, snapshot.namespace)
    logs = f"kubectl -n {snapshot.namespace} logs -l app.kubernetes.io/name={names.CONTROLLER} --tail=50"
    if lease is None:
        return wrong(f"there is no Lease {names.CONTROLLER}: no replica has led yet", logs), ""
    record = read_record(lease)
    renewed = seconds_of(record.renewed)
    if not record.holder or renewed is None:
        return wrong("no replica leads: the Lease has no holder", logs), ""
    late = snapshot.now - renewed
    if late > record.seconds:
        return wrong(f"no replica leads: {record.holder} renewed the Lease {round(late)} s ago", logs), ""
    return fine(f"{record.holder} leads"), record.holder


# -- certificates ------------------------------------------------------------------------------------------------------


def check_certificates(snapshot: Snapshot, installation: Installation) -> Section:
    """Check the webhook's certificate, and whether every configuration trusts it."""
    if installation.policies_only:
        return section("certificates", [fine("none are needed without a webhook")])
    if why := snapshot.why_unread(KINDS.SECRET):
        return section("certificates", [unknown(f"Secret {names.CERTIFICATES}: {why}")])
    secret = snapshot.find(KINDS.SECRET, names.CERTIFICATES, snapshot.namespace)
    mend = _mend_certificate(snapshot, installation)
    held = held_in(secret) if secret is not None else None
    if held is None or held.served is None:
        text = "is absent" if held is None else "has no certificate that can be read"
        return section("certificates", [wrong(f"Secret {names.CERTIFICATES} {text}: the webhook waits for it", mend)])
    items, days = _of_certificate(snapshot, held.served.certificate, mend, is_replaced=held.coming is not None)
    items += _of_trust(snapshot, held.served.certificate, mend)
    return section("certificates", items, daysLeft=days)


def _mend_certificate(snapshot: Snapshot, installation: Installation) -> str:
    if installation.cert_manager:
        return f"kubectl -n {snapshot.namespace} describe certificate {names.CERTIFICATES}"
    return f"kubectl -n {snapshot.namespace} rollout restart deployment {names.CONTROLLER}"


def _of_certificate(snapshot: Snapshot, certificate: bytes, mend: str, *, is_replaced: bool) -> tuple[list[Item], int]:
    try:
        days = int(seconds_left(certificate, snapshot.now) // _DAY)
    except ValueError:
        return [wrong("the certificate cannot be read", mend)], 0
    if days < 0:
        return [wrong("the certificate has expired: no API server calls the webhook", mend)], days
    text = f"{days} days left"
    if is_replaced:
        return [fine(f"{text}; the next one is served soon")], days
    if days < _LEAST_DAYS:
        return [wrong(f"{text}: it should have been replaced", mend)], days
    return [fine(text)], days


def _of_trust(snapshot: Snapshot, certificate: bytes, mend: str) -> Iterator[Item]:
    agreeing: list[str] = []
    for name in (names.LOWERING, names.MIRRORING):
        configuration = snapshot.find(KINDS.MUTATING_WEBHOOK_CONFIGURATION, name)
        if configuration is None:
            continue
        why = ""
        for webhook in webhooks_of(configuration, snapshot.namespace):
            why = why or complaint_about_trust(certificate, trusted_by(webhook), snapshot.namespace, snapshot.now)
        if why and "no trusted authority" in why:
            yield wrong(f"caBundle of {name} does not trust the certificate that is served", mend)
        elif why:
            yield wrong(f"{name}: {why}", mend)
        else:
            agreeing.append(name)
    if agreeing:
        yield fine(f"caBundle of {' and '.join(agreeing)} trust{'s' if len(agreeing) == 1 else ''} it")
