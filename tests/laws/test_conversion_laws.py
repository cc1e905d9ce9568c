"""Conversion: whatever a document holds, there is a view of it or a reason with a path into it."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices

from moorage.model.field_error import parse_field_path
from moorage.model.schema.conversion import ConversionError, TypeProblem, convert_view
from moorage.model.schema.known_fields import unknown_fields
from moorage.model.types.pod import Pod

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "labels": {"x": "y"}, "creationTimestamp": None},
    "spec": {
        "containers": [{"name": "c", "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1"}}}],
        "tolerations": [{"key": "a", "tolerationSeconds": 5}],
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}},
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
    },
}
STRANGE: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        [None, True, 0, -1, 2**31, 2**63, 2**64, 2**70, -(2**70), 1.5, 1e300, "", "x", "1Gi", [], {}, [None]]
    ),
    st.dictionaries(
        st.text("abc", min_size=1, max_size=3), st.none() | st.integers() | st.text(max_size=3), max_size=2
    ),
    st.lists(st.none() | st.integers() | st.text(max_size=3), max_size=2),
)

Convert = Callable[[dict[str, Any]], Any]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a value."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


@st.composite
def spoiled(draw: st.DrawFn) -> dict[str, Any]:
    raw = deepcopy(POD)
    for _ in range(draw(st.integers(0, 3))):
        found = places(raw)
        container, key = found[draw(st.integers(0, len(found) - 1))]
        container[key] = draw(STRANGE)
    return raw


def exists(raw: Any, path: str) -> bool:
    for step in parse_field_path(path):
        try:
            raw = raw[int(step)] if isinstance(raw, list) else raw[step]
        except (KeyError, IndexError, ValueError, TypeError):
            return False
    return True


def problems_of(convert: Convert, raw: dict[str, Any]) -> tuple[TypeProblem, ...]:
    """None if there is a view; else the problems, of which there must be some."""
    try:
        view = convert(raw)
    except ConversionError as error:
        return error.problems or (TypeProblem("", "no problem"),)
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        return (TypeProblem("", repr(error)),)
    return () if isinstance(view, Pod) else (TypeProblem("", "no view"),)


#: How Go's decoder and the types that decode themselves begin.
_GO_SAYS = ("json: cannot unmarshal ", "quantities must match", "unable to parse", "parsing time ")


def reason_law(convert: Convert, often: settings = LAW_SETTINGS) -> Callable[[], None]:
    @often
    @given(spoiled())
    def law(raw: dict[str, Any]) -> None:
        before = deepcopy(raw)
        for problem in problems_of(convert, raw):
            assert problem.reason.startswith(_GO_SAYS)
            assert exists(raw, problem.path)
        assert all(exists(raw, found.path) for found in unknown_fields(raw, Pod))
        assert raw == before

    return law


def test_there_is_a_view_or_a_reason() -> None:
    reason_law(lambda raw: convert_view(raw, Pod))()


def test_a_conversion_that_trusts_its_input_is_noticed() -> None:
    def trusting(raw: dict[str, Any]) -> Pod:
        return convert_view({**raw, "spec": {**raw["spec"]}}, Pod)

    assert_notices(reason_law(trusting, UNTIL_NOTICED))
