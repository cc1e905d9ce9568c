from moorage.model.go.quoting import go_json
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import LabelSelector
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP


def test_what_is_absent_equals_what_is_empty() -> None:
    written = convert_view({"matchLabels": {}, "matchExpressions": []}, LabelSelector)
    absent, null = convert_view({}, LabelSelector), convert_view({"matchLabels": None}, LabelSelector)
    assert absent == null == written
    assert (ABSENT_LIST, ABSENT_MAP) == ((), {})
    assert hash(ABSENT_LIST) == hash(())


def test_go_prints_the_one_as_null_and_the_other_as_empty() -> None:
    written = convert_view({"matchLabels": {}, "matchExpressions": []}, LabelSelector)
    assert (go_json(written.matchLabels), go_json(written.matchExpressions)) == ("{}", "[]")
    for raw in ({}, {"matchLabels": None, "matchExpressions": None}):
        absent = convert_view(raw, LabelSelector)
        assert (go_json(absent.matchLabels), go_json(absent.matchExpressions)) == ("null", "null")
