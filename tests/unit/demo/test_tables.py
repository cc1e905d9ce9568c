"""Tables as kubectl prints them."""

import pytest

from moorage.demo.kubectl_stand_in import NotUnderstood, render_custom_columns, render_table

TABLE = {
    "columnDefinitions": [
        {"name": "Name", "priority": 0},
        {"name": "Ready", "priority": 0},
        {"name": "Nominated Node", "priority": 1},
    ],
    "rows": [
        {
            "cells": ["web", "1/1", "<none>"],
            "object": {"metadata": {"namespace": "shop", "labels": {"example.com/tier": "front"}}},
        },
        {"cells": ["database", 3, "node-1"], "object": {"metadata": {"namespace": "default"}}},
    ],
}


def test_columns_for_the_width() -> None:
    assert render_table(TABLE, wide=False, namespaces=False, labels=[]) == (
        "NAME       READY\nweb        1/1\ndatabase   3\n"
    )
    assert render_table(TABLE, wide=True, namespaces=True, labels=["example.com/tier"]) == (
        "NAMESPACE   NAME       READY   NOMINATED NODE   TIER\n"
        "shop        web        1/1     <none>           front\n"
        "default     database   3       node-1\n"
    )


def test_columns_by_path() -> None:
    node = {
        "metadata": {"name": "one", "labels": {"a.b/c": "x"}},
        "spec": {"taints": [{"key": "k", "value": "1"}, {"key": "l"}], "unschedulable": True},
    }
    spec = r"N:.metadata.name,K:.spec.taints[*].key,V:.spec.taints[0].value,L:.metadata.labels.a\.b/c"
    spec += ",U:.spec.unschedulable"
    assert render_custom_columns([node], spec) == "N     K     V   L   U\none   k,l   1   x   true\n"
    assert render_custom_columns([{}], "N:.metadata.name,M:.a[*].b") == "N        M\n<none>   <none>\n"


@pytest.mark.parametrize("path", ["", "name", ".a[", ".a[?(@.b)]", ".a..b"])
def test_paths_that_are_not_understood(path: str) -> None:
    with pytest.raises(NotUnderstood, match="a column's path is not understood"):
        render_custom_columns([{}], f"N:{path}")
