"""Print the table of feature gates: a line for each gate, a narrow column for each component, and a legend."""

from collections.abc import Mapping, Sequence

from moorage.lint.report.printable import visible_length
from moorage.model.gates import GATES, Component
from moorage.plan.gates.kep_states import KepState, kep_lines
from moorage.plan.report.terminal import BOLD, DIM, GREEN, YELLOW, TerminalLines

#: By gate and component: whether it is on; None if it is not known.
Values = Mapping[str, Mapping[str, bool | None]]

_SHORT = {
    Component.API_SERVER.value: "API",
    Component.SCHEDULER.value: "SCH",
    Component.CONTROLLER_MANAGER.value: "CM",
    Component.KUBELET.value: "KLT",
}
_COLOURS = {"on": GREEN, "off": DIM, "?": YELLOW, "-": DIM}
_GAP = "  "


class GateTable(TerminalLines):
    """Prints gates in 80 columns; on a narrower terminal the values go below the gate."""

    def lines(self, values: Values) -> list[str]:
        heads = self._heads(values)
        stages = {gate.name: gate.stage.value for gate in GATES}
        rows = [(gate, stages.get(gate, ""), _cells(gate, row, list(heads))) for gate, row in values.items()]
        widest = max((len(gate) for gate, _, _ in rows), default=0)
        needed = widest + 7 + sum(len(_GAP) + max(3, len(head)) for head in heads.values())
        fits = needed <= self._width
        if fits:
            title = _GAP.join(["GATE".ljust(widest), "STAGE", *(head.ljust(3) for head in heads.values())])
            lines = [self._styled(title.rstrip(), BOLD)]
        else:
            lines = []
        for gate, stage, cells in rows:
            if fits:
                lines.append(_GAP.join([gate.ljust(widest), stage.ljust(5), *self._padded(cells, heads)]).rstrip())
            else:
                named = [f"{head} {self._mark(cell)}" for head, cell in zip(heads.values(), cells, strict=True)]
                lines += [gate, *self._packed([stage, *named])]
        return [*lines, "", *self._legend(heads, rows)]

    def keps(self, states: Sequence[KepState]) -> list[str]:
        """Print how a cluster has each KEP that attach brings."""
        lines: list[str] = []
        for head, why in kep_lines(states):
            lines += self._wrapped("", 2, head, BOLD if why else DIM)
            lines += self._wrapped("  ", 2, why) if why else ()
        return ["", *lines] if lines else []

    def _heads(self, values: Values) -> dict[str, str]:
        """Return the components, each with a short name; those that Kubernetes has not are numbered."""
        others = sorted({name for row in values.values() for name in row} - set(_SHORT))
        return {**_SHORT, **{name: f"#{number}" for number, name in enumerate(others, 1)}}

    def _padded(self, cells: Sequence[str], heads: Mapping[str, str]) -> list[str]:
        return [
            self._mark(cell) + " " * (max(3, len(head)) - len(cell))
            for cell, head in zip(cells, heads.values(), strict=True)
        ]

    def _mark(self, cell: str) -> str:
        return self._styled(cell, _COLOURS[cell])

    def _packed(self, parts: Sequence[str]) -> list[str]:
        return [f"  {line}" for line in self._rows(parts)]

    def _rows(self, parts: Sequence[str]) -> list[str]:
        rows: list[str] = []
        for part in parts:
            if rows and visible_length(f"{rows[-1]}{_GAP}{part}") + 2 <= self._width:
                rows[-1] += f"{_GAP}{part}"
            else:
                rows.append(part)
        return rows

    def _legend(self, heads: Mapping[str, str], rows: Sequence[tuple[str, str, Sequence[str]]]) -> list[str]:
        named = ", ".join(f"{head} {name}" for name, head in heads.items())
        used = {cell for _, _, cells in rows for cell in cells}
        words = {"-": "- does not read the gate", "?": "? not known"}
        marks = ", ".join(text for mark, text in words.items() if mark in used)
        return [line for text in (named, marks) if text for line in self._wrapped("", 0, text, DIM)]


def _cells(gate: str, row: Mapping[str, bool | None], components: Sequence[str]) -> list[str]:
    readers = {component.value for known in GATES if known.name == gate for component in known.components}
    return [_cell(row.get(name), name in readers) for name in components]


def _cell(value: bool | None, is_read: bool) -> str:
    if value is None:
        return "?" if is_read else "-"
    return "on" if value else "off"
