"""Read a kubeconfig. Kubernetes: client-go's tools/clientcmd and rest.InClusterConfig.

`--kubeconfig`, else the files of $KUBECONFIG, else ~/.kube/config, else the pod's service account. Of several files the
first that sets a value wins; paths are relative to their file. Differs: proxies and authentication providers are
refused, not ignored; errors name file and field.
"""

import os
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from moorage.client.kubeconfig.access import Access, ExecPlugin, KubeconfigError
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.yaml_text import YamlConstructor, compose_documents

T = TypeVar("T")
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_MAX_FILE_BYTES = 16 * 1024 * 1024
_EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


class _Entry(NamedTuple):
    """A named cluster, user or context, and its file."""

    fields: dict[str, Any]
    file: Path
    where: str  # as users[name].user

    def complaint(self, field: str, why: str) -> KubeconfigError:
        return KubeconfigError(f"{self.file}: {self.where}.{field}: {why}")

    def text(self, field: str) -> str:
        return self._value(field, "", "a string")

    def flag(self, field: str) -> bool:
        return self._value(field, False, "true or false")

    def _value(self, field: str, absent: T, what: str) -> T:
        value = self.fields.get(field)
        if value is None:
            return absent
        if not isinstance(value, type(absent)):
            raise self.complaint(field, f"must be {what}")
        return value

    def path(self, field: str) -> str:
        """Return the file that the field names, relative to the kubeconfig; empty if absent."""
        named = self.text(field)
        return str(self.file.parent / named) if named else ""

    def data(self, field: str) -> bytes:
        """Return the contents of `<field>-data` (base64), or of the file that `<field>` names."""
        inline = self.text(f"{field}-data")
        if inline:
            try:
                return b64decode("".join(inline.split()), validate=True)
            except ValueError:
                raise self.complaint(f"{field}-data", "is not base64") from None
        path = self.path(field)
        if not path:
            return b""
        try:
            return _read(Path(path))
        except OSError as error:
            raise self.complaint(field, f"cannot read {path}: {error.strerror}") from None

    def texts(self, field: str) -> list[str]:
        value = self.fields.get(field) or []
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise self.complaint(field, "must be a list of strings")
        return value

    def refuse(self, field: str, why: str) -> None:
        if self.fields.get(field):
            raise self.complaint(field, why)


class _Kubeconfig:
    """The merged files."""

    def __init__(self) -> None:
        self.current_context = ""
        self.current_context_file: Path | None = None
        self.entries: dict[tuple[str, str], _Entry] = {}

    def add(self, path: Path, content: dict[str, Any]) -> None:
        kind = content.get("kind", "Config")
        if kind != "Config":
            raise KubeconfigError(f'{path}: kind: must be "Config", not {kind!r}')
        current = content.get("current-context") or ""
        if not isinstance(current, str):
            raise KubeconfigError(f"{path}: current-context: must be a string")
        if current and not self.current_context:
            self.current_context, self.current_context_file = current, path
        for plural, singular in (("clusters", "cluster"), ("users", "user"), ("contexts", "context")):
            named = content.get(plural) or []
            if not isinstance(named, list):
                raise KubeconfigError(f"{path}: {plural}: must be a list")
            for index, item in enumerate(named):
                self._add_entry(path, plural, singular, index, item)

    def _add_entry(self, path: Path, plural: str, singular: str, index: int, item: Any) -> None:
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str):
            raise KubeconfigError(f"{path}: {plural}[{index}].name: must be a string")
        fields = item.get(singular) or {}
        if not isinstance(fields, dict):
            raise KubeconfigError(f"{path}: {plural}[{name}].{singular}: must be a mapping")
        self.entries.setdefault((plural, name), _Entry(fields, path, f"{plural}[{name}].{singular}"))

    def find(self, plural: str, name: str, named_by: str) -> _Entry:
        entry = self.entries.get((plural, name))
        if entry is None:
            known = ", ".join(sorted(known for kind, known in self.entries if kind == plural)) or "none"
            raise KubeconfigError(f"{named_by}: there is no such entry in {plural}: {name!r} (there are: {known})")
        return entry


