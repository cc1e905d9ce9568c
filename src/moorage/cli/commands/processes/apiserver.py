"""Run `moorage apiserver`: the API server as a process of its own, on its own store or on an etcd that others share.

It runs until SIGINT, SIGTERM or SIGHUP. Exit code 1 if it cannot start, 2 if the command line is wrong. Storage
flags of kube-apiserver are either obeyed or refused with the reason; none is ignored.
"""

from __future__ import annotations

import functools
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from moorage.cli.admission_options import (
    admission_plugins_option,
    audit_log_option,
    chosen_plugins,
    webhook_service_option,
)
from moorage.cli.commands.up import data_options, snapshot_plan, stored_in
from moorage.cli.options import (
    Command,
    authorization_options,
    bind_address_option,
    etcd_options,
    gates_option,
    log_options,
    port_option,
)

if TYPE_CHECKING:
    from moorage.cluster.api_server import ApiServerProcess
    from moorage.serve.pki.credentials import GivenFiles
    from moorage.serve.tokens.service_accounts import TokenSettings
    from moorage.store.etcd.settings import EtcdSettings

_CANNOT_START = 1
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


_BACKEND, _MEDIA_TYPE = "etcd3", "application/json"
_MEMORY = "every API server has all objects in memory; there is nothing to size or switch off"
_METRICS = "metrics of the store are counted as they are asked for, nothing is polled"
_WATCHED = "the connection to etcd is watched all the time, and /readyz says what is wrong at once"
_PLAIN = "objects are kept as plain JSON: let etcd's disks be encrypted"
#: Flags that are refused, with the reason.
_REFUSED = {
    "--etcd-servers-overrides": "all objects are in one etcd, since all of them share its revisions",
    "--etcd-healthcheck-timeout": _WATCHED,
    "--etcd-readycheck-timeout": _WATCHED,
    "--etcd-count-metric-poll-period": _METRICS,
    "--etcd-db-metric-poll-interval": _METRICS,
    "--default-watch-cache-size": _MEMORY,
    "--watch-cache-sizes": _MEMORY,
    "--encryption-provider-config": _PLAIN,
    "--encryption-provider-config-automatic-reload": _PLAIN,
}


def storage_options(function: Command) -> Command:
    """Add the flags; they go into the command's `etcd`. Inside of `etcd_options`, which makes it."""

    @functools.wraps(function)
    def command(*arguments: Any, compaction_interval: str, lease_reuse: int, etcd: Any, **others: Any) -> Any:
        import msgspec

        from moorage.cli.shared import duration_of

        seconds = duration_of("--etcd-compaction-interval", compaction_interval)
        if etcd is not None:
            etcd = msgspec.structs.replace(etcd, compaction_seconds=seconds, lease_reuse_seconds=lease_reuse)
        return function(*arguments, etcd=etcd, **others)

    decorated: Command = command
    for option in (
        click.option(
            "--lease-reuse-duration-seconds",
            "lease_reuse",
            type=click.IntRange(1),
            default=60,
            show_default=True,
            metavar="SECONDS",
            help="Events written within this many seconds share a lease of etcd.",
        ),
        click.option(
            "--etcd-compaction-interval",
            "compaction_interval",
            default="5m",
            show_default=True,
            metavar="DURATION",
            help="How often etcd's history is compacted; 0 for never, if another program does it.",
        ),
        click.option(
            "--storage-backend", hidden=True, expose_value=False, callback=_only(_BACKEND, "the only one there is")
        ),
        click.option(
            "--storage-media-type",
            hidden=True,
            expose_value=False,
            callback=_only(_MEDIA_TYPE, "the only form in which objects are kept"),
        ),
        click.option("--watch-cache", hidden=True, expose_value=False, callback=_only("true", _MEMORY)),
        *(click.option(flag, hidden=True, expose_value=False, callback=_refuse(why)) for flag, why in _REFUSED.items()),
    ):
        decorated = option(decorated)
    return decorated


def _only(value: str, why: str) -> Any:
    """Return a callback that takes one value only."""

    def check(context: click.Context, parameter: click.Parameter, given: str | None) -> None:
        if given is not None and given.lower() != value:
            raise click.BadParameter(f"{given!r} is not possible, {value!r} is: {why}", context, parameter)

    return check


def _refuse(why: str) -> Any:
    def check(context: click.Context, parameter: click.Parameter, given: str | None) -> None:
        if given is not None:
            raise click.UsageError(f"{parameter.opts[0]} of kube-apiserver is not possible here: {why}.", context)

    return check


