"""When a pod has to leave a node with NoExecute taints."""

import pytest

from moorage.match.taint_eviction import When, decide_eviction
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import gates_from
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration

GATES = gates_from({"AllAlpha": True})
A, B = Taint(key="a", value="5", effect="NoExecute"), Taint(key="b", effect="NoExecute")
FOREVER = 9223372037  # in nanoseconds more than an int64 holds


def exists(key: str, seconds: int | None = None) -> Toleration:
    return Toleration(key=key, operator="Exists", effect="NoExecute", tolerationSeconds=seconds)


@pytest.mark.parametrize(
    ("taints", "tolerations", "when", "seconds"),
    [
        ((), (), When.NEVER, -1),
        ((Taint(key="a", effect="NoSchedule"),), (), When.NEVER, -1),
        ((A,), (), When.NOW, 0),
        ((A,), (exists("a"),), When.NEVER, -1),
        ((A,), (exists("a", 30),), When.AFTER, 30),
        ((A,), (exists("a", 0),), When.NOW, 0),
        ((A,), (exists("a", -5),), When.NOW, 0),
        ((A, B), (exists("a", 30), exists("b", 10)), When.AFTER, 10),
        ((A, B), (exists("a"), exists("b", 10)), When.AFTER, 10),
        ((A, B), (exists("a"),), When.NOW, 0),
        # The first toleration that matches is the one that counts, whatever stands behind it.
        ((A,), (exists("a"), exists("a", 10)), When.NEVER, -1),
        ((A,), (exists("a", 10), exists("a")), When.AFTER, 10),
        # The threshold holds, and still the pod goes after its seconds.
        ((A,), (Toleration(key="a", operator="Lt", value="9", tolerationSeconds=30),), When.AFTER, 30),
        ((A,), (Toleration(key="a", operator="Gt", value="9", tolerationSeconds=30),), When.NOW, 0),
        ((A,), (Toleration(expression="taint.key == 'a'", tolerationSeconds=7),), When.AFTER, 7),
        # Go's durations wrap around: so many seconds are forever.
        ((A,), (exists("a", FOREVER),), When.NEVER, None),
        ((A,), (exists("a", 2**63 - 1),), When.NEVER, -1),
    ],
)
def test_when(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], when: When, seconds: int | None) -> None:
    decision = decide_eviction(taints, compile_tolerations(tolerations, GATES))
    assert decision.when is when
    if seconds is not None:
        assert decision.seconds == seconds


def test_eviction_names_the_deciding_taint() -> None:
    unmatched = decide_eviction([A], compile_tolerations([], GATES))
    assert unmatched.because == "a=5 is not tolerated: no toleration is for its key and effect"
    limited = decide_eviction([A, B], compile_tolerations([exists("a", 9), exists("b", 3)], GATES))
    assert limited.because == "b is tolerated for 3 s"


def test_tolerations_whose_gate_is_off_do_not_count() -> None:
    tolerations = (Toleration(key="a", operator="Lt", value="9"),)
    assert decide_eviction([A], compile_tolerations(tolerations, GATES)).when is When.NEVER
    assert decide_eviction([A], compile_tolerations(tolerations, gates_from({}))).when is When.NOW
