"""The table of the controllers of attach: one row each, in the order in which they are listed.

Kubernetes: the controller descriptors of kube-controller-manager.
"""

from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from typing import ClassVar, NamedTuple

from moorage.attached import names
from moorage.control.framework.controller import Controller, ControllerContext


class EvictBy(StrEnum):
    """How a pod is made to leave: deleted, as Kubernetes does for taints, or by the Eviction API and its budgets."""

    DELETE = "delete"
    EVICTION = "eviction"


class AttachedContext(NamedTuple):
    """What every controller of attach is constructed with. `namespace` is that of the installation."""

    framework: ControllerContext
    namespace: str = names.NAMESPACE
    evict_by: EvictBy = EvictBy.DELETE


class AttachedController(Controller):
    """A controller of attach."""

    #: The reporting component in events.
    component: ClassVar[str] = names.CONTROLLER

    def __init__(self, attached: AttachedContext) -> None:
        super().__init__(attached.framework)
        self.attached = attached


class AttachedRow(NamedTuple):
    """One controller. Its module is imported when it is made."""

    name: str
    module: str
    class_name: str

    def make(self, attached: AttachedContext) -> Controller:
        module = import_module(f"moorage.attached.controller.{self.module}")
        controller: Callable[[AttachedContext], Controller] = getattr(module, self.class_name)
        return controller(attached)


CONTROLLERS: tuple[AttachedRow, ...] = (
    AttachedRow("node-labels", "node_labels", "NodeLabels"),
    AttachedRow("lowered-eviction", "eviction", "LoweredEviction"),
    AttachedRow("pod-repair", "pod_repair", "PodRepair"),
    AttachedRow("template-repair", "template_repair", "TemplateRepair"),
    AttachedRow("waiting-pods", "waiting_pods", "WaitingPods"),
    AttachedRow("certificates", "certificates", "CertificatesController"),
)
