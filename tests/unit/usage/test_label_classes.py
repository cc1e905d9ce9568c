"""Pods by their labels: what a selector selects as pods come, are labelled otherwise, and go."""

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS

from moorage.match.label_selector import parse_selector
from moorage.usage.label_classes import LabelClasses

keys = st.sampled_from(["a/1", "a/2", "a/3", "b/1", "b/2"])
labels = st.none() | st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["x", "y"]))
selectors = st.sampled_from(["", "app=x", "app!=x", "app in (x,y),tier=y", "!tier"])


@LAW_SETTINGS
@given(st.lists(st.tuples(keys, labels), max_size=20), selectors)
def test_selected_are_those_that_match_one_by_one(changes: list[tuple[str, dict[str, str] | None]], text: str) -> None:
    classes, known = LabelClasses(), dict[str, dict[str, str]]()
    for key, now in changes:
        classes.put(key, now)
        known.pop(key, None)
        if now is not None:
            known[key] = now
    selector = parse_selector(text)
    for namespace in ("a", "b", "c"):
        wanted = {key for key, had in known.items() if key.startswith(f"{namespace}/") and selector.match(had)}
        assert sorted(classes.selected(namespace, selector)) == sorted(wanted)


def test_nothing_is_kept_of_pods_that_are_gone() -> None:
    classes = LabelClasses()
    for number in range(10):
        classes.put("a/1", {"app": str(number)})
    classes.put("a/1", None)
    assert not classes._labels
    assert not classes._keys
