"""What plugins say beforehand, put together."""

from typing import Any

from moorage.schedule.framework.plugin import Plugin, Prepared, Verdict, unresolvable, unschedulable
from moorage.schedule.framework.prefilter import PreFilterResult, combine_prepared


class A(Plugin[None]):
    name = "A"


class B(Plugin[None]):
    name = "B"


a, b = A(), B()
FINAL, CURABLE = unresolvable("final"), unschedulable("curable")


def named(*names: str) -> Prepared:
    return Prepared(only_nodes=frozenset(names))


def combined(*prepared: tuple[Plugin[Any], Prepared]) -> tuple[Any, ...]:
    result: PreFilterResult = combine_prepared(prepared)
    return result.rejection, result.only_nodes, result.narrowed_by


def rejecting(verdict: Verdict) -> Prepared:
    return Prepared(rejection=verdict)


def test_no_plugin_narrows_the_search() -> None:
    assert combined((a, Prepared()), (b, Prepared())) == (None, None, ())


def test_names_are_intersected() -> None:
    assert combined((b, named("x", "y")), (a, named("y", "z"))) == (None, {"y"}, ("A", "B"))


def test_empty_intersection_names_all_plugins_that_narrowed() -> None:
    one = combined((a, named()))
    assert one[0] == (a, unresolvable("node(s) didn't satisfy plugin A"))
    two = combined((b, named("x")), (a, named("y")))
    assert two[0] == (a, unresolvable("node(s) didn't satisfy plugin(s) [A B] simultaneously"))
    assert two[2] == ("A", "B")


def test_unresolvable_prefilter_rejection_ends_the_search() -> None:
    assert combined((a, rejecting(FINAL)), (b, rejecting(CURABLE))) == ((a, FINAL), None, ())
    assert combined((a, rejecting(CURABLE)), (b, rejecting(FINAL))) == ((b, FINAL), None, ())
    assert combined((a, rejecting(CURABLE)), (b, named("x"))) == ((a, CURABLE), {"x"}, ("B",))
    other = unschedulable("other")
    assert combined((a, rejecting(CURABLE)), (b, rejecting(other))) == ((b, other), None, ())