def certificate_options(function: Command) -> Command:
    """Add where certificates are: a directory that API servers share, or files as kube-apiserver has them."""
    for option in (
        click.option(
            "--client-ca-file",
            type=_FILE,
            metavar="FILE",
            help="Authorities of client certificates to accept besides the cluster's own, in PEM.",
        ),
        click.option(
            "--tls-private-key-file",
            "tls_key",
            type=_FILE,
            metavar="FILE",
            help="Its private key, in PEM.",
        ),
        click.option(
            "--tls-cert-file",
            "tls_certificate",
            type=_FILE,
            metavar="FILE",
            help="The serving certificate, in PEM, with its authority after it.  [default: one of the cluster's own]",
        ),
        click.option(
            "--cert-dir",
            type=click.Path(file_okay=False, path_type=Path),
            metavar="DIR",
            help="Where the cluster's authority, its keys and the administrator's credentials are, or are made: API "
            "servers of one cluster share it, or have copies.  [default: pki in the data directory]",
        ),
    ):
        function = option(function)
    return function


@click.command("apiserver")
@data_options
@etcd_options
@storage_options
@bind_address_option
@port_option
@click.option(
    "--advertise-address",
    default="",
    metavar="ADDRESS",
    help="The address at which the cluster reaches this server.  [default: --bind-address]",
)
@certificate_options
@click.option(
    "--shutdown-delay-duration",
    "shutdown_delay",
    default="0s",
    show_default=True,
    metavar="DURATION",
    help="How long to serve on after SIGTERM, while /readyz fails: time for load balancers to notice.",
)
@click.option("--event-ttl", default="1h", show_default=True, metavar="DURATION", help="How long events are kept.")
@authorization_options
@click.option(
    "--enable-garbage-collector",
    "collects_garbage",
    type=bool,
    default=True,
    show_default=True,
    help="Let deletions wait for the garbage collector of a controller manager.",
)
@click.option(
    "--service-account-signing-key-file",
    "signing_key",
    type=_FILE,
    help="The private key, RSA or ECDSA, that signs tokens of service accounts.  [default: the cluster's own]",
)
@click.option(
    "--service-account-key-file",
    "verification_keys",
    multiple=True,
    type=_FILE,
    help="Keys that also verify tokens, such as the previous signing key. Repeatable.",
)
@click.option(
    "--service-account-issuer",
    "issuers",
    multiple=True,
    metavar="URL",
    help="The issuer of tokens; those after the first are accepted.  [default: https://kubernetes.default.svc]",
)
@click.option(
    "--api-audiences",
    "audiences",
    default="",
    metavar="NAME,…",
    help="The audiences of tokens.  [default: the issuers]",
)
@click.option(
    "--service-account-max-token-expiration",
    "max_expiration",
    default="",
    metavar="DURATION",
    help="The longest that a token may be valid, such as 24h: from an hour to 2^32 seconds.",
)
@admission_plugins_option
@webhook_service_option
@audit_log_option
@gates_option
@log_options
def apiserver(
    data_dir: Path | None,
    ephemeral: bool,
    kubeconfig: Path | None,
    force: bool,
    etcd: EtcdSettings | None,
    bind_address: str,
    port: int,
    advertise_address: str,
    cert_dir: Path | None,
    tls_certificate: Path | None,
    tls_key: Path | None,
    client_ca_file: Path | None,
    shutdown_delay: str,
    event_ttl: str,
    snapshot_every: str,
    snapshots_kept: int,
    authorization_mode: str,
    policy_file: str,
    collects_garbage: bool,
    signing_key: Path | None,
    verification_keys: tuple[Path, ...],
    issuers: tuple[str, ...],
    audiences: str,
    max_expiration: str,
    plugins: tuple[str, ...],
    webhook_services: tuple[str, ...],
    audit_log_path: str,
    gates: tuple[str, ...],
) -> None:
    """Serve the Kubernetes API; schedulers and kubelets are processes of their own.

    Objects are kept in SQLite, or with --etcd-servers in an etcd that any number of API servers share: they need the
    same --cert-dir, or the same files. The flags are those of kube-apiserver.

    \b
    Try:
      moorage apiserver --write-kubeconfig kubeconfig.yaml
      moorage apiserver --etcd-servers https://10.0.0.1:2379,https://10.0.0.2:2379 --etcd-cafile etcd-ca.crt
      moorage scheduler --kubeconfig kubeconfig.yaml
      moorage kubelet --kubeconfig kubeconfig.yaml --nodes 5
    """
    kept_in = stored_in(data_dir, ephemeral=ephemeral)
    files = _given_files(tls_certificate, tls_key, client_ca_file)
    if files.are_all and kubeconfig is not None:
        raise click.UsageError(
            "--write-kubeconfig needs an administrator, whom the authority of --client-ca-file makes."
        )
    _check_advertised(advertise_address)
    from moorage.cli.shared import duration_of, parsed_gates, say
    from moorage.cluster.api_server import ApiServerProcess, ApiServerSettings
    from moorage.cluster.cannot_start import CannotStart
    from moorage.cluster.event_loop import run_until_signal

    settings = ApiServerSettings(
        parsed_gates(gates),
        kept_in,
        bind_address,
        port,
        collects_garbage,
        plugins=chosen_plugins(plugins),
        webhook_services=tuple(filter(None, webhook_services)),
        audit_log_path=audit_log_path,
        authorization_mode=authorization_mode,
        policy_file=Path(policy_file) if policy_file else None,
        tokens=_token_settings(issuers, audiences, max_expiration),
        signing_key=signing_key,
        verification_keys=verification_keys,
        etcd=etcd,
        cert_dir=cert_dir,
        files=files,
        advertise_address=advertise_address,
        shutdown_delay=duration_of("--shutdown-delay-duration", shutdown_delay),
        event_ttl=_event_seconds(event_ttl),
        snapshot_plan=snapshot_plan(snapshot_every, snapshots_kept, is_sqlite=etcd is None and kept_in is not None),
    )
    try:
        run_until_signal(lambda: ApiServerProcess(settings, kubeconfig, force=force), _announce_server)
    except CannotStart as error:
        say(str(error))
        raise click.exceptions.Exit(_CANNOT_START) from None


