"""Runs kubectl's command lines without kubectl: sends the same requests, prints the same answers.

Kubernetes: kubectl. Differs: only the commands and options that stories use are known; `apply` is a merge patch against
what was applied last, so lists are replaced as a whole; of JSONPath there are names, `\\.` in names and `[*]`.
"""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from moorage.client.http.wire import collection_path, object_path
from moorage.client.protocol import Unreachable
from moorage.demo.story import Ran
from moorage.demo.wire import AS_TABLE, Wire
from moorage.model.api_error import ApiError
from moorage.model.kinds import Kind, kind_of
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import read_documents
from moorage.serve.resources.discovery import RESOURCES

Raw = dict[str, Any]

_NONE = "<none>"
_STEP = re.compile(r"\.((?:\\.|[^.\[\\])+)|\[(\*|\d+)\]")


class NotUnderstood(ValueError):
    """A command line that the real kubectl may know, and the stand-in does not."""


def render_table(table: Raw, *, wide: bool, namespaces: bool, labels: list[str]) -> str:
    """Every column the server says is for this width, with that of namespaces before and those of labels after."""
    columns = table["columnDefinitions"]
    shown = [index for index, column in enumerate(columns) if wide or not column.get("priority")]
    head = [columns[index]["name"].upper() for index in shown]
    head = [*(["NAMESPACE"] if namespaces else []), *head, *(key.rpartition("/")[2].upper() for key in labels)]
    rows = []
    for row in table.get("rows") or []:
        metadata = row["object"]["metadata"]
        cells = [_text(row["cells"][index]) for index in shown]
        before = [metadata.get("namespace", "")] if namespaces else []
        rows.append([*before, *cells, *(metadata.get("labels", {}).get(key, "") for key in labels)])
    return _aligned([head, *rows])


def render_custom_columns(objects: list[Raw], spec: str) -> str:
    """As `-o custom-columns=` has it. Raises NotUnderstood."""
    columns = [column.partition(":")[::2] for column in spec.split(",")]
    rows = [[_at(found, path) for _, path in columns] for found in objects]
    return _aligned([[name for name, _ in columns], *rows])


def _at(found: Raw, path: str) -> str:
    values: list[Any] = [found]
    end = 0
    for step in _STEP.finditer(path):
        if step.start() != end:
            break
        end = step.end()
        name, index = step[1], step[2]
        if name is not None:
            key = re.sub(r"\\(.)", r"\1", name)
            values = [value[key] for value in values if isinstance(value, dict) and key in value]
        else:
            lists = [value for value in values if isinstance(value, list)]
            values = [item for items in lists for item in (items if index == "*" else items[int(index) :][:1])]
    if not end or end != len(path):
        raise NotUnderstood(f"error: a column's path is not understood: {path!r}")
    return ",".join(_text(value) for value in values) or _NONE


def _text(value: Any) -> str:
    return ("false", "true")[value] if isinstance(value, bool) else str(value)


def _aligned(rows: list[list[str]]) -> str:
    """Columns three blanks apart; the last is as long as it is."""
    widths = [max(map(len, column)) + 3 for column in zip(*rows, strict=True)]
    return "".join(
        "".join(f"{cell:{width}}" for cell, width in zip(row, [*widths[:-1], 0], strict=True)).rstrip() + "\n"
        for row in rows
    )


_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_CUSTOM_COLUMNS = "custom-columns="
_NOT_FOUND, _INVALID = 404, 422
_GONE_SECONDS, _LOOK_SECONDS = 60.0, 0.05

#: Options that take a value, and those that do not.
_SHORT = {"-f": "filename", "-n": "namespace", "-o": "output", "-l": "selector", "-L": "label-columns"}
_LONG = (*_SHORT.values(), "field-selector", "grace-period", "replicas", "from", "wait")
_VALUES = {**_SHORT, **{f"--{name}": name for name in _LONG}}
_FLAGS = {"-A": "all-namespaces", "--all-namespaces": "all-namespaces", "--overwrite": "overwrite", "--all": "all"}


