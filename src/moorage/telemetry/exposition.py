"""Render metrics as Prometheus text 0.0.4, or OpenMetrics 1.0 if the Accept header asks for it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.telemetry.metrics import Family, Sample

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def render(families: Iterable["Family"], accept: str = "") -> tuple[bytes, str]:
    is_open = "application/openmetrics-text" in accept
    lines: list[str] = []
    for family in families:
        name, kind = family.name, family.kind
        if is_open:
            if kind == "counter":
                name, kind = (name.removesuffix("_total"), kind) if name.endswith("_total") else (name, "unknown")
            elif kind == "untyped":
                kind = "unknown"
        lines.append(f"# HELP {name} {_escape(family.help, quotes=is_open)}\n")
        lines.append(f"# TYPE {name} {kind}\n")
        lines.extend(_render_sample(family.name, sample) for sample in family.samples())
    if is_open:
        lines.append("# EOF\n")
    return "".join(lines).encode("utf-8", "replace"), OPEN_METRICS if is_open else TEXT


def _render_sample(name: str, sample: "Sample") -> str:
    if not sample.labels:
        return f"{name}{sample.suffix} {_number(sample.value)}\n"
    labels = ",".join(f'{label}="{_escape(value, quotes=True)}"' for label, value in sample.labels)
    return f"{name}{sample.suffix}{{{labels}}} {_number(sample.value)}\n"


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    if value == float("-inf"):
        return "-Inf"
    if value != value:
        return "NaN"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _escape(text: str, *, quotes: bool) -> str:
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
    return escaped.replace('"', '\\"') if quotes else escaped
