"""Let the kubelets of nodes that come into a simulation say that they are ready, as the input's nodes do at once."""

from collections.abc import Sequence

from moorage.client.protocol import Object
from moorage.model.kinds import KINDS
from moorage.plan.simulation.api import SimulatedApi
from moorage.run.node_objects import node_status


class NewNodes:
    """Nodes of which their kubelets have said nothing yet."""

    def __init__(self, api: SimulatedApi, features: Sequence[str]) -> None:
        self._api, self._features = api, features
        self._names: dict[str, None] = {}

    def note(self, node: Object) -> None:
        """Remember a new node, unless its status says already whether it is ready."""
        if not _has_ready(node):
            self._names[node.name] = None

    def report(self) -> None:
        """Write the status of the nodes that were noted, as their kubelets do."""
        api = self._api
        for name in self._names:
            found = api.world.get(KINDS.NODE, name)
            if found is not None and not _has_ready(found):
                number = api.world.count(KINDS.NODE)
                report = node_status(found.view, number, api.clock.now, features=self._features)
                api.patch(KINDS.NODE, name, "", {"status": report}, "status")
        self._names.clear()


def _has_ready(node: Object) -> bool:
    return any(one.type == "Ready" for one in node.view.status.conditions)