class Line(NamedTuple):
    """A command line of kubectl: plain words, and options under their long names."""

    words: list[str]
    options: dict[str, str]

    def option(self, name: str) -> str:
        return self.options.get(name, "")


def parse(words: list[str]) -> Line:
    """Take a command line apart. Raises NotUnderstood for an option that no story uses."""
    plain: list[str] = []
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, has_value, value = word.partition("=")
        if not word.startswith("-"):
            plain.append(word)
        elif word in _FLAGS:
            options[_FLAGS[word]] = "true"
        elif name in _VALUES:
            given = value if has_value else next(rest, None)
            if given is None:
                raise NotUnderstood(f"error: flag needs an argument: {word}")
            options[_VALUES[name]] = given
        else:
            raise NotUnderstood(f"error: without kubectl there is no option {word}")
    return Line(plain, options)


class StandIn:
    """Runs the command lines of a story in its folder."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self._wire, self._folder = Wire(kubeconfig), folder
        self._commands = {
            "apply": self._apply,
            "get": self._get,
            "delete": self._delete,
            "taint": self._taint,
            "label": self._label,
            "cordon": self._cordon,
            "uncordon": self._cordon,
            "scale": self._scale,
            "set": self._set_image,
            "create": self._create_job,
        }

    def run(self, words: list[str]) -> Ran:
        said: list[str] = []
        try:
            command = self._commands.get(words[0])
            if command is None:
                raise NotUnderstood(f"error: without kubectl there is no `kubectl {words[0]}`")
            for text in command(parse(words)):
                said.append(text)
        except (NotUnderstood, DecodeError) as error:
            return Ran(1, "".join(said), f"{error}\n")
        except Unreachable as error:
            return Ran(1, "".join(said), f"Unable to connect to the server: {error}\n")
        except ApiError as error:
            return Ran(1, "".join(said), f"{_complaint(error)}\n")
        return Ran(0, "".join(said))

    # Commands.

    def _apply(self, line: Line) -> Iterator[str]:
        refused: list[ApiError] = []
        filename = line.option("filename")
        for document in self._documents(filename):
            try:
                yield self._apply_one(filename, document)
            except ApiError as error:
                refused.append(error)
        if refused:
            raise refused[0] if len(refused) == 1 else NotUnderstood("\n".join(map(_complaint, refused)))

    def _apply_one(self, filename: str, document: Raw) -> str:
        kind = kind_of(document)
        if kind is None:
            raise NotUnderstood(f'error: no matches for kind "{document.get("kind")}"')
        metadata = document.get("metadata") or {}
        if not metadata.get("name"):
            raise NotUnderstood(f"error: {filename}: an object has no name")
        namespace = metadata.get("namespace", "default") if kind.namespaced else ""
        path = object_path(kind, metadata["name"], namespace)
        applied = json.dumps(document)
        wanted = {**document, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {})}}}
        wanted["metadata"]["annotations"][_LAST_APPLIED] = applied
        try:
            there = self._wire.get(path)
        except ApiError as error:
            if error.code != _NOT_FOUND:
                raise
            self._wire.post(collection_path(kind, namespace), wanted)
            return f"{_called(kind)}/{metadata['name']} created\n"
        last = there["metadata"].get("annotations", {}).get(_LAST_APPLIED, "{}")
        if last == applied:
            return f"{_called(kind)}/{metadata['name']} unchanged\n"
        self._wire.merge_patch(path, merge_patch_to(json.loads(last), wanted))
        return f"{_called(kind)}/{metadata['name']} configured\n"

    def _documents(self, filename: str) -> Iterator[Raw]:
        try:
            with (self._folder / filename).open("rb") as stream:
                for document in read_documents(stream, filename):
                    if isinstance(document, DecodeError):
                        raise document
                    yield document.raw
        except OSError:
            raise NotUnderstood(f'error: the path "{filename}" does not exist') from None

    def _get(self, line: Line) -> Iterator[str]:
        kind, names = self._named(line.words[1:])
        output, everywhere = line.option("output"), bool(line.option("all-namespaces"))
        path = collection_path(kind, "" if everywhere else _namespace(kind, line))
        fields = ",".join(filter(None, [line.option("field-selector"), *(f"metadata.name={name}" for name in names)]))
        query = {"labelSelector": line.option("selector"), "fieldSelector": fields}
        if output.startswith(_CUSTOM_COLUMNS):
            yield render_custom_columns(self._wire.get(path, **query)["items"], output.removeprefix(_CUSTOM_COLUMNS))
            return
        if output not in ("", "wide"):
            raise NotUnderstood(f"error: without kubectl there is no output {output}")
        table = self._wire.get(path, accept=AS_TABLE, **query)
        if not table.get("rows"):
            if names:
                raise NotUnderstood(f'Error from server (NotFound): {kind.plural} "{names[0]}" not found')
            where = "" if everywhere or not kind.namespaced else f" in {_namespace(kind, line)} namespace"
            yield f"No resources found{where}\n"
            return
        labels = [key for key in line.option("label-columns").split(",") if key]
        yield render_table(table, wide=bool(output), namespaces=everywhere and kind.namespaced, labels=labels)

    def _delete(self, line: Line) -> Iterator[str]:
        kind, names = self._named(line.words[1:])
        namespace = _namespace(kind, line)
        if line.option("all") or line.option("selector"):
            found = self._wire.get(collection_path(kind, namespace), labelSelector=line.option("selector"))
            names = [item["metadata"]["name"] for item in found["items"]]
        options: Raw = {"propagationPolicy": "Background"}
        if grace := line.option("grace-period"):
            options["gracePeriodSeconds"] = _number(grace)
        for name in names:
            self._wire.delete(object_path(kind, name, namespace), options)
            yield f'{_called(kind)} "{name}" deleted\n'
        for name in names if line.option("wait") != "false" else ():
            self._wait_until_gone(object_path(kind, name, namespace))

    def _wait_until_gone(self, path: str) -> None:
        """Not for one of the same name that has taken its place."""
        deadline = time.monotonic() + _GONE_SECONDS
        try:
            uid = (there := self._wire.get(path))["metadata"]["uid"]
            while there["metadata"]["uid"] == uid and "deletionTimestamp" in there["metadata"]:
                if time.monotonic() > deadline:
                    raise NotUnderstood(f"error: timed out waiting for {path} to be gone")
                time.sleep(_LOOK_SECONDS)
                there = self._wire.get(path)
        except ApiError as error:
            if error.code != _NOT_FOUND:
                raise

    def _taint(self, line: Line) -> Iterator[str]:
        kind, name, changes = self._object(line.words[1:])
        path = object_path(kind, name, "")
        taints: list[Raw] = self._wire.get(path)["spec"].get("taints", [])
        for change in changes:
            said, removes = change.removesuffix("-"), change.endswith("-")
            pair, _, effect = said.partition(":")
            key, _, value = pair.partition("=")
            kept = [found for found in taints if found["key"] != key or (effect and found["effect"] != effect)]
            if not removes and len(kept) < len(taints) and not line.option("overwrite"):
                raise NotUnderstood(
                    f"error: node {name} already has {key} taint(s) with same effect(s) and --overwrite is false"
                )
            taints = kept if removes else [*kept, {"key": key, "value": value, "effect": effect}]
        self._wire.merge_patch(path, {"spec": {"taints": taints}})
        done = "untainted" if all(change.endswith("-") for change in changes) else "tainted"
        yield f"node/{name} {'modified' if line.option('overwrite') else done}\n"

    def _label(self, line: Line) -> Iterator[str]:
        kind, name, changes = self._object(line.words[1:])
        labels = {
            change.removesuffix("-").partition("=")[0]: None if change.endswith("-") else change.partition("=")[2]
            for change in changes
        }
        path = object_path(kind, name, _namespace(kind, line))
        self._wire.merge_patch(path, {"metadata": {"labels": labels}})
        yield f"{_called(kind)}/{name} labeled\n"

    def _cordon(self, line: Line) -> Iterator[str]:
        kind, names = self._named(["nodes", *line.words[1:]])
        closes = line.words[0] == "cordon"
        for name in names:
            self._wire.merge_patch(object_path(kind, name, ""), {"spec": {"unschedulable": closes or None}})
            yield f"node/{name} {line.words[0]}ed\n"

    def _scale(self, line: Line) -> Iterator[str]:
        kind, name, _ = self._object(line.words[1:])
        replicas = _number(line.option("replicas"))
        self._wire.merge_patch(object_path(kind, name, _namespace(kind, line)), {"spec": {"replicas": replicas}})
        yield f"{_called(kind)}/{name} scaled\n"

    def _set_image(self, line: Line) -> Iterator[str]:
        if line.words[1:2] != ["image"]:
            raise NotUnderstood("error: without kubectl only images are set")
        kind, name, images = self._object(line.words[2:])
        if bad := [image for image in images if "=" not in image]:
            raise NotUnderstood(f"error: an image is set as container=image, not {bad[0]!r}")
        path = object_path(kind, name, _namespace(kind, line))
        containers: list[Raw] = self._wire.get(path)["spec"]["template"]["spec"]["containers"]
        new = dict(image.split("=", 1) for image in images)
        changed = [{**found, "image": new.get(found["name"], found["image"])} for found in containers]
        self._wire.merge_patch(path, {"spec": {"template": {"spec": {"containers": changed}}}})
        yield f"{_called(kind)}/{name} image updated\n"

    def _create_job(self, line: Line) -> Iterator[str]:
        jobs, name, _ = self._object(line.words[1:])
        if jobs.name != "Job":
            raise NotUnderstood("error: without kubectl only jobs are created, and from a CronJob")
        crons, source, _ = self._object([line.option("from")])
        namespace = _namespace(jobs, line)
        template = self._wire.get(object_path(crons, source, namespace))["spec"]["jobTemplate"]
        annotations = {"cronjob.kubernetes.io/instantiate": "manual"}
        job = {"apiVersion": jobs.api_version, "kind": jobs.name, "spec": template["spec"]}
        job["metadata"] = {**template.get("metadata", {}), "name": name, "annotations": annotations}
        self._wire.post(collection_path(jobs, namespace), job)
        yield f"{_called(jobs)}/{name} created\n"

    def _object(self, words: list[str]) -> tuple[Kind, str, list[str]]:
        kind, names = self._named(words)
        if not names:
            raise NotUnderstood(f"error: you must name one of {kind.plural}")
        return kind, names[0], names[1:]

    def _named(self, words: list[str]) -> tuple[Kind, list[str]]:
        """`pods a b` or `pod/a b`: what kind, and the rest."""
        first, *rest = words or [""]
        called, slash, name = first.partition("/")
        for resource in RESOURCES.values():
            if called in (resource.plural, resource.singular, *resource.short_names):
                return resource, [name, *rest] if slash else rest
        raise NotUnderstood(f'error: the server doesn\'t have a resource type "{called}"')


def _namespace(kind: Kind, line: Line) -> str:
    return (line.option("namespace") or "default") if kind.namespaced else ""


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise NotUnderstood(f"error: not a number: {text!r}") from None


def _called(kind: Kind) -> str:
    """The kind as kubectl writes it before a name."""
    return ".".join(filter(None, (kind.name.lower(), kind.group)))


def merge_patch_to(before: Raw, after: Raw) -> Raw:
    """A merge patch to `after` that also takes away what only `before` had."""
    patch: Raw = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        patch[key] = merge_patch_to(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return patch


def _complaint(error: ApiError) -> str:
    if error.code == _INVALID:
        return f"The {error.message}"
    return f"Error from server ({error.reason}): {error.message}"
