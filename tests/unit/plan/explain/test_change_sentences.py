"""The sentences of changes that would help: each begins with what to do."""

import pytest

from moorage.plan.explain.remedies.change import Change, ChangeKind


@pytest.mark.parametrize(
    ("kind", "summary", "sentence"),
    [
        (ChangeKind.TOLERATION, "add a toleration for x: Exists", "Add a toleration for x: Exists"),
        (ChangeKind.THRESHOLD, "toleration for x: Lt 5 → Lt 10", "Change the toleration for x: Lt 5 → Lt 10"),
        (ChangeKind.RESOURCES, "cpu 3 → at most 2", "Request less: cpu 3 → at most 2"),
        (ChangeKind.NODE_SELECTOR, "nodeSelector disk: a → b", "Change nodeSelector disk: a → b"),
        (ChangeKind.NODE_SELECTOR, "drop disk: a from nodeSelector", "Drop disk: a from nodeSelector"),
        (ChangeKind.MORE_NODES, "2 more nodes like a", "Add 2 more nodes like a"),
        (ChangeKind.VOLUME, "claim c is all that is in the way", "Claim c is all that is in the way"),
        (ChangeKind.STRATEGY, "strategy Recreate: all stop", "Use strategy Recreate: all stop"),
    ],
)
def test_a_summary_becomes_a_sentence(kind: ChangeKind, summary: str, sentence: str) -> None:
    assert Change(kind, "part", summary, 1).sentence == sentence
