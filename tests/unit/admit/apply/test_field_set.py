"""Sets of fields: what joins, what is left, what is in both, and how they are written."""

from typing import Any

import pytest

from moorage.admit.apply.field_set import (
    Fields,
    decode,
    difference,
    has,
    in_order,
    includes,
    intersection,
    intersects,
    leaves,
    of_paths,
    paths,
    recursive_difference,
    render_path,
    union,
)

A = of_paths(("spec",), ("spec", "replicas"), ("spec", "template", "spec"))


def test_a_parent_and_its_child_are_two_members() -> None:
    assert A == {"f:spec": {".": {}, "f:replicas": {}, "f:template": {"f:spec": {}}}}
    assert has(A, ("f:spec",))
    assert has(A, ("f:spec", "f:replicas"))
    assert not has(A, ("f:spec", "f:template"))
    assert not has(A, ("f:status",))


def test_joining() -> None:
    assert union({}, A) == union(A, {}) == union(A, A) == A
    assert union(of_paths(("a", "b")), of_paths(("a",))) == {"f:a": {".": {}, "f:b": {}}}
    assert union(of_paths(("a",)), of_paths(("a", "b"))) == {"f:a": {".": {}, "f:b": {}}}
    assert union(of_paths(("a", "b")), of_paths(("c",))) == {"f:a": {"f:b": {}}, "f:c": {}}


def test_taking_a_parent_away_leaves_its_children() -> None:
    assert difference(A, of_paths(("spec",))) == {"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {}}}}
    assert difference(A, of_paths(("spec", "replicas"), ("spec", "template", "spec"))) == {"f:spec": {}}
    assert difference(A, of_paths(("spec", "template"))) == A
    assert difference(A, A) == {}
    assert difference(of_paths(("a", "b")), of_paths(("a",))) == of_paths(("a", "b"))


def test_taking_a_parent_away_with_all_that_is_below() -> None:
    assert recursive_difference(A, of_paths(("spec",))) == {}
    assert recursive_difference(A, of_paths(("spec", "template"))) == {"f:spec": {".": {}, "f:replicas": {}}}
    assert recursive_difference(A, of_paths(("spec", "template"), ("spec", "replicas"))) == {"f:spec": {}}
    assert recursive_difference(of_paths(("a", "b")), of_paths(("a", "b", "c"))) == of_paths(("a", "b"))


def test_what_is_in_both() -> None:
    assert intersection(A, of_paths(("spec",), ("spec", "template"))) == of_paths(("spec",))
    assert intersection(A, of_paths(("spec", "replicas"))) == of_paths(("spec", "replicas"))
    assert intersection(A, of_paths(("status",))) == {}
    assert intersects(A, of_paths(("spec", "template", "spec")))
    assert not intersects(A, of_paths(("spec", "template")))
    assert not intersects({}, A)


def test_all_of_another() -> None:
    assert includes(A, of_paths(("spec",)))
    assert includes(A, {})
    assert not includes({}, A)
    assert not includes(A, of_paths(("spec", "template")))
    assert not includes(of_paths(("spec",)), A)


def test_leaves_have_nothing_below_them() -> None:
    assert leaves(A) == {"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {}}}}


def test_members_of_a_level_come_before_those_below() -> None:
    fields: Fields = {"f:b": {".": {}, "f:c": {}}, "f:a": {"f:d": {}}, "f:e": {}}
    assert [render_path(path) for path in paths(fields)] == [".b", ".e", ".a.d", ".b.c"]


def test_elements_of_lists_are_ordered_by_their_values() -> None:
    ports: Fields = {f'k:{{"containerPort":{port},"protocol":"TCP"}}': {} for port in (443, 8080, 80)}
    fields = {"f:ports": {**ports, ".": {}}, "f:a": {'v:"b"': {}, "v:2": {}, "v:10": {}, "v:true": {}}}
    ordered = in_order(fields)
    assert list(ordered) == ["f:a", "f:ports"]
    assert list(ordered["f:a"]) == ["v:2", "v:10", 'v:"b"', "v:true"]
    assert [name[19:23].strip(',"') for name in ordered["f:ports"]] == ["", "80", "443", "8080"]


def test_what_clients_send_is_put_right() -> None:
    sent: Fields = {
        "f:a": {".": {}},
        'k:{"b":1, "a":"<"}': {},
        "x:later": {"f:b": {}},
        "f:c": {"x:later": {}},
        "i:03": {},
    }
    assert decode(sent) == {"f:a": {}, 'k:{"a":"\\u003c","b":1}': {}, "f:c": {}, "i:3": {}}


@pytest.mark.parametrize(
    "sent", [[], {"f": {}}, {"name": {}}, {"k:[]": {}}, {"k:{": {}}, {"v:": {}}, {"i:x": {}}, {"f:a": 1}]
)
def test_nonsense_is_refused(sent: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode(sent)


def test_paths_for_people() -> None:
    path = ("f:spec", 'k:{"containerPort":80,"protocol":"TCP"}', 'v:"x"', "i:3", "f:a.b/c")
    assert render_path(path) == '.spec[containerPort=80,protocol="TCP"][="x"][3].a.b/c'
