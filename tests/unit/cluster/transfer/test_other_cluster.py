"""What another API server has and Moorage does not serve is counted, as far as that server tells."""

import json
from typing import Any, cast

import pytest

from moorage.client.http_client import HttpClient
from moorage.client.protocol import Listing
from moorage.cluster.cannot_start import CannotStart
from moorage.cluster.transfer.other_cluster import read_live
from moorage.model.api_error import failure
from moorage.model.kinds import Kind

LIST = ["list"]
PAGES: dict[str, Any] = {
    "/apis": {"groups": [{"preferredVersion": {"groupVersion": "rbac.authorization.k8s.io/v1"}}, {}]},
    "/api/v1": {
        "resources": [
            {"name": "pods", "kind": "Pod", "verbs": LIST},
            {"name": "pods/status", "kind": "Pod", "verbs": ["get"]},
            {"name": "componentlogs", "kind": "ComponentLog", "verbs": LIST},
            {"name": "limitranges", "kind": "LimitRange", "verbs": LIST},
        ]
    },
    "/api/v1/componentlogs?limit=1": {"items": [{}], "metadata": {"remainingItemCount": 6}},
    "/api/v1/limitranges?limit=1": {"items": []},
    "/apis/rbac.authorization.k8s.io/v1": {"resources": [{"name": "roles", "kind": "Role", "verbs": LIST}]},
}


class _Server:
    """Answers as an API server would; kinds in `refused` cannot be listed."""

    def __init__(self, *refused: str) -> None:
        self._refused = refused

    async def list_all(self, kind: Kind) -> Listing:
        if kind.name in self._refused:
            raise failure(403, "Forbidden", f"{kind.plural} is forbidden")
        return Listing([], 1)

    async def get_path(self, path: str) -> bytes:
        if path not in PAGES:
            raise failure(403, "Forbidden", "no")
        return json.dumps(PAGES[path]).encode()


async def test_unserved_kinds_are_counted_and_unreadable_ones_named() -> None:
    found = await read_live(cast(HttpClient, _Server("ConfigMap")), "https://prod")
    assert found.unserved == {"ComponentLog (v1)": 7}
    assert found.notes == ["--from: configmaps were not read: configmaps is forbidden"]


async def test_nodes_and_pods_must_be_readable() -> None:
    with pytest.raises(CannotStart, match="--from: https://prod: pods cannot be listed: pods is forbidden"):
        await read_live(cast(HttpClient, _Server("Pod")), "https://prod")
