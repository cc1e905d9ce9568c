"""workloads_defaults.json and validate_rbac.json: objects of built-in kinds, created and updated step by step."""

import asyncio
from typing import Any

from tests.conformance.checks.platform.comparison import difference
from tests.conformance.checks.platform.server import PlatformServer
from tests.conformance.checks.platform.steps import built_in_resource, take_step

Raw = dict[str, Any]


def check_steps(case: Raw) -> str | None:
    return asyncio.run(_check_steps(case))


check_workloads_defaults = check_validate_rbac = check_steps


async def _check_steps(case: Raw) -> str | None:
    server = await PlatformServer.started("default")
    for number, (step, want) in enumerate(zip(case["in"]["steps"], case["out"]["steps"], strict=True)):
        resource, version = built_in_resource(step["body"], "default")
        found = difference(await take_step(server, step, resource, version), want)
        if found:
            return f"step {number} ({step['op']}): {found}"
    return None
