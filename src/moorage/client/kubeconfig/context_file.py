"""Add a cluster's context to a kubeconfig and take it out again; everything else in the file stays.

A cluster, a user and a context of one name are added, the context becomes the current one, and an extension of the
cluster says that it was written here: entries of that name without it are not replaced. Comments and the layout of an
existing file are lost, its data never. Kubernetes: clientcmd.ModifyConfig; kind's and minikube's kubeconfig packages.
"""

import errno
import os
from base64 import b64encode
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from moorage.client.kubeconfig.access import KubeconfigError
from moorage.client.kubeconfig.private_file import locked, write_private
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.yaml_text import YamlConstructor, compose_documents

Raw = dict[str, Any]

_LISTS = ("clusters", "users", "contexts")
_EXTENSION = "moorage.dev/cluster"
#: How release 0.1 named its cluster and context, and its user: it wrote no extension.
_OLD_NAME, _OLD_USER = "moorage", "kubernetes-admin"
#: YAML that every reader takes for a string although it has no quotes.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+=:")
_NOT_STRINGS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


class Login(NamedTuple):
    """What a kubeconfig says of one cluster and its administrator; certificates and keys are PEM."""

    server: str
    authority: bytes
    token: str = ""
    certificate: bytes = b""
    key: bytes = b""


