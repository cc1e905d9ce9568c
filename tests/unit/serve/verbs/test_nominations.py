"""Binding clears a pod's nomination, if the gate ClearingNominatedNodeNameAfterBinding is on (assignPod)."""

import pytest

from moorage.model.api_error import ApiError
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore


@pytest.mark.parametrize("is_on", [True, False])
async def test_binding_clears_the_nomination_by_its_gate(is_on: bool) -> None:
    api = Api(MemoryStore(), gates_from({"ClearingNominatedNodeNameAfterBinding": is_on}))
    await bootstrap(api, 443)
    client = LoopbackClient(api, "test")
    for name in ("first", "second"):
        metadata = {"name": name, "namespace": "default"}
        made = await client.create(
            KINDS.POD, {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}]}}, "default"
        )
        patch = {"status": {"nominatedNodeName": "n1"}}
        await client.patch(KINDS.POD, name, "default", patch, subresource="status")
        await client.bind("default", name, made.uid, "n1")
        bound = (await client.get(KINDS.POD, name, "default")).raw
        assert bound["status"].get("nominatedNodeName") == (None if is_on else "n1")
        again = {"status": {"nominatedNodeName": "n2"}}
        if is_on:
            with pytest.raises(ApiError, match="may not be set on pods that are already bound to a node"):
                await client.patch(KINDS.POD, name, "default", again, subresource="status")
        else:
            await client.patch(KINDS.POD, name, "default", again, subresource="status")
