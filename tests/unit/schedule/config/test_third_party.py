"""Plugins of other packages: found by name, refused with the package's name, guarded when they are called."""

from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.unit.schedule.clusters import cluster_of, node, pod
from tests.unit.schedule.configurations import Raw, configuration, document, named, problems, profile_fields

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.model.gates import default_gates
from moorage.schedule.config import third_party
from moorage.schedule.config.configuration import load_configuration
from moorage.schedule.config.third_party import PluginError
from moorage.schedule.framework import (
    SKIP,
    EventKind,
    Normalization,
    Plugin,
    Prepared,
    Verdict,
    check_plugin,
    on,
    unschedulable,
)


class OwnArgs(msgspec.Struct):
    label: str = "team"
    limit: int = 1


class Own(Plugin[Shape]):
    """Refuses nodes without a label and prefers long values."""

    name = "Own"
    args_type = OwnArgs
    normalization = Normalization.UP

    def __init__(self, args: OwnArgs) -> None:
        super().__init__(args)
        if args.limit < 0:
            raise ValueError("limit must not be negative")

    def explain(self, want: Shape, cluster: Cluster, slot: int) -> Verdict | None:
        value = cluster.nodes.node(slot).metadata.labels.get(self.args.label)
        return None if value else unschedulable("node(s) had no team", f"no label {self.args.label}")

    def score_slot(self, want: Shape, cluster: Cluster, slot: int) -> int:
        return len(cluster.nodes.node(slot).metadata.labels.get(self.args.label, ""))


class WithDict(Plugin[Any]):
    """Only scores; its arguments are a dict."""

    name = "WithDict"

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        return Prepared(self.args.get("score", 0))

    def score_slot(self, want: Any, cluster: Cluster, slot: int) -> int:
        return want  # type: ignore[no-any-return]


def unexpected(*args: Any) -> Any:
    raise RuntimeError("broken\nin two lines")


class Plain(Plugin[Any]):
    name = "Plain"

    def explain(self, want: Any, cluster: Cluster, slot: int) -> Verdict | None:
        return None


class Raises(Plain):
    def explain(self, want: Any, cluster: Cluster, slot: int) -> Verdict | None:
        unexpected()
        return None


class ReturnsText(Plain):
    def explain(self, want: Any, cluster: Cluster, slot: int) -> Any:
        return "no"


class PreparesNothing(Plain):
    def prepare(self, shape: Shape, cluster: Cluster) -> Any:
        return None


class FiltersByTheWrongSize(Plain):
    def filter(self, want: Any, cluster: Cluster) -> Any:
        return np.ones(1, np.bool_)


class ScoresTooMuch(Plain):
    def score_slot(self, want: Any, cluster: Cluster, slot: int) -> int:
        return 101


class Misnamed(Plain):
    name = "Other"


class DoesNothing(Plugin[Any]):
    name = "Plain"


class FiltersInSilence(Plugin[Any]):
    name = "Plain"

    def filter_slot(self, want: Any, cluster: Cluster, slot: int) -> bool:
        return False

    def score_slot(self, want: Any, cluster: Cluster, slot: int) -> int:
        return 0


class NotLocal(Plain):
    local = False


class StrangeArgs(Plain):
    args_type = int  # type: ignore[assignment]


def register(monkeypatch: pytest.MonkeyPatch, **plugins: Any) -> None:
    """Have entry points by these names, which lead to the values."""
    module = ModuleType("their_plugins")
    for name, plugin in plugins.items():
        setattr(module, name, plugin)
    monkeypatch.setitem(__import__("sys").modules, "their_plugins", module)
    entries = [EntryPoint(name, f"their_plugins:{name}", third_party.ENTRY_POINT_GROUP) for name in plugins]
    monkeypatch.setattr(third_party, "entry_points", lambda group: EntryPoints(entries))


def with_plugins(name: str, args: Any = None, point: str = "multiPoint") -> dict[str, Any]:
    given = {} if args is None else {name: args}
    return {"profiles": [profile_fields({point: {"enabled": named(name)}}, **given)]}


CLUSTER = (node("a", {"team": "x"}), node("b"), node("c", {"team": "four"}), node("d", {"own": "1"}))


def placed(fields: Raw) -> str:
    cluster = cluster_of(*CLUSTER)
    scheduler = configuration(**fields).make_scheduler(cluster, default_gates())
    slot = scheduler.engines["default-scheduler"].find(cluster.record("default/p", pod()))
    return cluster.nodes.node(slot).metadata.name if slot >= 0 else ""


@pytest.mark.parametrize(
    ("args", "expected"), [(None, "c"), ({}, "c"), ({"label": "own"}, "d"), ({"label": "none", "limit": 3}, "")]
)
def test_it_filters_and_scores_with_its_own_arguments(
    args: Raw | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, Own=Own)
    assert placed(with_plugins("Own", args)) == expected


def test_it_can_be_asked_at_one_point_with_a_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, Own=Own, WithDict=WithDict)
    (made,) = configuration(**with_plugins("Own", point="filter")).profiles
    assert made.order.filters[-1] == "Own"
    assert "Own" not in dict(made.order.scores)
    plugins = {"score": {"enabled": [{"name": "WithDict", "weight": 7}]}}
    (made,) = configuration(profiles=[profile_fields(plugins, WithDict={"score": 3})]).profiles
    assert dict(made.order.scores)["WithDict"] == 7
    assert made.args["WithDict"] == {"score": 3}
    assert problems(**with_plugins("WithDict", point="filter")) == [
        'profiles[0].plugins.filter.enabled[0]: plugin "WithDict" does not extend FilterPlugin plugin'
    ]


