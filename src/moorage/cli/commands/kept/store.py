"""Move, check and repair the objects of a data directory or an etcd: `moorage store migrate`, `check` and `repair`.

Exit code: 0 if it is done or all is well, 1 if it cannot be done or something is wrong with an object, 2 if the command
line is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from moorage.cli.commands.kept.clusters import refusal
from moorage.cli.options import EtcdMaker, etcd_access_options, etcd_options, etcd_urls

if TYPE_CHECKING:
    from moorage.cli.shared import Progress
    from moorage.cluster.transfer.repair import Repaired
    from moorage.cluster.transfer.store_check import StoreReport
    from moorage.store.etcd.settings import EtcdSettings

_WRONG = 1
#: What tells the URLs of etcd from a directory.
_URL = "://"


@click.group("store")
def command() -> None:
    """Move the objects of a stopped cluster between a data directory and etcd, check them, repair what is damaged."""


@command.command("migrate")
@click.argument("source", metavar="SOURCE")
@click.argument("target", metavar="TARGET")
@etcd_access_options
@click.option("--force", is_flag=True, help="Delete the objects that the target has already.")
@click.option(
    "--renumber",
    is_flag=True,
    help="Let etcd give objects new resourceVersions, which may be lower; every client must then be restarted.",
)
@click.option(
    "--max-raise",
    type=click.IntRange(0),
    default=5_000_000,
    show_default=True,
    metavar="REVISIONS",
    help="How many revisions of etcd may be used up to keep resourceVersions; about 10,000 a second.",
)
def migrate(source: str, target: str, etcd: EtcdMaker, force: bool, renumber: bool, max_raise: int) -> None:
    """Move all objects from SOURCE to TARGET: one is a data directory, the other the URLs of etcd, with commas.

    The cluster must be stopped. The source stays as it is. Objects keep their resourceVersions wherever etcd has not
    passed them yet, and never get lower ones. An interrupted migration goes on when it is called again. Certificates
    and keys of the cluster are not objects: take the directory `pki` along.

    \b
    Try:
      moorage store migrate ~/.local/share/moorage/clusters/dev http://127.0.0.1:2379
      moorage store migrate http://127.0.0.1:2379 ./from-etcd
    """
    import asyncio

    from moorage.cli.shared import say
    from moorage.cluster.transfer.migration import MigrationOptions, directory_to_etcd, etcd_to_directory
    from moorage.cluster.transfer.store_content import TransferError

    if (_URL in source) == (_URL in target):
        raise click.UsageError("One of SOURCE and TARGET is a data directory, the other the URLs of etcd.")
    if _URL in source and renumber:
        raise click.UsageError("--renumber is for moving objects into etcd: a data directory keeps all revisions.")
    options = MigrationOptions(force, renumber, max_raise)
    bar = _Bar()
    try:
        if _URL in target:
            settings = etcd(etcd_urls(target, "TARGET"))
            moved = asyncio.run(directory_to_etcd(Path(source), settings, options, bar.begin, say))
            total, kept, revision = moved.objects + moved.resumed, moved.kept, moved.revision
            if moved.resumed:
                bar.clear()
                say(f"{moved.resumed:,} objects were there already, from a migration that was interrupted")
        else:
            settings = etcd(etcd_urls(source, "SOURCE"))
            done = asyncio.run(etcd_to_directory(settings, Path(target), options, bar.begin, say))
            total, kept, revision = done.objects, done.kept, done.revision
    except TransferError as error:
        bar.clear()
        raise refusal(error) from None
    finally:
        bar.clear()
    how_many = (
        "with their resourceVersions" if kept == total else f"{total - kept:,} of them with a new resourceVersion"
    )
    click.echo(f"Moved {total:,} objects to {target}, {how_many}. The store is at revision {revision}.")


class _Bar:
    """The progress of a migration."""

    def __init__(self) -> None:
        self._progress: Progress | None = None

    def begin(self, total: int) -> Callable[[int], None]:
        from moorage.cli.shared import Progress

        if sys.stderr is None or not sys.stderr.isatty():
            return lambda count: None
        progress = self._progress = Progress(total, noun="revisions and objects")

        def tick(count: int) -> None:
            for _ in range(count):
                progress.tick()

        return tick

    def clear(self) -> None:
        if self._progress is not None:
            self._progress.clear()


@command.command("check")
@click.argument("data_dir", required=False, type=click.Path(file_okay=False, path_type=Path))
@etcd_options
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output format.",
)
def check(data_dir: Path | None, etcd: EtcdSettings | None, form: str) -> None:
    """Check every object: it is as it was written and decodes as its kind, names, uids, addresses and owners fit.

    DATA_DIR is that of a stopped cluster. An etcd is read as of one revision, and may be in use. Errors are what no API
    server would have written or could serve; notes are what controllers or the next start put right.

    \b
    Try:
      moorage store check ~/.local/share/moorage/clusters/dev
      moorage store check --etcd-servers http://127.0.0.1:2379 -o json
    """
    from moorage.cli.shared import prepare_output
    from moorage.cluster.transfer.store_check import check_directory, check_etcd
    from moorage.cluster.transfer.store_content import TransferError

    if (data_dir is None) == (etcd is None):
        raise click.UsageError("Name a data directory, or --etcd-servers.")
    prepare_output(is_text=form == "text")
    try:
        report = check_etcd(etcd) if etcd is not None else check_directory(data_dir or Path())
    except TransferError as error:
        raise refusal(error) from None
    _print(report, form)
    if report.errors:
        raise click.exceptions.Exit(_WRONG)


@command.command("repair")
@click.argument("data_dir", required=False, type=click.Path(file_okay=False, path_type=Path))
@etcd_options
@click.option("--remove", multiple=True, metavar="KEY", help="Remove the object of this key. Repeatable.")
@click.option(
    "--remove-damaged",
    is_flag=True,
    help="Remove all objects that cannot be read; put back those of which one bit was flipped.",
)
@click.option("--accept-missing", is_flag=True, help="Go on without the writes that are missing at the end.")
@click.option(
    "--restore-snapshot",
    "snapshot",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[FILE]",
    help="Restore the newest snapshot of the data directory, or a file.",
)
@click.option("--new", is_flag=True, help="Begin with an empty store.")
def repair(
    data_dir: Path | None,
    etcd: EtcdSettings | None,
    remove: tuple[str, ...],
    remove_damaged: bool,
    accept_missing: bool,
    snapshot: str | None,
    new: bool,
) -> None:
    """Repair a damaged store. DATA_DIR is that of a stopped cluster; the files that were there are kept aside.

    Without an option, nothing is changed: what is damaged is named, as by `moorage store check`. Revisions go on above
    all that were acknowledged. From an etcd, values that cannot be read are removed; they are kept in a file here.

    \b
    Try:
      moorage store repair ~/.local/share/moorage/clusters/dev --remove-damaged
      moorage store repair ~/.local/share/moorage/clusters/dev --restore-snapshot
    """
    from moorage.cluster.transfer.store_content import TransferError

    if (data_dir is None) == (etcd is None):
        raise click.UsageError("Name a data directory, or --etcd-servers.")
    ways = (snapshot is not None, new, bool(remove) or remove_damaged or accept_missing)
    if sum(ways) > 1:
        raise click.UsageError("--restore-snapshot and --new replace all objects: give one of them, and nothing else.")
    if etcd is not None and (accept_missing or snapshot is not None or new):
        raise click.UsageError("etcd keeps its own files: only --remove and --remove-damaged are for it.")
    try:
        if not any(ways):
            _only_check(data_dir, etcd)
        elif etcd is not None:
            from moorage.cluster.transfer.repair_etcd import repair_etcd

            _say_repaired(repair_etcd(etcd, Path(), remove=remove, removes_damaged=remove_damaged))
        else:
            _repair_directory(
                data_dir or Path(), remove, snapshot, removes=remove_damaged, accepts=accept_missing, is_new=new
            )
    except TransferError as error:
        raise refusal(error) from None


def _only_check(data_dir: Path | None, etcd: EtcdSettings | None) -> None:
    """Raises TransferError."""
    from moorage.cli.shared import say
    from moorage.cluster.transfer.store_check import check_directory, check_etcd

    report = check_etcd(etcd) if etcd is not None else check_directory(data_dir or Path())
    _print(report, "text")
    if report.errors:
        say(
            "nothing was changed: --remove KEY and --remove-damaged remove objects, --accept-missing goes on without a "
            "lost end, --restore-snapshot restores the newest snapshot, --new begins with an empty store"
        )
        raise click.exceptions.Exit(_WRONG)


def _repair_directory(
    path: Path, remove: tuple[str, ...], snapshot: str | None, *, removes: bool, accepts: bool, is_new: bool
) -> None:
    """Raises TransferError."""
    from moorage.cluster.transfer.repair import begin_empty, repair_directory, restore_directory

    if snapshot is not None:
        file, info, aside = restore_directory(path, Path(snapshot) if snapshot else None)
        click.echo(f"Restored {_number(info.objects, 'object')} as of revision {info.revision} from {file}.")
        _say_aside(aside)
    elif is_new:
        _say_repaired(begin_empty(path))
    else:
        _say_repaired(repair_directory(path, remove=remove, removes_damaged=removes, accepts_missing=accepts))


def _say_repaired(repaired: Repaired) -> None:
    from moorage.lint.report.printable import printable

    for key in repaired.removed:
        click.echo(printable(f"removed {key}"))
    for key in repaired.mended:
        click.echo(printable(f"mended {key}: one bit was flipped back"))
    click.echo(f"{_number(repaired.objects, 'object')} at revision {repaired.revision}.")
    _say_aside(repaired.aside)


def _say_aside(aside: Path | None) -> None:
    if aside is not None:
        click.echo(f"What was there is kept in {aside}: it has Secrets, too; delete it when you do not need it.")


def _print(report: StoreReport, form: str) -> None:
    import msgspec

    from moorage.lint.report.printable import printable

    if form == "json":
        document = {
            "store": report.store,
            "revision": report.revision,
            "objects": report.objects,
            "roots": report.counts,
            "findings": [finding._asdict() for finding in report.findings],
        }
        click.echo(msgspec.json.format(msgspec.json.encode(document)))
        return
    for level, key, problem in report.findings:
        click.echo(printable(f"{level}: {key} {problem}"))
    notes = len(report.findings) - report.errors
    summary = f"{_number(report.errors, 'error')}, {_number(notes, 'note')}" if report.findings else "all is well"
    click.echo(f"{_number(report.objects, 'object')} at revision {report.revision}: {summary}.")


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
