"""Nodes are mirrored by the webhook as by the policy, and what a cluster needs to come up goes on without it."""

from typing import Any

import pytest
from tests.unit.attach.workloads import node
from tests.unit.attached.webhook.attached_cluster import Called, attached
from tests.unit.serve.access.test_rbac_requests import ask

from moorage.attach.formats import MIRRORED, NODE_STATE_KEYS
from moorage.attach.mirror import mirror_labels
from moorage.attached import names
from moorage.attached.webhook.configuration import ADDED_TAINTS
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE, NOT_READY, UNSCHEDULABLE
from moorage.serve.requests.handler import Handler

#: Expressions that cost much are evaluated in a thread.
pytestmark = pytest.mark.real_time

Raw = dict[str, Any]
NODES = "/api/v1/nodes"
MERGE = "application/merge-patch+json"
SPOT: Raw = {"key": "spot", "value": "950", "effect": NO_SCHEDULE}
MATCH = "match.moorage.dev/0123456789abcdef0123"
FORGED = "num.noschedule.taint.moorage.dev/spot"
DOWN = 'Internal error occurred: failed calling webhook "taints.mirror.attach.moorage.dev"'


async def patched(handler: Handler, patch: Raw, where: str = f"{NODES}/n") -> Raw:
    answer = await ask(handler, "PATCH", where, patch, content_type=MERGE)
    assert answer["code"] == 200, answer
    return answer


def tainted(*taints: Raw) -> Raw:
    return {"spec": {"taints": list(taints)}}


def ours(answer: Raw) -> Raw:
    return {key: value for key, value in answer["metadata"]["labels"].items() if "moorage.dev/" in key}


async def test_taints_labels_and_forgeries_are_mirrored_in_the_same_write() -> None:
    async with attached() as (handler, calls):
        created = await ask(handler, "POST", NODES, node([SPOT], kernel="6.1"))
        assert ours(created) == mirror_labels(node([SPOT], kernel="6.1"))
        changed = await patched(handler, tainted(SPOT | {"value": "1.2.3"}))
        assert ours(changed) == mirror_labels(node([SPOT | {"value": "1.2.3"}], kernel="6.1"))
        for where in (f"{NODES}/n", f"{NODES}/n/status"):
            forged = await patched(handler, {"metadata": {"labels": {FORGED: "9999", MIRRORED: None}}}, where)
            assert ours(forged) == ours(changed)
        assert [(call.webhook, call.operation) for call in calls] == [
            (names.MIRRORING, "CREATE"),
            (ADDED_TAINTS, "UPDATE"),
            (names.MIRRORING, "UPDATE"),
            (names.MIRRORING, "UPDATE"),
        ]


async def test_heartbeats_cause_no_call() -> None:
    async with attached() as (handler, calls):
        await ask(handler, "POST", NODES, node([SPOT]))
        calls.clear()
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}}
        await patched(handler, ready, f"{NODES}/n/status")
        assert calls == []


async def test_match_labels_go_with_the_write_that_changes_a_taint_but_not_with_a_cordon() -> None:
    async with attached() as (handler, _):
        await ask(handler, "POST", NODES, node([SPOT]))
        await patched(handler, {"metadata": {"labels": {MATCH: "true"}}})
        cordoned = await patched(handler, tainted(SPOT, {"key": UNSCHEDULABLE, "effect": NO_SCHEDULE}))
        assert ours(cordoned)[MATCH] == "true"
        assert MATCH not in ours(await patched(handler, tainted(SPOT | {"value": "951"})))


async def test_while_the_webhook_is_down_no_taint_is_added_that_would_not_be_mirrored() -> None:
    async with attached() as (handler, calls):
        await ask(handler, "POST", NODES, node([SPOT]))
        calls.is_down = True
        for taint in (SPOT | {"value": "940"}, {"key": "other", "effect": NO_EXECUTE}):
            refused = await ask(handler, "PATCH", f"{NODES}/n", tainted(SPOT, taint), content_type=MERGE)
            assert refused["code"] == 500
            assert refused["message"].startswith(DOWN)


@pytest.mark.parametrize("key", NODE_STATE_KEYS)
async def test_while_the_webhook_is_down_taints_of_state_come_and_go(key: str) -> None:
    """Else no node could become ready, nor be left by its pods, the webhook's own among them."""
    async with attached() as (handler, calls):
        await ask(handler, "POST", NODES, node([SPOT]))
        calls.is_down = True
        await patched(handler, tainted(SPOT, {"key": key, "effect": NO_EXECUTE}))
        await patched(handler, tainted(SPOT))


async def test_while_the_webhook_is_down_nodes_join_and_lose_their_startup_taints() -> None:
    startup = {"key": "cni.example.com/agent-not-ready", "effect": NO_EXECUTE}
    async with attached() as (handler, calls):
        calls.is_down = True
        created = await ask(handler, "POST", NODES, node([startup, {"key": NOT_READY, "effect": NO_SCHEDULE}]))
        assert created["code"] == 201
        untainted = await patched(handler, {"spec": {"taints": None}, "metadata": {"labels": {"zone": "a"}}})
        assert MIRRORED not in untainted["metadata"]["labels"]
        calls.is_down = False
        await patched(handler, {"metadata": {"annotations": {"a": "b"}}})
        assert calls == [Called(names.MIRRORING, "UPDATE", "Node", "changed")]
