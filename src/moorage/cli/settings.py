"""Set options by environment and files: `MOORAGE_UP_NODES=5`, or `nodes = 5` in the table `[up]` of a moorage.toml.

The command line wins, then the environment, then ./moorage.toml, then moorage/config.toml in the user's configuration
directory, then the option's default. Nothing is read to print help or to complete a word.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from moorage.cli.optional_value import BARE, OptionalValue

PREFIX = "MOORAGE"
PROJECT_FILE = "moorage.toml"
_OFF = f"{PREFIX}_NO_SETTINGS"
_META = "moorage.settings"
_OPTION = re.compile(r"--[a-z][a-z-]*")
_GATES = "NAME=BOOL"
_MAX_FILE_BYTES = 1024 * 1024
#: How settings switch an option on or off that need not have a value.
_SWITCHES = {"true": BARE, "1": BARE, "yes": BARE, "on": BARE, "false": "", "0": "", "no": "", "off": ""}
#: A setting that excludes one of these is left out where they are on the command line, which comes first.
_RIVALS = {"data_dir": ("ephemeral", "name"), "ephemeral": ("data_dir",), "name": ("data_dir",)}


class SettingsError(click.ClickException):
    """A setting that cannot be used; the message begins with its variable, or its file and key."""

    exit_code = 2


class _Setting(NamedTuple):
    """A value, and which variable or key of a file has it."""

    value: Any
    origin: str
    folder: Path | None = None  # of the file, which paths are relative to


class SettingsFile(NamedTuple):
    """A TOML file with a table for each command."""

    path: str
    tables: Mapping[str, Any]

    def table(self, names: list[str]) -> Mapping[str, Any]:
        """Return the table of a command, empty if absent. Raises SettingsError."""
        table: Any = self.tables
        for depth, name in enumerate(names, 1):
            table = table.get(name, {})
            if not isinstance(table, dict):
                raise SettingsError(f"{self.path}: {'.'.join(names[:depth])}: must be a table of options")
        return table  # type: ignore[no-any-return]


class SettingsContext(click.Context):
    """A command's context, in which options that are not on the command line are looked up."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.origins: dict[str, str] = {}
        self._found: dict[str, _Setting] | None = None

    def lookup_default(self, name: str, call: bool = True) -> Any:
        is_for_help = not call or self.resilient_parsing  # or for a word to complete
        if is_for_help or os.environ.get(_OFF):
            return None
        if self._found is None:
            self._found = _settings_of(self)
        setting = self._found.get(name)
        if setting is None or any(self._is_on_command_line(rival) for rival in _RIVALS.get(name, ())):
            return None
        option = next(option for option in settable(self.command) if option.name == name)
        try:
            value = _value(option, setting)
        except _BadSetting as error:
            raise SettingsError(f"{setting.origin}: {error}") from None
        self.origins[name] = setting.origin
        return value

    def _is_on_command_line(self, name: str) -> bool:
        return self.get_parameter_source(name) is ParameterSource.COMMANDLINE


class _BadSetting(ValueError):
    """Why a value does not suit its option."""


def settable(command: click.Command) -> list[click.Option]:
    """Return the options that have settings: all but those that answer at once, such as --help."""
    return [
        param
        for param in command.params
        if isinstance(param, click.Option) and param.expose_value and not param.is_eager
    ]


def keys_of(option: click.Option) -> list[str]:
    """Return the names of an option in files: the long ones without dashes, else the short one."""
    long = [name[2:] for name in option.opts if name.startswith("--")]
    return long or [name.lstrip("-") for name in option.opts]


def variable_of(names: Iterable[str], key: str) -> str:
    return "_".join((PREFIX, *names, key)).upper().replace("-", "_")


def use_settings(command: click.Command) -> click.Command:
    """Make a command, and those below it, look up options that are not on its command line."""
    command.context_class = SettingsContext
    if isinstance(command, click.Group):
        for below in command.commands.values():
            use_settings(below)
    return command


def with_origins(error: click.UsageError) -> click.ClickException:
    """Return an error about options that says which variable or file has set them, if it was not the command line."""
    context = error.ctx
    if not isinstance(context, SettingsContext):
        return error
    wrong = getattr(error, "param", None)
    if isinstance(wrong, click.Option) and wrong.name in context.origins:
        return SettingsError(f"{context.origins[wrong.name]}: {error.message}")
    message = error.format_message()
    mentioned = [option for option in settable(context.command) if set(option.opts) & set(_OPTION.findall(message))]
    remarks = [
        f"\n({option.opts[0]} is set by {context.origins[option.name]}.)"
        for option in mentioned
        if option.name in context.origins
    ]
    return click.UsageError(message + "".join(remarks), context) if remarks else error


def _names(context: click.Context) -> list[str]:
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, context.info_name or "")
        context = context.parent
    return names