def kubeconfig_of(name: str, login: Login, **said: str) -> Raw:
    """Return a kubeconfig with one context of that name; `said` is kept with it. Compression is off: it is local."""
    user = {
        "token": login.token,
        "client-certificate-data": b64encode(login.certificate).decode(),
        "client-key-data": b64encode(login.key).decode(),
    }
    cluster = {
        "server": login.server,
        "certificate-authority-data": b64encode(login.authority).decode(),
        "disable-compression": True,
        "extensions": [{"name": _EXTENSION, "extension": {"provider": "moorage.dev", **said}}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {field: value for field, value in user.items() if value}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


class ContextFile:
    """A kubeconfig in which a cluster has, or is to have, the context `name`. Methods raise KubeconfigError."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name

    def check(self) -> None:
        """Raise KubeconfigError for a file that cannot be written, is no kubeconfig, or has another's entries."""
        above = next(folder for folder in self.path.absolute().parents if os.access(folder, os.F_OK))
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            why = errno.EACCES if above.is_dir() else errno.ENOTDIR
            raise KubeconfigError(f"cannot write {self.path}: {os.strerror(why)}")
        content = self.content()
        for plural in _LISTS:
            entry = _entry(content, plural, self.name)
            if entry is not None and not _is_ours(content, self.name):
                raise KubeconfigError(
                    f"{self.path}: has an entry {self.name!r} in {plural} that moorage has not written; it is left as "
                    "it is: choose another --name or another file, or give --force to replace it"
                )

    def write(self, config: Raw, *, force: bool = False) -> str:
        """Add the context; return the context that was current before, if that was another one.

        With `force` a file that is not a kubeconfig is replaced, and so are entries of the same name.
        """
        try:
            with locked(self.path):
                content = self._content_to_keep(force=force)
                before = content.get("current-context") or ""
                write_private(self.path, render_yaml(_merged(content, config)).encode())
        except OSError as error:
            raise KubeconfigError(f"cannot write {self.path}: {error.strerror}") from None
        return before if isinstance(before, str) and before != self.name else ""

    def remove(self) -> bool:
        """Take the context out, if moorage has written it; a file with nothing else in it goes. Say whether it was."""
        if not self.path.exists():
            return False
        try:
            with locked(self.path):
                content = self.content()
                if not _is_ours(content, self.name):
                    return False
                if _has_others(content, self.name):
                    write_private(self.path, render_yaml(_without(content, self.name)).encode())
                else:
                    self.path.resolve().unlink()
        except OSError as error:
            raise KubeconfigError(f"cannot change {self.path}: {error.strerror}") from None
        return True

    @property
    def is_ours(self) -> bool:
        """Whether the file has this context and no other."""
        try:
            content = self.content()
        except KubeconfigError:
            return False
        return _is_ours(content, self.name) and not _has_others(content, self.name)

    @property
    def authority(self) -> str:
        """The certificate authority of the context's cluster, in base64; empty if moorage has not written it."""
        try:
            content = self.content()
        except KubeconfigError:
            return ""
        cluster = _fields(content, "clusters", self.name) if _is_ours(content, self.name) else {}
        return str(cluster.get("certificate-authority-data") or "")

    def _content_to_keep(self, *, force: bool) -> Raw:
        if not force:
            self.check()
            return self.content()
        try:
            return self.content()
        except KubeconfigError:
            return {}

    def content(self) -> Raw:
        """Return the content; an absent or empty file is an empty kubeconfig."""
        path = self.path
        try:
            text = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise KubeconfigError(f"{path}: cannot be read: {error.strerror}") from None
        try:
            found = [
                YamlConstructor(str(path), 1, has_aliases=True).construct(root)
                for root in compose_documents(text, str(path), 1)
            ]
        except DecodeError as error:
            raise _not_a_kubeconfig(path, f"it is not YAML: {error}") from None
        documents = [document for document in found if document is not None]
        if not documents:
            return {}
        content = documents[0]
        if len(documents) > 1 or not isinstance(content, dict):
            raise _not_a_kubeconfig(path, "it has several documents" if len(documents) > 1 else "it is no mapping")
        if content.get("kind", "Config") != "Config":
            raise _not_a_kubeconfig(path, f"its kind is {content['kind']}")
        if content and not ({"kind", "current-context", *_LISTS} & content.keys()):
            raise _not_a_kubeconfig(path, "it has neither clusters nor users nor contexts")
        for plural in _LISTS:
            entries = content.get(plural) or []
            if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
                raise _not_a_kubeconfig(path, f"its {plural} are not a list of mappings")
        return content


def _not_a_kubeconfig(path: Path, why: str) -> KubeconfigError:
    return KubeconfigError(
        f"{path} is not a kubeconfig ({why}); it is left as it is: name another file, or give --force to replace it"
    )


def _merged(content: Raw, config: Raw) -> Raw:
    merged: Raw = {"apiVersion": "v1", "kind": "Config", **content}
    for plural in _LISTS:
        (new,) = config[plural]
        entries = list(content.get(plural) or [])
        places = [place for place, entry in enumerate(entries) if entry.get("name") == new["name"]]
        if places:
            entries[places[0]] = new
        else:
            entries.append(new)
        merged[plural] = entries
    merged["current-context"] = config["current-context"]
    return merged


def _without(content: Raw, name: str) -> Raw:
    kept = dict(content)
    user = _fields(content, "contexts", name).get("user")
    for plural in _LISTS:
        gone = {name, user} if plural == "users" and user == _OLD_USER and name == _OLD_NAME else {name}
        kept[plural] = [entry for entry in content.get(plural) or [] if entry.get("name") not in gone]
    if kept.get("current-context") == name:
        kept["current-context"] = ""
    return kept


def _entry(content: Raw, plural: str, name: str) -> Raw | None:
    return next((entry for entry in content.get(plural) or [] if entry.get("name") == name), None)


def _fields(content: Raw, plural: str, name: str) -> Raw:
    entry = (_entry(content, plural, name) or {}).get(plural.removesuffix("s"))
    return entry if isinstance(entry, dict) else {}


def _is_ours(content: Raw, name: str) -> bool:
    extensions = _fields(content, "clusters", name).get("extensions")
    if isinstance(extensions, list) and any(
        isinstance(extension, dict) and extension.get("name") == _EXTENSION for extension in extensions
    ):
        return True
    context = _fields(content, "contexts", name)
    return name == _OLD_NAME and (context.get("cluster"), context.get("user")) == (_OLD_NAME, _OLD_USER)


def _has_others(content: Raw, name: str) -> bool:
    left = _without(content, name)
    return any(left.get(plural) for plural in _LISTS) or bool(left.get("preferences") or left.get("extensions"))


def render_yaml(value: Raw) -> str:
    """Render a document as YAML in blocks, with quotes wherever a reader might see something else than a string."""
    return "\n".join(_lines(value)) + "\n"


def _lines(value: Any) -> list[str]:
    if isinstance(value, dict) and value:
        lines = []
        for name, inner in value.items():
            if isinstance(inner, dict | list) and inner:
                indent = "" if isinstance(inner, list) else "  "
                lines += [f"{_scalar(str(name))}:", *(indent + line for line in _lines(inner))]
            else:
                lines.append(f"{_scalar(str(name))}: {_scalar(inner)}")
        return lines
    if isinstance(value, list) and value:
        lines = []
        for inner in value:
            first, *rest = _lines(inner)
            lines += [f"- {first}", *(f"  {line}" for line in rest)]
        return lines
    return [_scalar(value)]


def _scalar(value: Any) -> str:
    is_plain = isinstance(value, str) and value[:1].isalpha() and _PLAIN.issuperset(value) and value[-1] != ":"
    if is_plain and value.lower() not in _NOT_STRINGS:
        return str(value)
    if isinstance(value, float):
        return repr(value).replace("inf", ".inf").replace("nan", ".nan")
    return msgspec.json.encode(value).decode()  # JSON is YAML
