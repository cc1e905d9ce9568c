"""Print what a run has found: faults by kind, recovery, violations."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from tests.faults.suite import RECOVERY_SECONDS, FaultRecord, Outcome

_SHARES = (("p50", 0.5), ("p90", 0.9), ("max", 1.0))


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value that a share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def summarize(outcome: Outcome, seed: int, seconds: float) -> Iterator[str]:
    """Yield the lines of the report."""
    by_kind: dict[str, list[FaultRecord]] = defaultdict(list)
    for fault in outcome.faults:
        by_kind[fault.kind].append(fault)
    end = ", then interrupted: the last round is not checked" if outcome.is_interrupted else ""
    yield f"{len(outcome.faults)} faults in {seconds:.0f} s, seed {seed}{end}"
    yield ""
    titles = f"{'writes work again after p50':>28}{'p90':>8}{'max':>8}{'slowest write':>15}{'whole after max':>17}"
    yield f"{'fault':<34}{'count':>6}   {titles}"
    for kind, faults in sorted(by_kind.items()):
        yield _row(kind, faults)
    promised = [fault for fault in outcome.faults if fault.recovery is not None]
    if promised:
        yield _row("all with a promise", promised)
        late = sum(fault.recovery is not None and fault.recovery > RECOVERY_SECONDS for fault in promised)
        yield f"later than {RECOVERY_SECONDS:g} s: {late} of {len(promised)}"
    starved = [fault.slowness for fault in outcome.faults if fault.slowness > 1.0]
    if starved:
        counted = [fault.counted_recovery or 0.0 for fault in promised]
        late = sum(recovery > RECOVERY_SECONDS for recovery in counted)
        yield (
            f"processes waited for a processor in {len(starved)} of {len(outcome.faults)} faults: everything took "
            f"{quantile(starved, 0.5):.1f} times longer (p50), {max(starved):.1f} times at most; "
            f"later than {RECOVERY_SECONDS:g} s as they had them: {late} of {len(promised)}"
        )
    for kind, why in outcome.impossible.items():
        yield f"NOT RUN: {kind}: {why}"
    yield ""
    if waits := outcome.waits:
        shown = ", ".join(f"{name} {quantile(waits, share):.2f} s" for name, share in _SHARES)
        yield f"pods waited for a node, also while another scheduler took over: {shown}"
    yield ", ".join(f"{count} {name}" for name, count in sorted(outcome.counts.items()))
    yield ", ".join(f"{name} {count}" for name, count in sorted(outcome.fates.items()))
    if outcome.odd_answers:
        yield f"{len(outcome.odd_answers)} answers that are none of 200, 201, 404, 409, 429, 503, 504, such as:"
        yield from (f"  {answer[:300]}" for answer in outcome.odd_answers[:5])
    yield ""
    if not outcome.violations:
        yield "no violation"
        return
    for rule, count in Counter(violation.rule for violation in outcome.violations).items():
        yield f"VIOLATED {count} times: {rule}"
    for violation in outcome.violations[:10]:
        yield f"  {violation.rule}: {violation.text[:3000]}"
    yield from (f"history: {path}" for path in outcome.files)


def _row(name: str, faults: Sequence[FaultRecord]) -> str:
    values = [fault.recovery for fault in faults if fault.recovery is not None]
    shown = f"{'–':>28}{'–':>8}{'–':>8}"
    if values:
        shown = f"{quantile(values, 0.5):>26.2f} s{quantile(values, 0.9):>6.2f} s{max(values):>6.2f} s"
    missing = sum(fault.recovery is None for fault in faults) if values else 0
    never = f"   {missing} not before the fault ended" if missing else ""
    slowest, healing = max(fault.slowest for fault in faults), max(fault.healing for fault in faults)
    return f"{name:<34}{len(faults):>6}   {shown}{slowest:>13.2f} s{healing:>15.2f} s{never}"
