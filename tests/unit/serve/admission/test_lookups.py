"""The admission chain of the server looks up what its store has, from the moment it is written."""

from typing import Any

import pytest

from moorage.model.api_error import ApiError
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore

Raw = dict[str, Any]
RANGE = {"limits": [{"type": "Container", "min": {"cpu": "5"}}]}


def pod(name: str, cpu: str = "1") -> Raw:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


async def started() -> tuple[LoopbackClient, Api]:
    api = Api(MemoryStore(), default_gates())
    await api.start()
    await bootstrap(api, 443)
    return LoopbackClient(api, "test"), api


async def test_a_pod_gets_the_pull_secrets_of_its_account() -> None:
    client, _ = await started()
    account = {"metadata": {"name": "default"}, "imagePullSecrets": [{"name": "registry"}]}
    await client.create(KINDS.POD, pod("before"), "default")  # accounts need not exist
    await client.create(KINDS.SERVICE_ACCOUNT, {"apiVersion": "v1", "kind": "ServiceAccount", **account}, "default")
    made = await client.create(KINDS.POD, pod("after"), "default")
    assert made.raw["spec"]["imagePullSecrets"] == [{"name": "registry"}]


async def test_a_limit_range_counts_for_the_next_pod_until_it_is_deleted() -> None:
    client, api = await started()
    await client.create(KINDS.POD, pod("a"), "default")
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": RANGE}
    await client.create(KINDS.LIMIT_RANGE, limits, "default")
    with pytest.raises(ApiError, match="minimum cpu usage per Container is 5, but request is 1"):
        await client.create(KINDS.POD, pod("b"), "default")
    later = Api(api.store, default_gates())
    await later.start()
    with pytest.raises(ApiError, match="minimum cpu usage per Container is 5"):
        await LoopbackClient(later, "test").create(KINDS.POD, pod("b"), "default")
    await client.delete(KINDS.LIMIT_RANGE, "l", "default")
    await client.create(KINDS.POD, pod("b"), "default")
