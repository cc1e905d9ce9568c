"""Run a node autoscaler beside the controllers of a cluster, under an identity with the rights that it needs.

Most clusters have none: what it thinks with is imported only where one is made.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from moorage.client.protocol import Client
from moorage.control.framework.controller import ControllerContext
from moorage.model.api_error import ApiError
from moorage.model.declared_features import features_of_kubelet
from moorage.model.gates import Component, GateSet
from moorage.model.kinds import KINDS
from moorage.schedule.config.configured_scheduler import Configuration
from moorage.serve.access.bootstrap.policy import added_policy
from moorage.serve.pki.authentication import AUTHENTICATED, User

if TYPE_CHECKING:
    from moorage.autoscale.controller import NodeAutoscaler
    from moorage.plan.autoscaling.attached import Autoscaling

NODE_AUTOSCALER: Final = User("moorage:node-autoscaler", groups=(AUTHENTICATED,))
_ROLES = """
moorage:node-autoscaler
  create delete patch | core | nodes
  create | core | pods/eviction
  report | core events.k8s.io | events
"""
_BINDINGS = """
moorage:node-autoscaler = ClusterRole moorage:node-autoscaler
  User moorage:node-autoscaler
"""


async def ensure_rights(client: Client) -> None:
    """Create the role of the autoscaler and its binding, unless they are there."""
    for document in added_policy(_ROLES, _BINDINGS):
        kind = KINDS[document["apiVersion"], document["kind"]]
        with suppress(ApiError):
            await client.create(kind, document)


def make_autoscaler(
    autoscaling: Autoscaling,
    context: ControllerContext,
    gates: dict[Component, GateSet],
    configuration: Configuration,
) -> NodeAutoscaler:
    """Return the controller; it thinks with the scheduler's gates and configuration."""
    from moorage.plan.autoscaling.attached import AUTOSCALERS

    features = tuple(features_of_kubelet(gates[Component.KUBELET]))
    setup = autoscaling.setup(configuration, features)
    return AUTOSCALERS[autoscaling.scaler](context._replace(gates=gates[Component.SCHEDULER]), setup)
