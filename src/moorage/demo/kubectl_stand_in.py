"""Runs kubectl's command lines without kubectl: sends the same requests, prints the same answers.

Kubernetes: kubectl. Differs: only the commands and options that stories use are known; `apply` is a merge patch against
what was applied last, so lists are replaced as a whole; of JSONPath there are names, `\\.` in names and `[*]`.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from moorage.client.http_client import HttpClient
from moorage.client.http_wire import object_path
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import PatchType, Raw, Unreachable
from moorage.demo.story import KubectlResult
from moorage.model.api_error import ApiError
from moorage.model.kinds import Kind, kind_of
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import read_documents
from moorage.model.well_known.annotations import LAST_APPLIED
from moorage.serve.resources.served import RESOURCES
from moorage.serve.tables.render import render_table as server_table

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
        self._access, self._folder = load_access(str(kubeconfig)), folder
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

    def run(self, words: list[str]) -> KubectlResult:
        said: list[str] = []
        try:
            command = self._commands.get(words[0])
            if command is None:
                raise NotUnderstood(f"error: without kubectl there is no `kubectl {words[0]}`")
            asyncio.run(self._run(command(parse(words)), said))
        except (NotUnderstood, DecodeError) as error:
            return KubectlResult(1, "".join(said), f"{error}\n")
        except Unreachable as error:
            return KubectlResult(
                1, "".join(said), f"Unable to connect to the server: the server does not answer: {error}\n"
            )
        except ApiError as error:
            return KubectlResult(1, "".join(said), f"{_complaint(error)}\n")
        return KubectlResult(0, "".join(said))

    async def _run(self, command: AsyncIterator[str], said: list[str]) -> None:
        self._client = HttpClient(self._access, "kubectl")
        try:
            async for text in command:
                said.append(text)
        finally:
            await self._client.close()

    # Commands.

    async def _apply(self, line: Line) -> AsyncIterator[str]:
        refused: list[ApiError] = []
        filename = line.option("filename")
        for document in self._documents(filename):
            try:
                yield await self._apply_one(filename, document)
            except ApiError as error:
                refused.append(error)
        if refused:
            raise refused[0] if len(refused) == 1 else NotUnderstood("\n".join(map(_complaint, refused)))

    async def _apply_one(self, filename: str, document: Raw) -> str:
        kind = kind_of(document)
        if kind is None:
            raise NotUnderstood(f'error: no matches for kind "{document.get("kind")}"')
        metadata = document.get("metadata") or {}
        if not metadata.get("name"):
            raise NotUnderstood(f"error: {filename}: an object has no name")
        namespace = metadata.get("namespace", "default") if kind.namespaced else ""
        applied = json.dumps(document)
        wanted = {**document, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {})}}}
        wanted["metadata"]["annotations"][LAST_APPLIED] = applied
        try:
            there = await self._client.get(kind, metadata["name"], namespace)
        except ApiError as error:
            if error.code != _NOT_FOUND:
                raise
            await self._client.create(kind, wanted, namespace)
            return f"{_called(kind)}/{metadata['name']} created\n"
        last = there.raw["metadata"].get("annotations", {}).get(LAST_APPLIED, "{}")
        if last == applied:
            return f"{_called(kind)}/{metadata['name']} unchanged\n"
        await self._patch(kind, metadata["name"], namespace, merge_patch_to(json.loads(last), wanted))
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

    async def _get(self, line: Line) -> AsyncIterator[str]:
        kind, names = self._named(line.words[1:])
        output, everywhere = line.option("output"), bool(line.option("all-namespaces"))
        fields = ",".join(filter(None, [line.option("field-selector"), *(f"metadata.name={name}" for name in names)]))
        columns = output.startswith(_CUSTOM_COLUMNS)
        if output not in ("", "wide") and not columns:
            raise NotUnderstood(f"error: without kubectl there is no output {output}")
        namespace = "" if everywhere else _namespace(kind, line)
        listing = await self._client.list_all(kind, namespace, labels=line.option("selector"), fields=fields)
        objects = [found.raw for found in listing.items]
        if columns:
            yield render_custom_columns(objects, output.removeprefix(_CUSTOM_COLUMNS))
            return
        if not objects:
            if names:
                raise NotUnderstood(f'Error from server (NotFound): {kind.plural} "{names[0]}" not found')
            where = "" if everywhere or not kind.namespaced else f" in {_namespace(kind, line)} namespace"
            yield f"No resources found{where}\n"
            return
        labels = [key for key in line.option("label-columns").split(",") if key]
        table = server_table(kind, objects, time.time())
        yield render_table(table, wide=bool(output), namespaces=everywhere and kind.namespaced, labels=labels)

    async def _delete(self, line: Line) -> AsyncIterator[str]:
        kind, names = self._named(line.words[1:])
        namespace = _namespace(kind, line)
        if line.option("all") or line.option("selector"):
            found = await self._client.list_all(kind, namespace, labels=line.option("selector"))
            names = [item.name for item in found.items]
        grace = line.option("grace-period")
        seconds = _number(grace) if grace else None
        for name in names:
            await self._client.delete(kind, name, namespace, propagation="Background", grace_seconds=seconds)
            yield f'{_called(kind)} "{name}" deleted\n'
        for name in names if line.option("wait") != "false" else ():
            await self._wait_until_gone(kind, name, namespace)

    async def _wait_until_gone(self, kind: Kind, name: str, namespace: str) -> None:
        """Wait until the object is gone, or another of the same name has taken its place."""
        deadline = time.monotonic() + _GONE_SECONDS
        try:
            uid = (there := await self._client.get(kind, name, namespace)).uid
            while there.uid == uid and "deletionTimestamp" in there.raw["metadata"]:
                if time.monotonic() > deadline:
                    path = object_path(kind, name, namespace)
                    raise NotUnderstood(f"error: timed out waiting for {path} to be gone")
                await asyncio.sleep(_LOOK_SECONDS)
                there = await self._client.get(kind, name, namespace)
        except ApiError as error:
            if error.code != _NOT_FOUND:
                raise

    async def _taint(self, line: Line) -> AsyncIterator[str]:
        kind, name, changes = self._object(line.words[1:])
        taints: list[Raw] = (await self._client.get(kind, name)).raw["spec"].get("taints", [])
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
        await self._patch(kind, name, "", {"spec": {"taints": taints}})
        done = "untainted" if all(change.endswith("-") for change in changes) else "tainted"
        yield f"node/{name} {'modified' if line.option('overwrite') else done}\n"

    async def _label(self, line: Line) -> AsyncIterator[str]:
        kind, name, changes = self._object(line.words[1:])
        labels = {
            change.removesuffix("-").partition("=")[0]: None if change.endswith("-") else change.partition("=")[2]
            for change in changes
        }
        await self._patch(kind, name, _namespace(kind, line), {"metadata": {"labels": labels}})
        yield f"{_called(kind)}/{name} labeled\n"

    async def _cordon(self, line: Line) -> AsyncIterator[str]:
        kind, names = self._named(["nodes", *line.words[1:]])
        closes = line.words[0] == "cordon"
        for name in names:
            await self._patch(kind, name, "", {"spec": {"unschedulable": closes or None}})
            yield f"node/{name} {line.words[0]}ed\n"

    async def _scale(self, line: Line) -> AsyncIterator[str]:
        kind, name, _ = self._object(line.words[1:])
        replicas = _number(line.option("replicas"))
        await self._patch(kind, name, _namespace(kind, line), {"spec": {"replicas": replicas}})
        yield f"{_called(kind)}/{name} scaled\n"

    async def _set_image(self, line: Line) -> AsyncIterator[str]:
        if line.words[1:2] != ["image"]:
            raise NotUnderstood("error: without kubectl only images are set")
        kind, name, images = self._object(line.words[2:])
        if bad := [image for image in images if "=" not in image]:
            raise NotUnderstood(f"error: an image is set as container=image, not {bad[0]!r}")
        namespace = _namespace(kind, line)
        workload = (await self._client.get(kind, name, namespace)).raw
        containers: list[Raw] = workload["spec"]["template"]["spec"]["containers"]
        new = dict(image.split("=", 1) for image in images)
        changed = [{**found, "image": new.get(found["name"], found["image"])} for found in containers]
        await self._patch(kind, name, namespace, {"spec": {"template": {"spec": {"containers": changed}}}})
        yield f"{_called(kind)}/{name} image updated\n"

    async def _create_job(self, line: Line) -> AsyncIterator[str]:
        jobs, name, _ = self._object(line.words[1:])
        if jobs.name != "Job":
            raise NotUnderstood("error: without kubectl only jobs are created, and from a CronJob")
        crons, source, _ = self._object([line.option("from")])
        namespace = _namespace(jobs, line)
        template = (await self._client.get(crons, source, namespace)).raw["spec"]["jobTemplate"]
        annotations = {"cronjob.kubernetes.io/instantiate": "manual"}
        job = {"apiVersion": jobs.api_version, "kind": jobs.name, "spec": template["spec"]}
        job["metadata"] = {**template.get("metadata", {}), "name": name, "annotations": annotations}
        await self._client.create(jobs, job, namespace)
        yield f"{_called(jobs)}/{name} created\n"

    async def _patch(self, kind: Kind, name: str, namespace: str, patch: Raw) -> None:
        await self._client.patch(kind, name, namespace, patch, patch_type=PatchType.MERGE)

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
