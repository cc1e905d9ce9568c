"""Count what was repaired, by reason, for all controllers that repair."""

from moorage.telemetry.metrics import Counter, Metrics

_NAME = "moorage_attach_repairs_total"


def repairs_counter(metrics: Metrics) -> Counter:
    """Return the one counter of repairs."""
    for family in metrics.families():
        if family.name == _NAME and isinstance(family, Counter):
            return family
    return metrics.counter(_NAME, "Objects that were repaired, or reported where that is not possible.", ("reason",))
