"""validating_policies.json and mutating_policies.json: policies, bindings and parameters, then requests."""

import asyncio
from typing import Any

from tests.conformance.checks.extension.answers import first_difference
from tests.conformance.checks.extension.cluster import Cluster

Raw = dict[str, Any]


def check_policies(case: Raw) -> str | None:
    return asyncio.run(_check(case))


check_validating_policies = check_mutating_policies = check_policies


async def _check(case: Raw) -> str | None:
    cluster = await Cluster.started(case["common"])
    if refusal := await cluster.set_up(case["in"]["setup"]):
        return refusal
    steps = case["in"]["steps"]
    answers = [await cluster.take(step) for step in steps]
    differences = [first_difference(steps, answers, out["steps"]) for out in case["out"].get("anyOf", [case["out"]])]
    return None if None in differences else differences[0]