def _settings_of(context: SettingsContext) -> dict[str, _Setting]:
    """Return the settings of a command by parameter. Raises SettingsError for what is not one."""
    names, command = _names(context), context.command
    by_key = {key: option.name or "" for option in settable(command) for key in keys_of(option)}
    below = list(command.commands) if isinstance(command, click.Group) else []
    settings: dict[str, _Setting] = {}
    for file in _files(context):
        for key, value in file.table(names).items():
            origin = f"{file.path}: {'.'.join((*names, key))}"
            if key in by_key:
                settings[by_key[key]] = _Setting(value, origin, Path(file.path).absolute().parent)
            elif key not in below:
                hint = _close(key, [*by_key, *below])
                raise SettingsError(f"{origin}: `moorage {' '.join(names)}` has no option --{key}.{hint}")
    variables = {variable_of(names, key): parameter for key, parameter in by_key.items()}
    for variable, parameter in variables.items():
        if text := os.environ.get(variable):
            settings[parameter] = _Setting(text, variable)
    prefix = variable_of(names, "")
    others = tuple(variable_of((*names, name), "") for name in below)
    for variable in sorted(os.environ):
        if variable.startswith(prefix) and variable not in variables and not variable.startswith(others or ("\0",)):
            hint = _close(variable, list(variables))
            click.echo(f"moorage: {variable} sets no option of `moorage {' '.join(names)}`.{hint}", err=True)
    return settings


def _close(word: str, known: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1)
    return f" Did you mean {close[0]}?" if close else ""


def _files(context: click.Context) -> list[SettingsFile]:
    """Return the files there are, the least important first; each is read once."""
    files: list[SettingsFile] | None = context.meta.get(_META)
    if files is None:
        files = context.meta[_META] = list(_read_files(_places()))
        root = context.find_root().command
        known = root.list_commands(context.find_root()) if isinstance(root, click.Group) else []
        for file in files:
            for name in file.tables:
                if not isinstance(file.tables[name], dict):
                    hint = "options are in the table of their command, such as [up]"
                    raise SettingsError(f"{file.path}: {name}: must be a table; {hint}.")
                if name not in known:
                    raise SettingsError(f"{file.path}: {name}: there is no such command.{_close(name, known)}")
    return files


def _places() -> list[str]:
    base = os.environ.get("XDG_CONFIG_HOME", "")
    try:
        folder = Path(base) if os.path.isabs(base) else Path.home() / ".config"  # noqa: PTH117 (empty is not)
    except RuntimeError:  # there is no home directory
        return [PROJECT_FILE]
    return [str(folder / "moorage" / "config.toml"), PROJECT_FILE]


def _read_files(places: list[str]) -> Iterator[SettingsFile]:
    """Raises SettingsError."""
    for path in places:
        try:
            with Path(path).open("rb") as file:
                content = file.read(_MAX_FILE_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None
        if len(content) > _MAX_FILE_BYTES:
            raise SettingsError(f"{path}: is larger than {_MAX_FILE_BYTES} bytes")
        import tomllib

        try:
            yield SettingsFile(path, tomllib.loads(content.decode("utf-8")))
        except UnicodeDecodeError:
            raise SettingsError(f"{path}: is not UTF-8") from None
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise SettingsError(f"{path}: is not TOML: {error or 'nested too deeply'}") from None


def _value(option: click.Option, setting: _Setting) -> Any:
    """Return what click may convert, of the right shape. Raises _BadSetting."""
    given = setting.value
    from_environment = setting.folder is None
    if option.is_flag:
        if from_environment:
            return _flag(given)
        if not isinstance(given, bool):
            raise _BadSetting(f"must be true or false, not {given!r}")
        return given
    if isinstance(option, OptionalValue) and str(given).lower() in _SWITCHES:
        return _SWITCHES[str(given).lower()]
    if from_environment:
        return _words(given) if option.multiple else given
    if isinstance(given, dict) and (option.metavar or "").startswith(_GATES):
        if not all(isinstance(value, bool) for value in given.values()):
            raise _BadSetting("each gate must be true or false")
        given = [f"{name}={str(value).lower()}" for name, value in given.items()]
    values = given if isinstance(given, list) else [given]
    if isinstance(given, list) and not option.multiple:
        raise _BadSetting("must be one value, not a list")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise _BadSetting(f"must be a string or a number, not {_shown(value)}")
    texts = [_path(option, str(value), setting.folder) for value in values]
    return texts if option.multiple else texts[0]


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    return str(value).lower()


def _flag(text: str) -> bool:
    try:
        return bool(click.BOOL.convert(text, None, None))
    except click.BadParameter:
        raise _BadSetting(f"must be true or false, not {text!r}") from None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise _BadSetting(f"{text!r}: {error}") from None


def _path(option: click.Option, text: str, folder: Path | None) -> str:
    """Return a path of a file relative to that file, with `~` expanded; any other value as it is."""
    is_path = isinstance(option.type, click.Path) or ("FILE" in (option.metavar or "") and "=" not in text)
    if not is_path or folder is None or text in ("", "-"):
        return text
    try:
        path = folder / Path(text).expanduser()
    except RuntimeError as error:
        raise _BadSetting(f"{text!r}: {error}") from None
    return text if (option.metavar or "").startswith("CONTEXT") and not path.exists() else str(path)