ARGS = "profiles[0].pluginConfig[0].args"
ORIGIN = 'plugin "Own" (entry point their_plugins:Own of an unknown package)'


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], f"{ARGS}: args for plugin Own must be an object"),
        ({"lable": "x"}, f'unknown field "{ARGS}.lable"; did you mean "label"?'),
        ({"limit": "x"}, f"{ARGS}: decoding args for plugin Own: Expected `int`, got `str` - at `$.limit`"),
        ({"limit": -1}, f"{ARGS}: {ORIGIN}: Own(args) raised ValueError: limit must not be negative"),
    ],
)
def test_arguments_that_it_cannot_take_are_refused(args: Any, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, Own=Own)
    assert problems(**with_plugins("Own", args)) == [expected]


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        (unexpected, "is a value of type function, not a subclass of moorage.schedule.framework.Plugin"),
        (int, "is class int, not a subclass of moorage.schedule.framework.Plugin"),
        (Misnamed, "class Misnamed has the name 'Other', which should be 'Plain'"),
        (DoesNothing, "class DoesNothing overrides neither explain nor score_slot, so it would do nothing"),
        (
            FiltersInSilence,
            "class FiltersInSilence overrides filter but not explain, so nothing would say why a node is refused",
        ),
        (NotLocal, "class NotLocal is not local, so it has to derive from moorage.schedule.framework.WidePlugin"),
        (StrangeArgs, "args_type of class StrangeArgs is not a msgspec.Struct"),
    ],
)
def test_entry_points_that_are_not_plugins_are_refused(
    plugin: Any, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, Plain=plugin)
    origin = 'plugin "Plain" (entry point their_plugins:Plain of an unknown package)'
    assert problems(**with_plugins("Plain")) == [f"profiles[0].plugins.multiPoint.enabled[0]: {origin}: {expected}"]


def test_a_package_that_cannot_be_imported_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_broken.py").write_text("import does_not_exist_anywhere\n")
    info = tmp_path / "their_package-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[moorage.plugins]\nBroken = their_broken:Broken\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert problems(**with_plugins("Broken")) == [
        'profiles[0].plugins.multiPoint.enabled[0]: plugin "Broken" (entry point their_broken:Broken of package '
        "their-package 1.2): cannot be loaded: ModuleNotFoundError: No module named 'does_not_exist_anywhere'"
    ]
    assert configuration().profiles  # nobody named it, so nobody imports it
    assert problems(**with_plugins("Brokn"))[0].endswith('plugin "Brokn" does not exist; did you mean "Broken"?')


def test_two_packages_cannot_share_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [EntryPoint("Own", f"{name}:Own", third_party.ENTRY_POINT_GROUP) for name in ("one", "two")]
    monkeypatch.setattr(third_party, "entry_points", lambda group: EntryPoints(entries))
    assert "2 packages register a plugin of this name" in problems(**with_plugins("Own"))[0]


def test_nothing_is_loaded_that_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(third_party, "entry_points", unexpected)
    assert configuration(profiles=[profile_fields({"filter": {"disabled": named("NodePorts")}})]).profiles


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        (Raises, "explain raised RuntimeError: broken in two lines"),
        (ReturnsText, "explain returned 'no', not a Verdict or None"),
        (PreparesNothing, "prepare returned None, not a Prepared"),
        (FiltersByTheWrongSize, "an array of 64 bools, one for each slot"),
        (ScoresTooMuch, "score_slot returned 101, not an int of 0–100"),
    ],
)
def test_plugin_that_returns_an_invalid_answer_is_named(
    plugin: Any, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, Plain=plugin)
    with pytest.raises(PluginError) as error:
        placed(with_plugins("Plain"))
    assert str(error.value).startswith('plugin "Plain" (entry point their_plugins:Plain of an unknown package): ')
    assert expected in str(error.value)


def test_a_hint_that_fails_lets_the_pod_be_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hinting(Plain):
        requeue_on = (on(EventKind.NODE_ADDED, hint=unexpected), on(EventKind.NODE_LABELS))

    register(monkeypatch, Plain=Hinting)
    profiles = configuration(**with_plugins("Plain")).make_profiles(default_gates())
    plugin = profiles["default-scheduler"].filters[-1]
    assert plugin.requeue_on is not None
    hint, none = (row.hint for row in plugin.requeue_on)
    assert hint is not None
    assert hint(None, None, None, None)  # type: ignore[arg-type]
    assert none is None


def test_the_laws_hold_for_a_plugin_of_two_methods_and_notice_a_broken_one() -> None:
    cluster = cluster_of(*CLUSTER)
    shape = cluster.shape_of(pod())
    check_plugin(Own(OwnArgs()), cluster, shape)

    class LetsAllPass(Own):
        def filter(self, want: Shape, cluster: Cluster) -> Any:
            return np.ones(cluster.nodes.slots.capacity, np.bool_)

    with pytest.raises(AssertionError, match="Own, node b: filter True"):
        check_plugin(LetsAllPass(OwnArgs()), cluster, shape)


def test_a_file_names_it_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, Own=Own)
    text = msgspec.yaml.encode(document(**with_plugins("Own", {"limit": -1})))
    with pytest.raises(Exception, match=r"config:\d+: profiles\[0\]\.pluginConfig\[0\]\.args: plugin \"Own\""):
        load_configuration(text, "config", default_gates())


def test_a_shape_may_be_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Skips(Plain):
        def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
            return SKIP

    register(monkeypatch, Plain=Skips)
    assert placed(with_plugins("Plain"))
