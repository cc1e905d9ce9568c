"""device_cel.json: selectors of devices, their estimated and actual costs, and what they answer for one device."""

import json
from functools import lru_cache
from typing import Any

from moorage.match.cel import CelError
from moorage.match.devices.description import DeviceDescription, describe_device
from moorage.match.devices.selector import SelectorProblem, compile_device_selector
from moorage.model.gates import DRA_LIST_TYPE_ATTRIBUTES, GateSet, default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import Device


def gates_named(name: str) -> GateSet:
    """Return the gates of a case: as shipped, or with lists as attributes' values."""
    return default_gates().with_gate(DRA_LIST_TYPE_ATTRIBUTES, name == "allAlpha")


def check_device_cel(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]
    gates = gates_named(given["gates"])
    device = _describe(given["driver"], json.dumps(given["device"]))
    got = _judge(given["expression"], gates, device, stored=False)
    stored = _judge(given["expression"], gates, device, stored=True)
    if stored != got:
        got["stored"] = stored
    for key in sorted(got.keys() | want.keys()):
        if got.get(key) != want.get(key):
            return f"{given['expression'][:200]!r}: {key} is {got.get(key)}, want {want.get(key)}"
    return None


@lru_cache(maxsize=256)
def _describe(driver: str, device: str) -> DeviceDescription:
    return describe_device(driver, convert_view(json.loads(device), Device))


def _judge(expression: str, gates: GateSet, device: DeviceDescription, stored: bool) -> dict[str, Any]:
    selector = compile_device_selector(expression, gates, stored)
    if isinstance(selector, SelectorProblem):
        return {"compile": "error", "error": selector.detail}
    judged: dict[str, Any] = {
        "compile": "ok",
        "maxCost": str(selector.max_cost),
        "overCostLimit": selector.exceeds_cost_limit,
    }
    try:
        judged["match"], judged["cost"] = selector.evaluate_with_cost(device)
    except CelError as error:
        judged["runtimeError"] = str(error)
        if not str(error).startswith("attribute "):
            judged["cost"] = error.cost
    return judged
