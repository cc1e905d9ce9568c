"""Every pod that may run has one claim for each template it names, and nothing is reserved for a pod that is gone.

The real resourceclaim controller, garbage collector and API server, in virtual time, over a slow network, with users
that delete claims and pods, a scheduler that allocates, pods that finish, and restarts in the middle of it.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.slow_client import SlowClient
from tests.unit.control.devices.claimed import Claims, context, template
from tests.unit.control.devices.claimed import pod as pod_with
from tests.virtual_time import run_virtual

from moorage.client.protocol import Client
from moorage.control.framework.controller import Controller
from moorage.control.garbage import GarbageCollector
from moorage.control.resource_claim import controller as controller_module
from moorage.control.resource_claim import pod_claims
from moorage.control.resource_claim.claim_release import is_done
from moorage.control.resource_claim.controller import ResourceClaimController
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.model.well_known.finalizers import RESOURCE_CLAIM_IN_USE

Story = tuple[list[tuple[str, int, float]], int]
_SETTINGS = settings(LAW_SETTINGS, max_examples=examples(40))
_STEPS = ["pod", "pod", "shared", "allocate", "allocate", "finish", "delete", "delete claim", "restart", "template"]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """What happens, to which of the objects, and how long it is before the next; and a seed for the network."""
    step = st.tuples(st.sampled_from(_STEPS), st.integers(0, 9), st.sampled_from([0.0, 0.05, 0.1, 0.3, 2.0]))
    first = [("template", 0, 0.0), ("pod", 0, 0.1), ("pod", 1, 0.1)]
    return [*first, *draw(st.lists(step, min_size=4, max_size=14))], draw(st.integers(0, 99))


class Stage:
    """A cluster in which the story is everything but the controllers."""

    def __init__(self, cluster: Claims) -> None:
        self._cluster, self._pods = cluster, 0

    async def do(self, step: str, number: int) -> None:
        cluster = self._cluster
        with suppress(ApiError):  # something else was faster
            if step == "template":
                await cluster.make(template("t"))
            elif step in ("pod", "shared"):
                self._pods += 1
                await cluster.make(pod_with(f"p{self._pods}", a="of:t", **({"b": "of:t"} if step == "shared" else {})))
            elif step == "restart":
                await cluster.restart()
            elif step == "delete claim":
                claims = await cluster.all(KINDS.RESOURCE_CLAIM)
                if claims:
                    await cluster.client.delete(KINDS.RESOURCE_CLAIM, claims[number % len(claims)].name, "default")
            else:
                await self._do_to_pod(step, number)

    async def _do_to_pod(self, step: str, number: int) -> None:
        cluster, pods = self._cluster, await self._cluster.all(KINDS.POD)
        if not pods:
            return
        pod = pods[number % len(pods)]
        if step == "delete":
            await cluster.client.delete(KINDS.POD, pod.name, "default")
        elif step == "finish":
            await cluster.finish(pod.name)
        elif not is_done(pod.view):
            names = await cluster.generated(pod.name)
            for name in names.values():
                claim = (await cluster.get(name)).view
                if claim.metadata.deletionTimestamp is None and claim.status.allocation is None:
                    await cluster.allocate(name, pod.name)

    async def problems(self) -> list[str]:
        pods = {found.uid: found for found in await self._cluster.all(KINDS.POD)}
        claims = {found.name: found for found in await self._cluster.all(KINDS.RESOURCE_CLAIM)}
        has_template = bool(await self._cluster.all(KINDS.RESOURCE_CLAIM_TEMPLATE))
        wrong, made = [], Counter[tuple[str, str]]()
        for name, found in claims.items():
            (owner,) = found.view.metadata.ownerReferences
            made[owner.uid, found.view.metadata.annotations[pod_claims.POD_CLAIM_NAME]] += 1
            pod = pods.get(owner.uid)
            if pod is None or is_done(pod.view):
                wrong.append(f"{name} is left of a pod that is gone or done")
            if any(one.uid not in pods or is_done(pods[one.uid].view) for one in found.view.status.reservedFor):
                wrong.append(f"{name} is reserved for a pod that is gone or done")
            if found.view.status.allocation is not None and RESOURCE_CLAIM_IN_USE not in found.view.metadata.finalizers:
                wrong.append(f"{name} is allocated and not protected")
        wrong += [f"{count} claims for {what}" for what, count in made.items() if count > 1]
        for pod in pods.values():
            if is_done(pod.view) or not has_template:
                continue
            named = {one.name: one.resourceClaimName for one in pod.view.status.resourceClaimStatuses}
            for entry in pod.view.spec.resourceClaims:
                if named.get(entry.name) not in claims:
                    wrong.append(f"{pod.name} has no claim for {entry.name}")
        return wrong


def controllers() -> list[Controller]:
    return [ResourceClaimController(context()), GarbageCollector(context())]


async def _play(story: Story) -> None:
    steps, seed = story
    random = Random(seed)

    def connect(client: Client) -> Client:
        slow: Any = SlowClient(client, lambda: random.random() * 0.2)
        network: Client = slow
        return network

    async with Claims.running(controllers, collects_garbage=True, connect=connect, seed=seed) as cluster:
        assert isinstance(cluster, Claims)
        stage = Stage(cluster)
        for step, number, wait in steps:
            await stage.do(step, number)
            await cluster.settle(wait)
        await cluster.settle(120)
        assert not await stage.problems()


@_SETTINGS
@given(stories())
def law(story: Story) -> None:
    run_virtual(_play(story))


def test_every_pod_has_its_claims_and_nothing_is_reserved_for_pods_that_are_gone() -> None:
    law()


@pytest.mark.parametrize(
    ("module", "place", "broken"),
    [
        (controller_module, "may_need_release", lambda *arguments: False),
        (controller_module, "pod_needs_work", lambda pod, world: not pod.status.resourceClaimStatuses),
        (pod_claims, "_generated_for", lambda *arguments: None),
    ],
    ids=["claims are not looked at", "deleted claims are not made again", "claims are made twice"],
)
def test_the_law_notices_a_broken_controller(
    module: Any, place: str, broken: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, place, broken)
    assert_notices(law)
