"""Run the commands of `moorage`. The exit code of one that ends badly is 2, or 130 after Ctrl-C; never a traceback.

Commands are imported when they are called, so that `moorage --help` answers at once.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import TYPE_CHECKING, NoReturn

import click

from moorage import __version__
from moorage.cli.settings import use_settings, with_origins
from moorage.cli.streams import CannotWrite, open_standard_streams

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_BAD_USAGE, _INTERRUPTED, _PIPE_CLOSED = 2, 130, 141

#: Each command: its module, with the name in it unless that is `command`, and what it does in one line.
_COMMANDS = {
    "lint": ("lint", "Find what the API server rejects, and valid manifests that behave unexpectedly."),
    "plan": ("plan", "Show where every pod lands, what stays Pending and why, and what a change would do."),
    "explain": ("explain", "Explain where a pod goes, or why it is Pending, node by node."),
    "dump": ("dump", "Print a live cluster as YAML, for plan, explain, lint and up --from."),
    "gates": ("gates", "List the feature gates of a live cluster, and what depends on them."),
    "capacity": ("capacity.group", "Find the cheapest mix of nodes, what a threshold costs, what a loss does."),
    "policy": ("policy", "Test admission policies on cases in files, and explain how they decide."),
    "watch": ("watch", "Watch a cluster: what is Pending and why, what moved, what was evicted."),
    "dashboard": ("dashboard", "Show a cluster in the browser: the map, why pods wait, what a change would do."),
    "demo": ("demo", "Play the KEPs' user stories on a cluster of their own."),
    "attach": ("attach.group", "Bring thresholds, versions and expressions in tolerations to clusters that lack them."),
    "up": ("up", "Start a cluster in one process, for kubectl and every other client."),
    "list": ("kept.clusters:list_clusters", "List the clusters that run, and those that are kept."),
    "stop": ("kept.clusters:stop", "Stop a cluster; it is kept."),
    "delete": ("kept.clusters:delete", "Delete a cluster, and its context in kubeconfigs."),
    "kubeconfig": ("kept.clusters:kubeconfig", "Print the kubeconfig of a cluster, or add it to another one."),
    "logs": ("kept.clusters:logs", "Print the log of a cluster, or of one of its processes."),
    "snapshot": ("kept.snapshot", "Save a cluster to a file, and restore it."),
    "store": ("kept.store", "Move objects between a data directory and etcd, and check them."),
    "apiserver": ("processes.apiserver:apiserver", "Run the API server and its store as a process of its own."),
    "scheduler": ("processes.components:scheduler", "Run the scheduler against any API server."),
    "controller-manager": ("processes.components:controller_manager", "Run the controllers against any API server."),
    "kubelet": ("processes.components:kubelet", "Run simulated nodes against any API server."),
    "roles": ("processes.components:roles", "Print the ClusterRoles that Moorage's components need on a cluster."),
    "completion": ("completion", "Print a script that completes words of moorage in bash, zsh or fish."),
    "help": ("about:show_help", "Print the help of a command."),
    "version": ("about:show_version", "Print the versions of Moorage, Kubernetes and Python."),
}
#: What works whatever the settings are.
_ABOUT = ("completion", "help", "version", "__complete")
_HIDDEN = {"__complete": ("completion:complete_word", "")}


class _Commands(click.Group):
    """A group that imports a command when it is called, not to list it."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; end quietly after an interrupt and when the reader goes away, where click would print."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(_INTERRUPTED) from None
        except BrokenPipeError:
            raise click.exceptions.Exit(_PIPE_CLOSED) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        row = _COMMANDS.get(name) or _HIDDEN.get(name)
        if row is None:
            return None
        module, _, attribute = row[0].partition(":")
        command: click.Command = getattr(
            importlib.import_module(f"moorage.cli.commands.{module}"), attribute or "command"
        )
        return command if name in _ABOUT else use_settings(command)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(name, help=text) for name, (_, text) in _COMMANDS.items() if name.startswith(incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in _COMMANDS and args[0] not in _HIDDEN:
            from difflib import get_close_matches

            close = get_close_matches(args[0], _COMMANDS, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in _COMMANDS.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="moorage")
def moorage() -> None:
    """Answer scheduling questions about your manifests and clusters.

    Why is this pod Pending, what happens if I drain this node, will this rollout finish?

    \b
    Try:
      moorage lint pods.yaml manifests/
      moorage dump | moorage lint -
      moorage dump | moorage plan -
      moorage dump | moorage explain pod/web-1
      moorage demo spot-nodes-by-sla
      moorage up --nodes 5

    Defaults of options can be set: those of `moorage up --nodes` by the environment variable MOORAGE_UP_NODES, or by
    `nodes` in the table [up] of ./moorage.toml or ~/.config/moorage/config.toml.
    """


def main() -> NoReturn:
    open_standard_streams()
    _exit(_run())


def _run() -> int:
    try:
        code = moorage.main(prog_name=_program(), standalone_mode=False)
    except click.ClickException as error:
        with contextlib.suppress(OSError, ValueError):
            (with_origins(error) if isinstance(error, click.UsageError) else error).show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except CannotWrite as error:
        return _give_up(error)
    except Exception as error:
        if os.environ.get("MOORAGE_DEBUG"):
            raise
        plugins = sys.modules.get("moorage.schedule.config.third_party")
        if plugins is not None and isinstance(error, plugins.PluginError):  # another package's mistake
            _say(f"moorage: {error}")
            return _BAD_USAGE
        # Last resort: the commands answer for their own errors; what comes here is a mistake of ours.
        summary = " ".join(f"{type(error).__name__}: {error}".split())
        _say(f"moorage: internal error, please report it (MOORAGE_DEBUG=1 shows more): {summary}")
        return _BAD_USAGE
    return code if isinstance(code, int) else 0


def _program() -> str | None:
    """Return what users type, if it is not the name of the file."""
    return "kubectl moorage" if os.path.basename(sys.argv[0]) == "kubectl-moorage" else None  # noqa: PTH119


def _say(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr)


def _give_up(error: CannotWrite) -> int:
    """Say so, and drop what is left to be written; the exit code must not look like a result."""
    _say(f"moorage: {error.strerror}")
    _discard(error.number)
    return _BAD_USAGE


def _discard(number: int) -> None:
    """Python flushes once more at exit: give it something that can be flushed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _exit(code: int) -> NoReturn:
    """Flush what can be flushed; a reader that has gone must not cause a complaint at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except CannotWrite as error:
            code = _give_up(error)
        except (OSError, ValueError):
            _discard(stream.fileno())
            code = code or _PIPE_CLOSED
    sys.exit(code)
