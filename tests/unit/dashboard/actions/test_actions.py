"""Trials and changes of a real cluster in this process, over HTTP as the dashboard makes them."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from tests.unit.plan.planning import node, pod, workload

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Raw
from moorage.dashboard.actions import ActionContext, ActionError, act
from moorage.library.cluster import Cluster
from moorage.model.kinds import KINDS

pytestmark = pytest.mark.real_time
_TARGET = {"apiVersion": "v1", "kind": "Node", "name": "node-0"}
_CORDON = {"target": _TARGET, "patch": [{"op": "add", "path": "/spec/unschedulable", "value": True}]}
_WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}


@asynccontextmanager
async def connected(
    user: str = "", *, allow_changes: bool = True, gates: dict[str, bool] | None = None
) -> AsyncIterator[ActionContext]:
    """A cluster of one node, without controllers at work, and how a user sees it."""
    async with Cluster(nodes=0, controllers=(), gates=gates) as cluster:
        access = load_access(str(cluster.kubeconfig))
        if user:
            access = access._replace(impersonate=(("Impersonate-User", user),))
        client, trial = HttpClient(access, "dashboard"), HttpClient(access, "dashboard", dry_run=True)
        admin = HttpClient(load_access(str(cluster.kubeconfig)), "test")
        try:
            await admin.create(KINDS.NODE, node("node-0"))
            await admin.create(KINDS.DEPLOYMENT, workload("Deployment", "web", replicas=1), "default")
            await admin.create(KINDS.POD, pod("bare", schedulerName="none"), "default")
            yield ActionContext(client, trial, allow_changes)
        finally:
            for one in (client, trial, admin):
                await one.close()


@pytest.fixture
def context() -> AbstractAsyncContextManager[ActionContext]:
    return connected()


@pytest.fixture
def reading() -> AbstractAsyncContextManager[ActionContext]:
    return connected(allow_changes=False)


@pytest.fixture
def stranger() -> AbstractAsyncContextManager[ActionContext]:
    return connected("nobody-in-particular")


async def spec_of(context: ActionContext, kind: Any, name: str, namespace: str = "") -> Raw:
    assert context.client is not None
    spec: Raw = (await context.client.get(kind, name, namespace)).raw["spec"]
    return spec


async def test_a_dry_run_stores_nothing_and_returns_the_changes(context: ActionContext) -> None:
    tried = await act("dry-run", _CORDON, context)
    assert tried["ok"]
    assert tried["dryRun"]
    assert tried["results"][0]["changes"] == _CORDON["patch"]
    assert tried["results"][0]["command"].startswith("kubectl patch node node-0 --type=json -p ")
    assert "unschedulable" not in await spec_of(context, KINDS.NODE, "node-0")


async def test_applying_stores_it_and_a_second_time_it_has_changed_meanwhile(context: ActionContext) -> None:
    made = await act("apply", _CORDON, context)
    assert made["ok"]
    assert not made["dryRun"]
    assert (await spec_of(context, KINDS.NODE, "node-0"))["unschedulable"] is True
    again = await act("apply", _CORDON, context)
    assert (again["ok"], again["done"], again["results"][0]["code"]) == (False, 0, 409)
    assert "has changed meanwhile" in again["results"][0]["message"]


async def test_a_change_between_reading_and_writing_is_a_conflict(context: ActionContext) -> None:
    assert context.client is not None
    assert context.trial is not None

    class Overtaken(HttpClient):
        """A reader after whose answer the object changes."""

        async def get(self, kind: Any, name: str, namespace: str = "") -> Any:
            found = await HttpClient.get(self, kind, name, namespace)
            await HttpClient.patch(self, kind, name, namespace, {"metadata": {"labels": {"hasty": "yes"}}})
            return found

    assert isinstance(context.client, HttpClient)
    hasty = Overtaken(context.client._access, "hasty")
    try:
        tried = await act("apply", _CORDON, ActionContext(hasty, context.trial, True))
    finally:
        await hasty.close()
    assert "node-0 has changed meanwhile: look again" in tried["results"][0]["message"]
    assert "unschedulable" not in await spec_of(context, KINDS.NODE, "node-0")


async def test_without_leave_nothing_is_applied_but_may_be_tried(reading: ActionContext) -> None:
    with pytest.raises(ActionError, match="started without --allow-changes") as refused:
        await act("apply", _CORDON, reading)
    assert refused.value.code == 403
    assert (await act("dry-run", _CORDON, reading))["ok"]
    assert "unschedulable" not in await spec_of(reading, KINDS.NODE, "node-0")


async def test_the_message_of_the_server_is_shown(context: ActionContext) -> None:
    patch = [{"op": "replace", "path": "/spec/template/spec/tolerations", "value": [{"operator": "Frob", "key": "a"}]}]
    tried = await act("dry-run", {"target": _WEB, "patch": patch}, context)
    assert (
        'Deployment.apps "web" is invalid: spec.template.spec.tolerations[0].operator' in tried["results"][0]["message"]
    )
    gone = await act("dry-run", {"target": {**_WEB, "name": "nowhere"}, "patch": patch}, context)
    assert "Deployment default/nowhere is gone: look again" in gone["results"][0]["message"]


async def test_a_template_and_the_tolerations_of_a_pod(context: ActionContext) -> None:
    toleration = {"key": "level", "operator": "Exists"}
    template = {
        "target": _WEB,
        "patch": [{"op": "add", "path": "/spec/template/spec/tolerations", "value": [toleration]}],
    }
    bare = {
        "target": {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "bare"},
        "patch": [{"op": "add", "path": "/spec/tolerations/-", "value": toleration}],
    }
    made = await act("apply", {"steps": [template, bare]}, context)
    assert (made["ok"], made["done"], made["of"]) == (True, 2, 2)
    assert (await spec_of(context, KINDS.DEPLOYMENT, "web", "default"))["template"]["spec"]["tolerations"] == [
        toleration
    ]
    assert toleration in (await spec_of(context, KINDS.POD, "bare", "default"))["tolerations"]


async def test_changes_end_with_the_first_that_fails(context: ActionContext) -> None:
    wrong = {"target": {**_TARGET, "name": "node-9"}, "patch": _CORDON["patch"]}
    made = await act("apply", {"steps": [wrong, _CORDON]}, context)
    assert (made["ok"], made["done"], len(made["results"])) == (False, 0, 1)
    assert "unschedulable" not in await spec_of(context, KINDS.NODE, "node-0")


async def test_rights_come_from_the_user_of_the_kubeconfig(context: ActionContext) -> None:
    asks = [{"verb": "patch", **_TARGET}, {"verb": "patch", **_WEB}]
    answer = await act("rights", {"asks": asks}, context)
    assert [one["allowed"] for one in answer["rights"]] == [True, True]
    assert answer["changes"] is True


async def test_what_the_kubeconfig_may_not_do_is_told_and_refused(stranger: ActionContext) -> None:
    answer = await act("rights", {"asks": [{"verb": "patch", **_WEB}]}, stranger)
    said = "the kubeconfig may not patch deployments in namespace default"
    assert answer["rights"] == [{"allowed": False, "reason": said}]
    tried = await act("dry-run", _CORDON, stranger)
    assert 'User "nobody-in-particular" cannot get resource "nodes"' in tried["results"][0]["message"]


async def test_rights_are_asked_again_after_half_a_minute(context: ActionContext) -> None:
    now = [100.0]
    asked: list[str] = []

    class Counting(HttpClient):
        async def create(self, kind: Any, document: Raw, namespace: str = "") -> Any:
            asked.append(kind.name)
            return await HttpClient.create(self, kind, document, namespace)

    assert isinstance(context.client, HttpClient)
    client = Counting(context.client._access, "counting")
    counting = ActionContext(client, client, clock=lambda: now[0])
    body = {"asks": [{"verb": "patch", **_TARGET}] * 2}
    try:
        await act("rights", body, counting)
        await act("rights", body, counting)
        assert len(asked) == 1
        now[0] += 31
        await act("rights", body, counting)
        assert len(asked) == 2
    finally:
        await client.close()


@pytest.mark.parametrize(
    ("action", "body", "message"),
    [
        ("explode", {}, "there is no action 'explode'"),
        ("rights", {"asks": [{"verb": "patch", "kind": "Secret"}]}, "nothing here needs to patch a Secret"),
        ("rights", {"asks": [1]}, r"asks\[0\] is no right"),
        ("rights", {}, '"asks" is not a list'),
        ("dry-run", _CORDON, "this dashboard shows files"),
    ],
)
async def test_wrong_requests_are_answered_with_a_sentence(action: str, body: Raw, message: str) -> None:
    with pytest.raises(ActionError, match=message):
        await act(action, body, ActionContext())


async def test_an_unreachable_cluster_is_reported() -> None:
    async with connected() as context:
        pass
    tried = await act("dry-run", _CORDON, context)
    assert tried["results"][0]["message"].startswith("the cluster cannot be reached: ")
