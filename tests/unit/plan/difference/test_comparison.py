"""Two plans compared pod by pod."""

import msgspec
import pytest

from moorage.lint.finding import Severity
from moorage.plan.difference.comparison import NO_CHANGES, WORSE, Becomes, Comparison, compare, sentence
from moorage.plan.input.inventory import Note
from moorage.plan.outcome import FailedLine, Outcome
from moorage.plan.pod_lines import PodLine, State

WEB, AGENT, DB = "Deployment default/web", "DaemonSet default/agent", "StatefulSet default/db"


def line(name: str, state: State, node: str = "", workload: str = WEB, reason: str = "", seconds: int = -1) -> PodLine:
    is_gone = state not in (State.BOUND, State.PLACED, State.EVICTING, State.PENDING)
    return PodLine(
        "default",
        name,
        workload,
        state,
        "" if is_gone else node,
        0,
        reason,
        evicted_after_seconds=None if seconds < 0 else seconds,
        last_node=node if is_gone else "",
    )


def on(name: str, node: str, workload: str = WEB) -> PodLine:
    return line(name, State.PLACED, node, workload)


def waits(name: str, workload: str = WEB) -> PodLine:
    return line(name, State.PENDING, "", workload)


def evicted(name: str, node: str, workload: str = WEB, seconds: int = 0) -> PodLine:
    return line(name, State.EVICTED, node, workload, "TaintEviction", seconds)


def outcome(*pods: PodLine, failed: tuple[FailedLine, ...] = (), refused: tuple[str, ...] = ()) -> Outcome:
    notes = [Note(Severity.ERROR, name, "is invalid") for name in refused]
    return Outcome(list(pods), [], list(failed), [], notes, {}, 1, len(refused), 0)


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ([on("a", "n1")], [on("a", "n1")], []),
        ([on("a", "n1")], [evicted("a", "n1"), on("b", "n2")], ["moved"]),
        ([on("a", "n1")], [evicted("a", "n1"), on("b", "n1")], ["restarted"]),
        ([on("a", "n1")], [evicted("a", "n1"), waits("b")], ["pending"]),
        ([on("a", "n1")], [evicted("a", "n1"), line("b", State.EVICTING, "n1")], ["evicting"]),
        ([on("a", "n1")], [line("a", State.EVICTING, "n1")], ["evicting"]),
        ([line("a", State.EVICTING, "n1")], [on("a", "n1")], ["stays"]),
        ([on("a", "n1", "")], [evicted("a", "n1", "")], ["evicted"]),
        ([on("a", "n1", "")], [line("a", State.DELETED, "n1", "")], ["lost"]),
        ([on("a", "n1", "")], [], ["removed"]),
        ([on("a", "n1", "")], [line("a", State.REFUSED, "", "")], ["refused"]),
        ([on("a", "n1", "")], [line("a", State.FAILED, "n1", "", "OutOfcpu")], ["failed"]),
        ([on("a", "n1", "")], [line("a", State.PREEMPTED, "n1", "")], ["preempted"]),
        ([on("a", "n1", "")], [line("a", State.SUCCEEDED, "n1", "")], ["finished"]),
        ([evicted("a", "n1", "")], [on("a", "n1", "")], ["stays"]),
        ([evicted("a", "n1", "", 30)], [evicted("a", "n1", "", 0)], ["otherwise"]),
        ([waits("a")], [on("a", "n2")], ["placed"]),
        ([waits("a")], [waits("b")], ["same"]),
        ([on("a", "n1")], [on("b", "n1")], ["same"]),  # random names
        ([on("a", "n1")], [on("b", "n2")], ["elsewhere"]),
        ([on("a", "n1"), on("b", "n2")], [on("c", "n2"), on("d", "n1")], ["same", "same"]),
        ([on("a", "n1"), waits("b")], [waits("c"), on("d", "n2")], ["elsewhere", "same"]),
        ([], [on("a", "n1")], ["new"]),
        ([], [waits("a")], ["newPending"]),
        ([], [line("a", State.REFUSED, "", "")], ["refused"]),
        ([], [line("a", State.FAILED, "n1", WEB, "OutOfcpu"), on("b", "n2")], ["failed", "new"]),
        ([], [evicted("a", "n1"), waits("b")], ["newPending", "passing"]),
        ([on("a", "n1")], [line("a", State.DELETED, "n1")], ["removed"]),
        ([], [evicted("a", "n1", "")], ["evicted"]),  # a new pod
        ([evicted("a", "n1", "")], [evicted("a", "n1", ""), evicted("a", "n1", "")], ["passing"]),  # and once more
        # A StatefulSet's pods keep their names.
        ([on("db-0", "n1", DB)], [evicted("db-0", "n1", DB), on("db-0", "n2", DB)], ["moved"]),
        ([on("db-0", "n1", DB)], [evicted("db-0", "n1", DB), on("db-0", "n1", DB)], ["restarted"]),
        # A DaemonSet's pods belong to their nodes.
        ([on("a", "n1", AGENT)], [evicted("a", "n1", AGENT), on("b", "n2", AGENT)], ["evicted", "new"]),
        # It is evicted in both plans, and its successor lands elsewhere, or waits.
        ([evicted("a", "n1"), on("b", "n2")], [evicted("a", "n1"), on("c", "n3")], ["elsewhere"]),
        ([evicted("a", "n1"), on("b", "n2")], [evicted("a", "n1"), waits("c")], ["pending"]),
        ([evicted("a", "n1"), on("b", "n2")], [on("a", "n1")], ["elsewhere"]),
    ],
)
def test_what_becomes_of_each_place(before: list[PodLine], after: list[PodLine], kinds: list[str]) -> None:
    found = compare(outcome(*before), outcome(*after))
    assert sorted(pair.becomes.value for pair in found.pairs) == kinds
    assert found.is_worse == any(Becomes(kind) in WORSE for kind in kinds)
    assert found.is_empty == (not set(kinds) - {"same", "passing"})
    covers_every_line(before, after, found)


