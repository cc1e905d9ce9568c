"""Play `moorage plan --gates-before FILE --gates-after FILE`: gates of components, switched one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from moorage.cli.diff_input import CHANGES
from moorage.cli.shared import given_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.plan.gates.gate_file import Switch
    from moorage.plan.gates.switching import GatePlay

_MAX_BYTES = 1024 * 1024


def read_order(
    before: str | None, after: str | None, form: str, component_gates: dict[str, tuple[str, ...]]
) -> list[Switch]:
    """Return the steps of --gates-after; put the gates of --gates-before among the options. Raises UsageError."""
    if after is None:
        raise click.UsageError("--gates-before needs --gates-after: the gates that components are switched to.")
    if form == "html":
        raise click.UsageError("--gates-after has no page: --output text, markdown, json or yaml.")
    if given := given_options(*CHANGES, "--diff", "--rollout", "--at", "--headroom"):
        raise click.UsageError(f"--gates-after switches gates only: {', '.join(given)} cannot be given with it.")
    if before is not None:
        for option, texts in _as_options(_read("--gates-before", before)).items():
            component_gates[option] = texts
    return _read("--gates-after", after)


def _read(option: str, path: str) -> list[Switch]:
    """Read a file of gates. Raises UsageError."""
    from moorage.lint.sources import reason_of
    from moorage.plan.gates.gate_file import GateFileError, read_gate_file

    try:
        with Path(path).open("rb") as file:
            text = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise click.UsageError(f"{option}: {path}: {reason_of(error)}") from None
    if len(text) > _MAX_BYTES:
        raise click.UsageError(f"{option}: {path}: is larger than {_MAX_BYTES:,} bytes")
    try:
        return read_gate_file(text, path)
    except GateFileError as error:
        raise click.UsageError(f"{option}: {error}") from None


def _as_options(switches: list[Switch]) -> dict[str, tuple[str, ...]]:
    """Return gates as the options of single components have them, such as `kubelet_feature_gates`."""
    from moorage.model.gates import GATES

    merged: Switch = {}
    for switch in switches:
        merged |= switch
    return {
        f"{component.value.removeprefix('kube-')}-feature-gates".replace("-", "_"): (
            ",".join(f"{gate.name}={str(gates.enabled(gate)).lower()}" for gate in GATES if not gate.locked),
        )
        for component, gates in merged.items()
    }


def order_lines(form: str, play: GatePlay, *, everything: bool, colour: bool, width: int) -> Iterator[str]:
    from moorage.plan.report.gate_steps import GateStepsReport, markdown_play, plain_play
    from moorage.plan.report.plain import as_json, as_yaml

    if form == "markdown":
        return markdown_play(play, everything=everything)
    if form == "text":
        return GateStepsReport(colour=colour, width=width, everything=everything).play(play)
    document = plain_play(play)
    return iter([as_json(document) if form == "json" else as_yaml(document)])
