"""Messages of the scheduler, shortened."""

import pytest

from moorage.plan.report.reasons import shortened

TAINT = "node(s) had untolerated taint"


@pytest.mark.parametrize(
    ("message", "short"),
    [
        ("is being deleted", "is being deleted"),
        ("no nodes available to schedule pods", "no nodes available to schedule pods"),
        (
            "0/3 nodes are available: 1 Insufficient cpu, 2 Insufficient memory. preemption: 0/3 nodes are available: "
            "3 Preemption is not helpful for scheduling.",
            "0/3 nodes are available: 2 Insufficient memory, 1 Insufficient cpu.",
        ),
        (
            "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 1 No preemption victims "
            "found for incoming pod, 2 Preemption is not helpful for scheduling.",
            "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 1 No preemption victims "
            "found for incoming pod, 2 Preemption is not helpful for scheduling.",
        ),
        (
            f"0/2 nodes are available: 1 {TAINT} {{sla: 1}}, 1 {TAINT} {{sla: 2}}.",
            f"0/2 nodes are available: 1 {TAINT} {{sla: 1}}, 1 {TAINT} {{sla: 2}}.",
        ),
        (
            f"0/9 nodes are available: 1 {TAINT} {{b: }}, 1 {TAINT} {{c: 1}}, 1 {TAINT} {{d: 1}}, 1 {TAINT} {{e: 1}}, "
            f"2 {TAINT} {{sla: 2}}, 3 {TAINT} {{sla: 1}}.",
            f"0/9 nodes are available: 9 {TAINT}s {{sla, b, c and 2 more keys}}.",
        ),
        (
            f"0/9 nodes are available: {', '.join(f'1 {TAINT} {{sla: x{i}}} is not an integer' for i in range(9))}.",
            f"0/9 nodes are available: 9 {TAINT}s {{sla}} is not an integer.",
        ),
        (
            "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, preemption: 0/2 nodes are "
            "available: 2 Preemption is not helpful for scheduling.",
            "0/2 nodes are available: 2 cannot allocate all claims.",
        ),
        (
            "0/2 nodes are available: 2 resourceclaim not available on the node. deallocation of ResourceClaim "
            "completed, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
            "0/2 nodes are available: 2 resourceclaim not available on the node.",
        ),
        ('0/9 nodes are available: pod "default/a": claim not created yet.',) * 2,
        ("0/9 nodes are available:", "0/9 nodes are available:"),
    ],
)
def test_messages(message: str, short: str) -> None:
    assert shortened(message) == short
    assert shortened(short) == short