def covers_every_line(before: list[PodLine], after: list[PodLine], found: Comparison) -> None:
    equal = [one for one, other in zip(before, after, strict=False) if one == other]
    first = [one for pair in found.pairs for one in (pair.before, pair.left_before) if one is not None]
    second = [one for pair in found.pairs for one in (pair.after, pair.left) if one is not None]
    assert sorted(map(repr, equal + first)) == sorted(map(repr, before))
    assert sorted(map(repr, equal + second)) == sorted(map(repr, after))


def test_successors_that_are_known_are_matched_first() -> None:
    before = outcome(on("a", "n1"), on("b", "n2"))
    after = outcome(evicted("a", "n1"), evicted("b", "n2"), on("c", "n2"), on("d", "n3"))
    by_node = compare(before, after)
    assert sorted(pair.becomes for pair in by_node.pairs) == [Becomes.MOVED, Becomes.RESTARTED]
    known = compare(before, after, {"default/a": "default/c", "default/b": "default/x", "default/x": "default/d"})
    assert [
        (pair.becomes, pair.before and pair.before.name, pair.after and pair.after.name) for pair in known.pairs
    ] == [
        (Becomes.MOVED, "a", "c"),
        (Becomes.MOVED, "b", "d"),
    ]
    updated = compare(before, after, updated={"default/a", "default/b"})
    assert {pair.becomes for pair in updated.pairs} == {Becomes.UPDATED}


def refused(workload: str, number: int) -> FailedLine:
    return FailedLine(workload, "exceeded quota", "f", 1, refused=number)


def test_refusals_of_workloads_count_by_how_many_there_are_more() -> None:
    before = outcome(on("a", "n1"), failed=(refused("x", 2), refused("same", 1)), refused=("Service default/old",))
    more = refused("x", 5), refused("same", 1), refused("unknown", 0)
    after = outcome(on("a", "n1"), failed=more, refused=("Service default/new",))
    found = compare(before, after)
    assert [(one.line.workload, one.more) for one in found.refusals] == [("x", 3), ("unknown", 0)]
    assert found.is_worse
    assert sentence(found) == "3 pods are refused, 1 object refused"
    assert not compare(before, before).is_worse


def test_the_sentence_leaves_out_what_is_zero() -> None:
    before = outcome(*(on(f"m{i}", "n1") for i in range(8)), on("p", "n1", "Deployment default/x"))
    after = outcome(
        *(evicted(f"m{i}", "n1") for i in range(8)),
        evicted("p", "n1", "Deployment default/x"),
        *(on(f"s{i}", "n2") for i in range(8)),
        waits("q", "Deployment default/x"),
    )
    found = compare(before, after)
    expected = "8 pods move, 1 becomes Pending, 2 drains blocked; 3 would be evicted anyway"
    assert sentence(found, ["2 drains blocked"], "3 would be evicted anyway") == expected
    nothing = compare(before, before)
    assert sentence(nothing) == NO_CHANGES
    assert sentence(nothing, anyway="1 would be evicted anyway") == f"{NO_CHANGES}; 1 would be evicted anyway"
    assert found.before[State.PLACED] == 9
    assert (found.after[State.PLACED], found.after[State.PENDING], found.after[State.EVICTED]) == (8, 1, 9)


def test_messages_alone_make_no_difference() -> None:
    """They tell the value of the taint, or the random name of the pod for which it makes room."""
    first = msgspec.structs.replace(evicted("a", "n1", "", 30), message="risk=3 is tolerated for 30 s")
    second = msgspec.structs.replace(first, message="risk=4 is tolerated for 30 s")
    assert compare(outcome(first), outcome(second)).is_empty


def test_random_names_that_only_one_plan_has_match_nothing() -> None:
    """The second plan made one pod more before: it gave the name of the first plan's pod to the next one."""
    before = [on("a", "n1"), evicted("x", "n2", WEB, 40), evicted("y", "n2", WEB, 60)]
    after = [on("a", "n1"), evicted("y", "n2", WEB, 40), evicted("z", "n2", WEB, 60)]
    assert compare(outcome(*before), outcome(*after), first_new=1).is_empty
    assert not compare(outcome(*before), outcome(*after)).is_empty
