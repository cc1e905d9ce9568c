"""A text where a list is expected is one element, in every public function; missing files raise with their path."""

import collections.abc
import inspect
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import moorage
import moorage.cel
import moorage.testing
from moorage.library.checking import lint
from moorage.library.cluster import Cluster
from moorage.library.manifests import MoorageError, gates_of
from moorage.library.planning import plan

NODES: list[dict[str, Any]] = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{number}"},
        "spec": {"taints": [{"key": "old", "effect": "NoSchedule"}] if number == 3 else []},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }
    for number in (1, 2, 3)
]
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "node-1"},
    "status": {"phase": "Running"},
}
UPPER: dict[str, Any] = {**POD, "metadata": {"name": "UPPER"}}
MISSING = "no/such/file.yaml"


def settings_of(**options: Any) -> object:
    return Cluster(**options)._settings


#: For each parameter that takes a list: a call with a value for it, which does not start a cluster.
CALLS: dict[str, tuple[Callable[[Any], object], str]] = {
    "plan.manifests": (lambda value: plan(value).to_dict(), "[file]"),
    "plan.change": (lambda value: plan(NODES, change=value).to_dict(), "[file]"),
    "plan.taint": (lambda value: plan([*NODES, POD], taint=value).to_dict(), "node-1=sick:NoExecute"),
    "plan.untaint": (lambda value: plan([*NODES, POD], untaint=value).to_dict(), "node-3=old"),
    "plan.drain": (lambda value: plan([*NODES, POD], drain=value).to_dict(), "node-1"),
    "plan.remove": (lambda value: plan([*NODES, POD], remove=value).to_dict(), "node-1"),
    "plan.cordon": (lambda value: plan([*NODES, POD], cordon=value).to_dict(), "node-1"),
    "plan.evict": (lambda value: plan([*NODES, POD], evict=value).to_dict(), "web"),
    "explain.manifests": (lambda value: moorage.explain("web", value).to_dict(), "[file]"),
    "lint.manifests": (lambda value: lint(value).summary, "[file]"),
    "lint.select": (lambda value: lint(UPPER, select=value).findings, "cel-constant"),
    "lint.ignore": (lambda value: lint(UPPER, ignore=value).findings, "rejected"),
    "Cluster.load": (lambda value: settings_of(load=value), "[file]"),
    "Cluster.controllers": (lambda value: settings_of(controllers=value), "-job-controller"),
}
#: These take objects, of which a text is none: it is refused.
REFUSED = {"tolerates.tolerations": lambda value: moorage.tolerates(value, "a=b:NoSchedule")}


def public_functions() -> dict[str, Any]:
    named = {name: getattr(moorage, name) for name in moorage.__all__ if callable(getattr(moorage, name))}
    functions = {name: getattr(found, "__wrapped__", found) for name, found in named.items()}
    functions |= {f"cel.{name}": getattr(moorage.cel, name) for name in ("compile", "check", "estimate")}
    return {
        name: found.__init__ if inspect.isclass(found) else found
        for name, found in functions.items()
        if not inspect.isclass(found) or found is Cluster
    }


def takes_a_list(hint: Any) -> bool:
    parts = [hint, *(part for one in get_args(hint) for part in (one, *get_args(one)))]
    lists = (collections.abc.Iterable, collections.abc.Sequence, list, tuple)
    return any(get_origin(part) in lists for part in parts)


def list_parameters() -> set[str]:
    return {
        f"{name}.{parameter}"
        for name, function in public_functions().items()
        for parameter, hint in get_type_hints(function).items()
        if parameter != "return" and takes_a_list(hint)
    }


def test_every_parameter_that_takes_a_list_is_tried() -> None:
    assert list_parameters() == {*CALLS, *REFUSED}


@pytest.mark.parametrize("name", CALLS)
def test_a_text_is_one_element(name: str, tmp_path: Path) -> None:
    call, value = CALLS[name]
    if value == "[file]":
        file = tmp_path / "objects.yaml"
        file.write_text(text_of(*NODES, POD))
        value = str(file)
        assert call(file) == call([file])
    assert call(value) == call([value]) == call((value,)) == call(iter([value]))
    if not name.startswith("explain"):  # without input there is nothing to explain
        assert call(value) != call(())
    for wrong in (7, [7], b"node-1"):
        with pytest.raises(MoorageError, match=r"not (int|bytes)|(int|bytes) is in it"):
            call(wrong)


def text_of(*objects: dict[str, Any]) -> str:
    return "\n---\n".join(map(json.dumps, objects)) + "\n"


@pytest.mark.parametrize("name", REFUSED)
def test_a_text_that_is_no_object_is_refused(name: str) -> None:
    for value in ("a", ["a"]):
        with pytest.raises(MoorageError, match="are mappings"):
            REFUSED[name](value)


def test_other_wrong_arguments_are_named() -> None:
    with pytest.raises(MoorageError, match=r"scale is a mapping such as .*, not str"):
        plan(NODES, scale="deployment/web=5")  # type: ignore[arg-type]
    assert gates_of("AllAlpha=true") == gates_of({"AllAlpha": True})


@pytest.mark.parametrize(
    "call",
    [
        lambda path: plan(path),
        lambda path: plan([*NODES, path]),
        lambda path: plan(NODES, change=path),
        lambda path: plan(NODES, config=path),
        lambda path: plan(kubeconfig=path),
        lambda path: moorage.explain("web", path),
        lambda path: lint(path),
        lambda path: moorage.admit(path),
        lambda path: Cluster(config=path),
    ],
)
def test_a_missing_file_raises_with_its_path(call: Callable[[Any], object], tmp_path: Path) -> None:
    for path in (MISSING, Path(MISSING)):
        with pytest.raises(MoorageError, match=f"{MISSING}: .*No such file or directory"):
            call(path)


def test_manifests_that_are_neither_path_nor_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MoorageError, match="not an empty text"):
        plan("")
    with pytest.raises(MoorageError, match="kind: Pod: No such file or directory; YAML text needs a line end"):
        plan("kind: Pod")
    with pytest.raises(MoorageError, match="File name too long"):
        plan("x" * 5000)
    closed = tmp_path / "closed.yaml"
    closed.write_text("")
    closed.chmod(0)
    if not os.access(closed, os.R_OK):  # root may read everything
        with pytest.raises(MoorageError, match="Permission denied"):
            plan(closed)
