"""Resolve numbers and percentages, such as maxUnavailable and minAvailable.

Kubernetes: intstr.GetScaledValueFromIntOrPercent.
"""


def scaled(value: int | str, total: int, *, round_up: bool) -> int | None:
    """Resolve a number or a percentage of the total; None if it is neither."""
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if digits == value or not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        return None
    product = int(digits) * total
    return -(-product // 100) if round_up else product // 100
