"""Texts that are read for the page: numbers and versions in their order, everything else in neither."""

from moorage.dashboard.state.readings import readings, texts_of


def test_numbers_and_versions_come_in_their_order() -> None:
    read = readings(["v1.10", "7", "red", "1.32-rc1", "-3", "v1.9", "007x", str(2**53 + 1), str(2**53)])
    assert [text for text, _ in read["numbers"]] == ["-3", "7", str(2**53), str(2**53 + 1)]
    assert read["versions"] == ["v1.9", "v1.10", "7", str(2**53), str(2**53 + 1)]


def test_a_saved_page_has_the_values_of_its_nodes_and_changes() -> None:
    node = {"labels": {"pool": "a"}, "taints": [{"key": "k", "value": "5", "effect": ""}], "version": "v1.36.0"}
    asked = 'what-if {"changes":[{"taint":{"key":"k","nodes":"all","value":"9"}},{"drain":"n"}],"until":null}'
    assert list(texts_of({"nodes": [node]}, ["plan {}", asked])) == ["a", "5", "v1.36.0", "9"]
