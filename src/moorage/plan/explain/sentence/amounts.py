"""Write amounts as people read them: 3.2Gi rather than 3388608Ki, rounded so that too little never looks enough."""

from moorage.columns.resources import CPU
from moorage.schedule.plugins.node_resources_fit import shown

_BYTES = ("memory", "ephemeral-storage")
_HUGE_PAGES = "hugepages-"
_LONG = 10_000  # a number with more digits is not read but counted
_UNITS = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


def at_most(resource: str, value: int) -> str:
    """Return an amount that is free, rounded down."""
    return _amount(resource, value, up=False)


def at_least(resource: str, value: int) -> str:
    """Return an amount that is needed, rounded up: it differs from any smaller one that is rounded down."""
    return _amount(resource, value, up=True)


def _amount(resource: str, value: int, *, up: bool) -> str:
    exact = shown(resource, value)
    if resource not in _BYTES and not resource.startswith(_HUGE_PAGES):
        return exact if resource == CPU else str(value)
    if int(exact.rstrip("KMGi")) < _LONG:
        return exact
    unit, size = next((unit, size) for unit, size in _UNITS if value >= size)
    tenths = -(-value * 10 // size) if up else value * 10 // size
    return f"{tenths // 10}.{tenths % 10}{unit}" if tenths % 10 else f"{tenths // 10}{unit}"
