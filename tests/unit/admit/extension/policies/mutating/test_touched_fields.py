"""The fields that mutations look at or set, and whether the object they make can be kept for a template."""

import pytest
from tests.unit.admit.extension.policies.mutating.mutating_world import MutatingWorld

from moorage.admit.extension.policies.mutating.touched_fields import fields_touched
from moorage.admit.extension.policies.reads import reads_only_template


@pytest.mark.parametrize(
    ("expression", "fields"),
    [
        ("Object{}", []),
        ("Object{metadata: Object.metadata{labels: {'a': 'b'}}}", ["object.metadata.labels"]),
        ("Object{metadata: Object.metadata{name: 'x'}, data: {}}", ["object.metadata.name", "object.data"]),
        ("Object{metadata: Object.spec{}}", ["object.metadata"]),
        ("Object{spec: Object.spec{containers: [Object.spec.containers{name: 'a'}]}}",
         ["object.spec.containers", "object.spec.containers.name"]),
        ("[JSONPatch{op: 'add', path: '/spec/x', value: 1}]", ["object.spec.x"]),
        ("[JSONPatch{op: 'move', path: '/a', from: '/metadata/name'}]", ["object.a", "object.metadata.name"]),
        ("[JSONPatch{op: 'add', path: '/metadata/labels/' + request.name}]", ["object.metadata.labels"]),
        ("[JSONPatch{op: 'add', path: '/metadata/na' + 'me' + 'x'}]", ["object.metadata"]),
        ("[JSONPatch{op: 'add', path: '/metadata/labels/' + 'a' + 'b'}]", ["object.metadata.labels"]),
        ("[JSONPatch{op: 'add', path: variables.p}]", ["object"]),
        ("[JSONPatch{op: 'add', ?path: x}]", ["object"]),
        ("[JSONPatch{op: 'add'}]", ["object"]),
        ("[JSONPatch{op: 'replace', path: '', value: {}}]", ["object"]),
        ("[JSONPatch{op: 'add', path: '/spec', value: Object.spec{a: 1}}]", ["object.spec", "object.spec.a"]),
        ("Object{", ["object"]),
    ],
)  # fmt: skip
def test_fields(expression: str, fields: list[str]) -> None:
    assert {".".join(path) for path in fields_touched(expression)} == set(fields)


@pytest.mark.parametrize(
    ("mutation", "is_kept"),
    [
        ("Object{metadata: Object.metadata{labels: {'a': object.spec.nodeName}}}", True),
        ("Object{metadata: Object.metadata{labels: {'a': object.metadata.name}}}", False),
        ("Object{metadata: Object.metadata{name: 'x'}}", False),
        ("[JSONPatch{op: 'add', path: '/metadata/labels', value: {}}]", True),
        ("[JSONPatch{op: 'copy', from: '/metadata/name', path: '/metadata/labels/a'}]", False),
        ("[JSONPatch{op: 'test', path: '/metadata/generateName', value: 'x-'}]", False),
    ],
)
def test_what_reads_or_sets_a_name_is_not_kept(mutation: str, is_kept: bool) -> None:
    world = MutatingWorld()
    world.put_mutator("m", mutation)
    assert reads_only_template(world.mutators[0], world.mutating_bindings("m")) is is_kept