def _given_files(certificate: Path | None, key: Path | None, client_authority: Path | None) -> GivenFiles:
    """Raises UsageError."""
    from moorage.serve.pki.credentials import GivenFiles

    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-cert-file and --tls-private-key-file belong together.")
    return GivenFiles(certificate, key, client_authority)


def _check_advertised(address: str) -> None:
    """Raises click.BadParameter."""
    from ipaddress import ip_address

    if address:
        try:
            ip_address(address)
        except ValueError:
            raise click.BadParameter(f"{address!r} is not an IP address", param_hint="'--advertise-address'") from None


def _event_seconds(text: str) -> float:
    """Raises click.BadParameter."""
    from moorage.cli.shared import duration_of

    seconds = duration_of("--event-ttl", text)
    if seconds < 1:
        raise click.BadParameter("must be at least one second", param_hint="'--event-ttl'")
    return seconds


def _token_settings(issuers: tuple[str, ...], audiences: str, max_expiration: str) -> TokenSettings:
    """Raises UsageError."""
    from moorage.cli.shared import duration_of
    from moorage.serve.tokens.service_accounts import TokenSettings

    if "" in issuers or len(set(issuers)) < len(issuers):
        raise click.BadParameter("an issuer must not be empty nor given twice", param_hint="'--service-account-issuer'")
    seconds = 0
    if max_expiration:
        seconds = int(duration_of("--service-account-max-token-expiration", max_expiration))
        if not 3600 <= seconds <= 1 << 32:
            bounds = "must be between 1 hour and 2^32 seconds"
            raise click.BadParameter(bounds, param_hint="'--service-account-max-token-expiration'")
    named = tuple(name for name in audiences.split(",") if name)
    defaults = TokenSettings()
    return TokenSettings(issuers or defaults.issuers, named, seconds)


def _announce_server(process: ApiServerProcess) -> None:
    settings = process.settings
    kept = settings.data_dir
    if settings.etcd is not None:
        where = f"; objects are kept in etcd at {', '.join(settings.etcd.servers)}"
    else:
        where = f"; objects are kept in {kept.absolute()}" if kept else "; nothing is kept"
    if settings.files.are_all:
        click.echo(f"\nThe API server is ready at {process.url}{where}.\n\nCtrl-C stops it.")
        return
    path = shlex.quote(str(process.kubeconfig.path.absolute()))  # for shells that may be anywhere
    click.echo(
        f"\nThe API server is ready at {process.url}{where}.\n\n"
        f"  moorage scheduler --kubeconfig {path}\n"
        f"  moorage controller-manager --kubeconfig {path}\n"
        f"  moorage kubelet --kubeconfig {path} --nodes 3\n"
        f"  kubectl --kubeconfig {path} get nodes\n\n"
        "Ctrl-C stops it."
    )
