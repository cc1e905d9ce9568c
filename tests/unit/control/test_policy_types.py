"""The status of ValidatingAdmissionPolicies tells which expressions do not fit the kinds they are for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.controller_context import controller_context
from tests.unit.admit.objects import custom_resource_definition
from tests.virtual_cluster import VirtualCluster

from moorage.client.protocol import PatchType
from moorage.cluster.policy_checks import check_policy
from moorage.control.policy_types import PolicyTypeController
from moorage.model.kinds import KINDS

POLICY = KINDS.VALIDATING_ADMISSION_POLICY


@asynccontextmanager
async def running() -> AsyncIterator[VirtualCluster]:
    """Run the controller beside an API server that admits policies at once: a thread would take real time."""
    controllers = [PolicyTypeController(controller_context(check_policy=check_policy))]
    async with VirtualCluster.running(lambda: controllers) as cluster:
        cluster.api.is_busy = False
        yield cluster


def policy(expression: str, group: str = "apps", resource: str = "deployments") -> dict[str, Any]:
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
    return {
        "apiVersion": POLICY.api_version,
        "kind": POLICY.name,
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]},
    }


async def status_of(cluster: VirtualCluster) -> Any:
    await cluster.settle(5)
    return (await cluster.client.get(POLICY, "p")).raw.get("status")


async def test_expressions_that_fit_leave_no_warnings() -> None:
    async with running() as cluster:
        await cluster.client.create(POLICY, policy("object.spec.replicas > 1"))
        assert await status_of(cluster) == {"observedGeneration": 1, "typeChecking": {}}


async def test_a_policy_is_checked_again_when_it_changes() -> None:
    async with running() as cluster:
        await cluster.client.create(POLICY, policy("object.spec.nope > 1"))
        status = await status_of(cluster)
        assert [warning["fieldRef"] for warning in status["typeChecking"]["expressionWarnings"]] == [
            "spec.validations[0].expression"
        ]
        assert "undefined field 'nope'" in status["typeChecking"]["expressionWarnings"][0]["warning"]
        repaired = [{"op": "replace", "path": "/spec/validations/0/expression", "value": "true"}]
        await cluster.client.patch(POLICY, "p", "", repaired, patch_type=PatchType.JSON)
        assert await status_of(cluster) == {"observedGeneration": 2}  # what apply gives up leaves no empty object


async def test_definitions_that_came_just_before_are_looked_up() -> None:
    async with running() as cluster:
        await cluster.client.create(KINDS.CUSTOM_RESOURCE_DEFINITION, custom_resource_definition())
        await cluster.client.create(POLICY, policy("object.spec.a == 1", "crd.example.com", "widgets"))
        status = await status_of(cluster)
        assert "(string, int)" in status["typeChecking"]["expressionWarnings"][0]["warning"]


async def test_long_expressions_are_not_checked() -> None:
    async with running() as cluster:
        await cluster.client.create(POLICY, policy(f"object.nope == '{'a' * 5000}'"))
        assert await status_of(cluster) == {"observedGeneration": 1, "typeChecking": {}}
