"""Give the page the well-known names that it offers and asks for, so that it has no list of its own."""

from typing import Any

from moorage.match.eviction_clock import AT_ONCE, LEAVES_IN, LEAVES_NOW
from moorage.model.well_known.labels import CONTROL_PLANE, HOSTNAME, INSTANCE_TYPE, ZONE
from moorage.model.well_known.taints import DISK_PRESSURE, MEMORY_PRESSURE, NO_EXECUTE, PID_PRESSURE
from moorage.plan.node_changes import EFFECTS

#: The effects that a taint of a device can have; with `None` it is only shown.
DEVICE_EFFECTS = (EFFECTS[0], EFFECTS[2], "None")


def page_names() -> dict[str, Any]:
    return {
        "effects": EFFECTS,
        "deviceEffects": DEVICE_EFFECTS,
        "evicting": NO_EXECUTE,
        "hostname": HOSTNAME,
        "pools": (INSTANCE_TYPE, ZONE),
        "zone": ZONE,
        "controlPlane": CONTROL_PLANE,
        "pressures": {MEMORY_PRESSURE: "memory", DISK_PRESSURE: "disk", PID_PRESSURE: "process ID"},
        "deadlines": {"atOnce": AT_ONCE, "now": LEAVES_NOW, "in": LEAVES_IN},
    }
