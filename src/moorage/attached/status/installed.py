"""Read from a live installation with which settings it was made, so that the same can be printed again.

What can be chosen is taken from the Deployments: image, replicas, options. Kubernetes: helm get values.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from moorage.attach.policies.lowering import LOWERED_BEFORE
from moorage.attached import names
from moorage.attached.certificates.configurations import CERT_MANAGER
from moorage.attached.install.settings import ACCEPT, PRIORITY_CLASS, REFUSE, VERSION_LABEL, Installation, Workload
from moorage.attached.status.snapshot import Snapshot
from moorage.model.kinds import KINDS

Raw = dict[str, Any]

#: What a command line has in the place of an image that is not known.
ANY_IMAGE = "IMAGE"
NEW_COMPARISONS = "--new-comparisons"


class Component(NamedTuple):
    """A Deployment of the installation."""

    name: str
    deployment: Raw | None

    @property
    def container(self) -> Raw:
        containers = _pod(self.deployment).get("containers") or [{}]
        return containers[0] if isinstance(containers[0], dict) else {}

    @property
    def image(self) -> str:
        return str(self.container.get("image") or "")

    @property
    def release(self) -> str:
        """Return the release whose manifests were applied."""
        return release_of(self.deployment)

    @property
    def replicas(self) -> int:
        replicas = (self.deployment or {}).get("spec", {}).get("replicas", 1)
        return replicas if isinstance(replicas, int) else 1

    @property
    def ready(self) -> int:
        ready = ((self.deployment or {}).get("status") or {}).get("readyReplicas", 0)
        return ready if isinstance(ready, int) else 0

    def argument(self, option: str, default: str) -> str:
        found = (text.partition("=")[2] for text in self.container.get("args") or () if text.startswith(f"{option}="))
        return next(found, default)


def release_of(document: Raw | None) -> str:
    labels = ((document or {}).get("metadata") or {}).get("labels") or {}
    return str(labels.get(VERSION_LABEL) or "")


def components(snapshot: Snapshot) -> tuple[Component, Component]:
    """Return webhook and controller."""
    webhook, controller = (
        Component(name, snapshot.find(KINDS.DEPLOYMENT, name, snapshot.namespace))
        for name in (names.WEBHOOK, names.CONTROLLER)
    )
    return webhook, controller


def other_namespaces(snapshot: Snapshot) -> list[str]:
    """Return the other namespaces in which attach is installed."""
    found = (each.namespace for each in snapshot.of(KINDS.DEPLOYMENT) if each.name in (names.WEBHOOK, names.CONTROLLER))
    return sorted({namespace for namespace in found if namespace != snapshot.namespace})


def is_policies_only(snapshot: Snapshot) -> bool:
    """Whether the API server itself lowers, by a policy and without the webhook."""
    webhook, _ = components(snapshot)
    has_configuration = snapshot.find(KINDS.MUTATING_WEBHOOK_CONFIGURATION, names.LOWERING) is not None
    has_policy = snapshot.find(KINDS.MUTATING_ADMISSION_POLICY, names.LOWERING) is not None
    return has_policy and not has_configuration and webhook.deployment is None


def refuses_new(snapshot: Snapshot) -> bool:
    """Whether objects are refused that were not lowered before."""
    if is_policies_only(snapshot):
        policy = snapshot.find(KINDS.MUTATING_ADMISSION_POLICY, names.LOWERING) or {}
        conditions = (policy.get("spec") or {}).get("matchConditions") or []
        return any(each.get("name") == LOWERED_BEFORE for each in conditions)
    webhook, _ = components(snapshot)
    return webhook.deployment is not None and webhook.argument(NEW_COMPARISONS, ACCEPT) == REFUSE


def installation_of(snapshot: Snapshot) -> Installation:
    """Return the settings of what is installed; the defaults for what is not there."""
    webhook, controller = components(snapshot)
    some = controller if controller.deployment is not None else webhook
    pod = _pod(some.deployment)
    return Installation(
        image=some.image or ANY_IMAGE,
        minor=snapshot.minor,
        namespace=snapshot.namespace,
        policies_only=is_policies_only(snapshot),
        cert_manager=any(CERT_MANAGER in _annotations(each) for each in _configurations(snapshot)),
        evict_by=controller.argument("--evict-by", "delete"),
        native=webhook.argument("--native", "auto"),
        pull_policy=some.container.get("imagePullPolicy") or "IfNotPresent",
        pull_secrets=pod.get("imagePullSecrets") or (),
        priority_class=pod.get("priorityClassName") or PRIORITY_CLASS,
        node_selector=pod.get("nodeSelector"),
        tolerations=pod.get("tolerations"),
        webhook=_workload(webhook),
        controller=_workload(controller),
        new_comparisons=REFUSE if refuses_new(snapshot) else ACCEPT,
    )


def install_command(installation: Installation) -> str:
    """Return the command that prints an installation with these settings, and applies it."""
    options = ["moorage attach install", f"--image {installation.image}"]
    if installation.namespace != names.NAMESPACE:
        options.append(f"--namespace {installation.namespace}")
    for option, is_set in (
        ("--policies-only", installation.policies_only),
        ("--cert-manager", installation.cert_manager),
    ):
        if is_set:
            options.append(option)
    options += _differing(installation)
    return f"{' '.join(options)} | kubectl apply -f -"


def _differing(installation: Installation) -> Iterator[str]:
    default = Installation(installation.image)
    for option, value, usual in (
        ("--evict-by", installation.evict_by, default.evict_by),
        ("--native", installation.native, default.native),
        (NEW_COMPARISONS, installation.new_comparisons, default.new_comparisons),
        ("--priority-class", installation.priority_class, default.priority_class),
        ("--replicas", installation.controller.replicas, default.controller.replicas),
    ):
        if value != usual:
            yield f"{option} {value}"


def _configurations(snapshot: Snapshot) -> Iterable[Raw]:
    for name in (names.LOWERING, names.MIRRORING):
        if (found := snapshot.find(KINDS.MUTATING_WEBHOOK_CONFIGURATION, name)) is not None:
            yield found


def _workload(component: Component) -> Workload:
    if component.deployment is None:
        return Workload()
    return Workload(component.replicas, component.container.get("resources") or {})


def _pod(deployment: Raw | None) -> Raw:
    pod: Raw = (((deployment or {}).get("spec") or {}).get("template") or {}).get("spec") or {}
    return pod


def _annotations(document: Raw) -> Raw:
    return (document.get("metadata") or {}).get("annotations") or {}
