"""Options by environment and file: precedence, shapes of values, and errors that name the variable or file and key."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
import pytest

from moorage.cli import main as main_module
from moorage.cli.settings import keys_of, settable, use_settings, variable_of, with_origins


@click.group()
def root() -> None:
    """A program with commands of every kind of option."""


@root.command("up")
@click.option("--nodes", type=click.IntRange(0, 100), default=3)
@click.option("--ephemeral", is_flag=True)
@click.option("--simulate/--no-simulate", default=True)
@click.option("--load", "manifests", multiple=True, metavar="FILE")
@click.option("--data-dir", type=click.Path(path_type=Path))
@click.option("--feature-gates", "gates", multiple=True, metavar="NAME=BOOL,...")
@click.option("--devices", multiple=True, metavar="DRIVER=COUNT|FILE")
@click.option("--color", "--colour", "colour", type=click.Choice(["auto", "never"]), default="auto")
@click.option("-v", "verbosity", type=int, default=0)
def up(**values: Any) -> dict[str, Any]:
    if values["ephemeral"] and values["data_dir"]:
        raise click.UsageError("--ephemeral excludes --data-dir.")
    return values


@root.group("gates", invoke_without_command=True)
@click.option("--scrape", default="")
def gates(scrape: str) -> None:
    """A group with a command below it."""


@gates.command("audit")
@click.option("--gate", multiple=True)
def audit(gate: tuple[str, ...]) -> tuple[str, ...]:
    return gate


use_settings(up)
use_settings(gates)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in os.environ:
        if name.startswith("MOORAGE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", "/home/me")
    (tmp_path / "config" / "moorage").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def run(*arguments: str) -> Any:
    return root.main(list(arguments), standalone_mode=False)


def error_of(*arguments: str) -> str:
    with pytest.raises(click.ClickException) as caught:
        run(*arguments)
    error = caught.value
    shown = with_origins(error) if isinstance(error, click.UsageError) else error
    assert shown.exit_code == 2
    return shown.format_message()


def test_command_line_before_environment_before_project_before_user(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("up")["nodes"] == 3
    (place.parent / "config" / "moorage" / "config.toml").write_text("[up]\nnodes = 4\nv = 2\n")
    assert run("up")["nodes"] == 4
    (place / "moorage.toml").write_text("[up]\nnodes = 5\n")
    assert run("up")["nodes"] == 5
    monkeypatch.setenv("MOORAGE_UP_NODES", "6")
    assert run("up")["nodes"] == 6
    assert run("up", "--nodes", "7")["nodes"] == 7
    assert run("up")["verbosity"] == 2  # what the project does not set, the user's file does


def test_every_shape_of_option_in_a_file(place: Path) -> None:
    (place / "moorage.toml").write_text(
        """
        [up]
        ephemeral = true
        simulate = false
        load = ["nodes.yaml", "/etc/pods.yaml", "-", "~/more.yaml"]
        feature-gates = {TaintTolerationCEL = true, AllBeta = false}
        devices = ["gpu.example.com=8", "gpus.yaml"]
        colour = "never"
        [gates.audit]
        gate = ["A", "B"]
        """
    )
    values = run("up")
    assert values["ephemeral"] is True
    assert values["simulate"] is False
    assert values["manifests"] == (f"{place}/nodes.yaml", "/etc/pods.yaml", "-", "/home/me/more.yaml")
    assert values["gates"] == ("TaintTolerationCEL=true", "AllBeta=false")
    assert values["devices"] == ("gpu.example.com=8", f"{place}/gpus.yaml")
    assert values["colour"] == "never"
    assert run("gates", "audit") == ("A", "B")
    # The command line replaces a list, and does not add to it.
    assert run("up", "--load", "x.yaml")["manifests"] == ("x.yaml",)


def test_what_the_command_line_excludes_is_not_set(place: Path) -> None:
    (place / "moorage.toml").write_text("[up]\ndata-dir = 'kept'\n")
    assert run("up", "--ephemeral")["data_dir"] is None
    (place / "moorage.toml").write_text("[up]\nephemeral = true\n")
    assert run("up", "--data-dir", "kept")["ephemeral"] is False


def test_no_settings_at_all(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOORAGE_NO_SETTINGS", "true")
    monkeypatch.setenv("MOORAGE_UP_NODES", "7")
    (place / "moorage.toml").write_text("[up")
    assert run("up")["nodes"] == 3


def test_paths_are_relative_to_the_file_that_names_them(place: Path) -> None:
    user = place.parent / "config" / "moorage"
    (user / "config.toml").write_text('[up]\ndata-dir = "kept"\n')
    assert run("up")["data_dir"] == user / "kept"


def test_every_shape_of_option_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "EPHEMERAL": "1",
        "SIMULATE": "no",
        "LOAD": "nodes.yaml 'my pods.yaml'",
        "FEATURE_GATES": "AllAlpha=true,AllBeta=true",
        "COLOR": "never",
        "V": "4",
        "NODES": "",  # as if it were not set
    }.items():
        monkeypatch.setenv(f"MOORAGE_UP_{name}", value)
    monkeypatch.setenv("MOORAGE_GATES_AUDIT_GATE", "A B")
    values = run("up")
    assert (values["ephemeral"], values["simulate"], values["verbosity"], values["nodes"]) == (True, False, 4, 3)
    assert values["manifests"] == ("nodes.yaml", "my pods.yaml")
    assert values["gates"] == ("AllAlpha=true,AllBeta=true",)
    assert values["colour"] == "never"
    assert run("gates", "audit") == ("A", "B")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[up]\nnodes = "many"\n', "moorage.toml: up.nodes: 'many' is not a valid integer range."),
        ("[up]\nnodes = true\n", "moorage.toml: up.nodes: must be a string or a number, not true"),
        ("[up]\nnodes = [1]\n", "moorage.toml: up.nodes: must be one value, not a list"),
        ("[up]\nnodes = {}\n", "moorage.toml: up.nodes: must be a string or a number, not a table"),
        ("[up]\nload = [[]]\n", "moorage.toml: up.load: must be a string or a number, not a list"),
        ("[up]\nnodes = 101\n", "moorage.toml: up.nodes: 101 is not in the range 0<=x<=100."),
        ("[up]\nephemeral = 1\n", "moorage.toml: up.ephemeral: must be true or false, not 1"),
        ("[up]\ncolor = 'red'\n", "moorage.toml: up.color: 'red' is not one of 'auto', 'never'."),
        ("[up]\nfeature-gates = {A = 1}\n", "moorage.toml: up.feature-gates: each gate must be true or false"),
        ("[up]\nnods = 1\n", "moorage.toml: up.nods: `moorage up` has no option --nods. Did you mean nodes?"),
        ("[up]\nzzz = 1\n", "moorage.toml: up.zzz: `moorage up` has no option --zzz."),
        ("[ups]\nnodes = 1\n", "moorage.toml: ups: there is no such command. Did you mean up?"),
        ("nodes = 1\n", "moorage.toml: nodes: must be a table; options are in the table of their command"),
        ("[up\n", "moorage.toml: is not TOML: Expected ']' at the end of a table declaration (at line 1"),
        (
            "[up]\ndata-dir = 'x'\nephemeral = true\n",
            "--ephemeral excludes --data-dir.\n(--ephemeral is set by",
        ),
    ],
)
def test_an_error_in_a_file_names_file_and_key(text: str, message: str, place: Path) -> None:
    (place / "moorage.toml").write_text(text)
    assert error_of("up").startswith(message)


def test_files_that_cannot_be_read(place: Path) -> None:
    (place / "moorage.toml").write_bytes(b"[up]\ncolor = '\xff'\n")
    assert error_of("up") == "moorage.toml: is not UTF-8"
    (place / "moorage.toml").unlink()
    (place / "moorage.toml").mkdir()
    assert error_of("up") == "moorage.toml: cannot be read: Is a directory"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("NODES", "many", "MOORAGE_UP_NODES: 'many' is not a valid integer range."),
        ("EPHEMERAL", "perhaps", "MOORAGE_UP_EPHEMERAL: must be true or false, not 'perhaps'"),
        ("LOAD", "'open", 'MOORAGE_UP_LOAD: "\'open": No closing quotation'),
    ],
)
def test_an_error_in_the_environment_names_the_variable(
    name: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"MOORAGE_UP_{name}", value)
    assert error_of("up") == message


def test_an_unknown_variable_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MOORAGE_UP_NODE", "5")
    monkeypatch.setenv("MOORAGE_GATES_AUDIT_GATE", "A")
    assert run("up")["nodes"] == 3
    run("gates")
    assert capsys.readouterr().err == (
        "moorage: MOORAGE_UP_NODE sets no option of `moorage up`. Did you mean MOORAGE_UP_NODES?\n"
    )


def test_help_works_beside_a_broken_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "moorage.toml").write_text("[up")
    run("up", "--help")
    assert "--nodes" in capsys.readouterr().out


def test_every_option_of_every_command_has_a_variable_of_its_own() -> None:
    """As MOORAGE_UP_NODES; two commands or options that share one could not be told apart."""
    seen: dict[str, str] = {}

    def walk(command: click.Command, names: list[str]) -> None:
        for option in settable(command):
            for key in keys_of(option):
                variable = variable_of(names, key)
                assert seen.setdefault(variable, f"{names} {option.name}") == f"{names} {option.name}"
        if isinstance(command, click.Group):
            with click.Context(command) as context:
                for name in command.list_commands(context):
                    below = command.get_command(context, name)
                    assert below is not None
                    walk(below, [*names, name])

    walk(main_module.moorage, [])
    assert {"MOORAGE_UP_NODES", "MOORAGE_UP_FEATURE_GATES", "MOORAGE_GATES_AUDIT_GATE"} <= seen.keys()
    assert "MOORAGE_DEBUG" not in seen