def load_access(
    path: str = "",
    *,
    context: str = "",
    environment: Mapping[str, str] = os.environ,
    home: Path | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Access:
    """Return the access of a context, the current one by default. Raises KubeconfigError."""
    candidates = _candidates(path, environment, home)
    config, files = _merged(candidates, path)
    if files:
        return _access(config, context, files)
    if environment.get("KUBERNETES_SERVICE_HOST") and environment.get("KUBERNETES_SERVICE_PORT"):
        return _in_cluster(environment, service_account)
    looked = ", ".join(str(candidate) for candidate in candidates) or "~/.kube/config, but there is no home directory"
    raise KubeconfigError(f"there is no kubeconfig: looked for {looked}; name one with --kubeconfig or $KUBECONFIG")


def context_names(path: str = "") -> list[str]:
    """Return the contexts to choose from, sorted. Raises KubeconfigError."""
    config, _ = _merged(_candidates(path, os.environ, None), path)
    return sorted(name for plural, name in config.entries if plural == "contexts")


def listed_files(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the files of $KUBECONFIG, whether they exist or not."""
    return [Path(name) for name in environment.get("KUBECONFIG", "").split(os.pathsep) if name]


def default_file(home: Path | None = None) -> Path | None:
    """Return ~/.kube/config; None for a user without a home directory, as in many containers."""
    try:
        return (home or Path.home()) / ".kube" / "config"
    except RuntimeError:
        return None


def _candidates(path: str, environment: Mapping[str, str], home: Path | None) -> list[Path]:
    if path:
        return [Path(path)]
    if environment.get("KUBECONFIG"):
        return listed_files(environment)
    default = default_file(home)
    return [default] if default is not None else []


def _merged(candidates: list[Path], path: str) -> tuple[_Kubeconfig, list[Path]]:
    """Return the files as one, and which there are; one that was named must be there. Raises KubeconfigError."""
    existing = candidates if path else [candidate for candidate in candidates if candidate.exists()]
    config = _Kubeconfig()
    for file in existing:
        config.add(file, _read_config(file))
    return config, existing


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(_MAX_FILE_BYTES + 1)
    if len(content) > _MAX_FILE_BYTES:
        raise KubeconfigError(f"{path}: is larger than {_MAX_FILE_BYTES} bytes")
    return content


def _read_config(path: Path) -> dict[str, Any]:
    try:
        text = _read(path)
        for root in compose_documents(text, str(path), 1):
            content = YamlConstructor(str(path), 1, has_aliases=True).construct(root)
            if content is not None and not isinstance(content, dict):
                raise KubeconfigError(f"{path}: is not a kubeconfig")
            return content or {}
    except OSError as error:
        raise KubeconfigError(f"{path}: cannot be read: {error.strerror}") from None
    except DecodeError as error:
        raise KubeconfigError(str(error)) from None
    return {}


def _access(config: _Kubeconfig, wanted: str, files: list[Path]) -> Access:
    file = files[0] if config.current_context_file is None else config.current_context_file
    name = wanted or config.current_context
    if not name:
        raise KubeconfigError(f"{file}: current-context: is not set, and no context was asked for")
    context = config.find("contexts", name, f"{file}: {'--context' if wanted else 'current-context'}")
    origin = f"{context.file}, context {name}"
    cluster_name, user_name = context.text("cluster"), context.text("user")
    if not cluster_name:
        raise context.complaint("cluster", "is not set")
    cluster = config.find("clusters", cluster_name, f"{context.file}: {context.where}.cluster")
    user = _Entry({}, context.file, context.where)
    if user_name:
        user = config.find("users", user_name, f"{context.file}: {context.where}.user")
    cluster.refuse("proxy-url", "proxies are not supported")
    user.refuse("auth-provider", "authentication providers are not supported, use exec")
    server = _checked_server(cluster)
    authority, insecure = cluster.data("certificate-authority"), cluster.flag("insecure-skip-tls-verify")
    if authority and insecure:
        raise KubeconfigError(
            f"{cluster.file}: {cluster.where}: insecure-skip-tls-verify and a certificate authority exclude each other"
        )
    certificate, key = user.data("client-certificate"), user.data("client-key")
    if bool(certificate) != bool(key):
        missing = "client-key" if certificate else "client-certificate"
        raise user.complaint(missing, "is not set, but its other half is")
    username = user.text("username")
    plugin = _plugin(user)
    if plugin is not None and (certificate or username or user.text("token") or user.text("tokenFile")):
        raise user.complaint("exec", "cannot be combined with other credentials")
    return Access(
        server=server,
        certificate_authority=authority,
        insecure=insecure,
        server_name=cluster.text("tls-server-name"),
        client_certificate=certificate,
        client_key=key,
        token=user.text("token"),
        token_file=user.path("tokenFile"),
        username=username,
        password=user.text("password"),
        plugin=plugin,
        impersonate=_impersonation(user),
        namespace=context.text("namespace") or "default",
        origin=origin,
        context=name,
    )


def _checked_server(cluster: _Entry) -> str:
    server = cluster.text("server")
    try:
        url = urlsplit(server)
        problem = url.scheme not in ("http", "https") or not url.hostname or url.port == 0
    except ValueError:
        problem = True
    if problem or url.query or url.fragment or "@" in url.netloc or not server.isascii() or not server.isprintable():
        raise cluster.complaint("server", f"must be an http or https URL, not {server!r}")
    return server.rstrip("/")


def _impersonation(user: _Entry) -> tuple[tuple[str, str], ...]:
    headers = [("Impersonate-User", user.text("as")), ("Impersonate-Uid", user.text("as-uid"))]
    groups = user.texts("as-groups")
    user.refuse("as-user-extra", "extra fields of an impersonated user are not supported")
    headers += [("Impersonate-Group", group) for group in groups]
    for name, value in headers:
        if not value.isprintable() or not value.isascii():
            raise user.complaint("as", f"{value!r} cannot be sent as {name}")
    return tuple((name, value) for name, value in headers if value)


def _plugin(user: _Entry) -> ExecPlugin | None:
    fields = user.fields.get("exec")
    if not fields:
        return None
    if not isinstance(fields, dict):
        raise user.complaint("exec", "must be a mapping")
    settings = _Entry(fields, user.file, f"{user.where}.exec")
    command, version = settings.text("command"), settings.text("apiVersion")
    if not command:
        raise settings.complaint("command", "is not set")
    if version not in _EXEC_VERSIONS:
        known = " or ".join(_EXEC_VERSIONS)
        raise settings.complaint("apiVersion", f"must be {known}, not {version!r}")
    arguments, variables = settings.texts("args"), fields.get("env") or []
    named = [
        (variable.get("name"), variable.get("value")) if isinstance(variable, dict) else (None, None)
        for variable in (variables if isinstance(variables, list) else [None])
    ]
    if not all(isinstance(name, str) and isinstance(value, str) for name, value in named):
        raise settings.complaint("env", "must be a list of names and values")
    mode = settings.text("interactiveMode") or "IfAvailable"
    if mode not in ("Never", "IfAvailable", "Always"):
        raise settings.complaint("interactiveMode", "must be Never, IfAvailable or Always")
    if os.sep in command and not Path(command).is_absolute():
        command = str(user.file.parent / command)
    return ExecPlugin(
        command=command,
        arguments=tuple(arguments),
        environment=tuple((str(name), str(value)) for name, value in named),
        api_version=version,
        install_hint=settings.text("installHint"),
        provide_cluster_info=settings.flag("provideClusterInfo"),
        interactive_mode=mode,
    )


def _in_cluster(environment: Mapping[str, str], service_account: Path) -> Access:
    """Return the access of a pod: server from its environment, token and authority from files."""
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment["KUBERNETES_SERVICE_PORT"]
    token_file, authority = service_account / "token", service_account / "ca.crt"
    for file in (token_file, authority):
        if not file.is_file():
            raise KubeconfigError(f"{file}: is missing, but $KUBERNETES_SERVICE_HOST says that this is a pod")
    namespace = service_account / "namespace"
    return Access(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        certificate_authority=_read(authority),
        token_file=str(token_file),
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
        origin=f"the service account in {service_account}",
    )
