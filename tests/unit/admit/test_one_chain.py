"""Admission plugins are chosen in one place: no other module makes one, or passes a list of them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import moorage
from moorage.admit.chain import Admission
from moorage.admit.plugins import Plugin

SOURCE = Path(moorage.__file__).parent
CHAIN = SOURCE / "admit" / "chain.py"
#: The pure core takes plugins from the chain.
CORE = SOURCE / "admit" / "admission.py"
FUNCTIONS = {"admit", "admit_own", "mutate"}


def plugin_names() -> set[str]:
    """Return the names of all plugins; importing the chain has imported their modules.

    A private class beside a plugin is a part of it: the form that the plugin has for one request.
    """
    plugins = [plugin for plugin in Plugin.__subclasses__() if plugin.__module__.startswith("moorage.")]
    public = {plugin.__module__ for plugin in plugins if not plugin.__name__.startswith("_")}
    return {
        plugin.__name__ for plugin in plugins if not (plugin.__name__.startswith("_") and plugin.__module__ in public)
    }


def choices_in(path: Path, text: str, plugins: set[str]) -> Iterator[str]:
    """Yield where a module makes a plugin, or passes plugins to admission."""
    if not any(name in text for name in (*plugins, "plugins=", "plugins =")):
        return  # most modules need not be parsed
    tree = ast.parse(text)
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("moorage.admit")
        for alias in node.names
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in plugins and name in imported:
            yield f"{path}:{node.lineno} makes a {name}"
        if name in FUNCTIONS and any(keyword.arg == "plugins" for keyword in node.keywords):
            yield f"{path}:{node.lineno} passes plugins to {name}"


def test_plugins_are_chosen_in_the_chain_only() -> None:
    plugins = plugin_names()
    assert Admission.__module__ == "moorage.admit.chain"
    assert len(plugins) >= 13
    others = (path for path in sorted(SOURCE.rglob("*.py")) if path not in (CHAIN, CORE))
    assert [one for path in others for one in choices_in(path, path.read_text(), plugins)] == []


def test_the_chain_makes_every_plugin() -> None:
    plugins = plugin_names()
    made = " ".join(choices_in(CHAIN, CHAIN.read_text(), plugins))
    assert {name for name in plugins if f"makes a {name}" not in made} == set()


def test_a_plugin_list_elsewhere_is_noticed() -> None:
    text = "from moorage.admit.plugins.priority import Priority\nadmit(raw, None, gates, plugins=(Priority(world),))\n"
    assert len(list(choices_in(Path("x.py"), text, plugin_names()))) == 2
