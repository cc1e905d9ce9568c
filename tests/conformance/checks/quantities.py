"""quantities.json: parsing, printing, comparing, adding and subtracting resource quantities."""

from typing import Any

from moorage.model.quantity import QuantityError, parse_quantity


def check_quantities(case: dict[str, Any]) -> str | None:
    """None if Moorage gives what the vector says, else the difference in one line."""
    given, expected = case["in"], case["out"]
    actual = _answer(given)
    return None if actual == expected else f"{given}: expected {expected}, got {actual}"


def _answer(given: dict[str, Any]) -> dict[str, Any]:
    if given["op"] == "parse":
        return _parsed(given["s"])
    a, b = parse_quantity(given["a"]), parse_quantity(given["b"])
    if given["op"] == "compare":
        return {"cmp": a.compare(b)}
    return {"canonical": str(a.add(b) if given["op"] == "add" else a.sub(b))}


def _parsed(text: str) -> dict[str, Any]:
    try:
        quantity = parse_quantity(text)
    except QuantityError as error:
        return {"ok": False, "error": str(error)}
    return {
        "ok": True,
        "canonical": str(quantity),
        "format": quantity.format.value,
        "value": str(quantity.value()),
        "milliValue": str(quantity.milli_value()),
        "sign": quantity.sign(),
        "isZero": quantity.is_zero(),
    }
