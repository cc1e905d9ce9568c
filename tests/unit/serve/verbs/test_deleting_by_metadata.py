"""Objects are deleted as if they were decoded whole, though only their metadata are."""

import random
from typing import Any

import pytest
from tests.unit.serve.templates.test_repeated_writes import clock, uids
from tests.virtual_cluster import VirtualCluster

from moorage.admit.subresources.deletion import Deletion, decide_deletion
from moorage.client.protocol import PatchType
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.serve.verbs import deleting

Raw = dict[str, Any]


def drawn(words: random.Random, number: int) -> tuple[Kind, Raw]:
    kind = words.choice((KINDS.POD, KINDS.POD, KINDS.POD, KINDS.CONFIG_MAP, KINDS.CONTROLLER_REVISION))
    metadata: Raw = {"name": f"o-{number}", "labels": {"metadata": "x"}}
    if words.random() < 0.4:
        metadata["finalizers"] = ["example.com/a"]
    document: Raw = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
    if kind is KINDS.POD:
        document["spec"] = {"containers": [{"name": "main", "image": "web:1"}]}
        document["spec"]["terminationGracePeriodSeconds"] = words.choice((0, 1, 30))
    elif kind is KINDS.CONFIG_MAP:
        document["data"] = {"metadata": '{"metadata":{}}'}
    else:
        document |= {"revision": 1, "data": {"spec": "<&>"}}
    return kind, document


async def deleted(seed: int) -> list[Any]:
    """Create objects, delete each some times, and return what is left and what was answered."""
    words = random.Random(seed)
    found: list[Any] = []
    async with VirtualCluster.running(list, clock=clock(), collects_garbage=bool(seed % 2)) as cluster:
        cluster.api.new_uid = uids()
        client = cluster.client
        for number in range(25):
            kind, document = drawn(words, number)
            name = document["metadata"]["name"]
            uid = (await client.create(kind, document, "default")).uid
            if kind is KINDS.POD and words.random() < 0.7:
                await client.bind("default", name, uid, "node-1")
                phase = {"status": {"phase": words.choice(("Running", "Succeeded"))}}
                await client.patch(kind, name, "default", phase, subresource="status", patch_type=PatchType.MERGE)
            for _ in range(3):
                demands: Raw = {"uid": words.choice((uid, uid, "another"))}
                if words.random() < 0.5:
                    demands["grace_seconds"] = words.choice((0, 1, 5, 100))
                if words.random() < 0.2:
                    demands["propagation"] = words.choice(("Foreground", "Orphan", "Background"))
                try:
                    await client.delete(kind, name, "default", **demands)
                    left = await client.get(kind, name, "default")
                    found.append((left.raw, left.view.metadata.deletionTimestamp, left.view.metadata.finalizers))
                except ApiError as error:
                    found.append(error.status)
                await cluster.settle(words.choice((0, 2)))
    return found


@pytest.mark.parametrize("seed", range(4))
async def test_a_deletion_is_the_same_as_of_the_whole_object(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await deleted(seed)
    monkeypatch.setattr(deleting, "_is_plain", lambda kind, stored: False)
    assert await deleted(seed) == found


async def test_a_deletion_that_reads_no_view_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(kind: Kind, document: Raw, *rest: Any, **named: Any) -> Deletion:
        return decide_deletion(kind, {"metadata": document["metadata"]}, *rest, **named)

    found = await deleted(0)
    monkeypatch.setattr(deleting, "decide_deletion", careless)
    assert await deleted(0) != found
