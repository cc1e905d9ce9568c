import pytest

from moorage.model.field_path import child_path, parse_field_path


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("", ()),
        ("spec", ("spec",)),
        ("spec.containers[0].resources.limits[cpu]", ("spec", "containers", "0", "resources", "limits", "cpu")),
        ("metadata.annotations[a.b/c]", ("metadata", "annotations", "a.b/c")),
        ("metadata.labels[a]b]", ("metadata", "labels", "a]b")),
        ("metadata.labels[]", ("metadata", "labels", "")),
        ("spec.x[0].{topologyKey, whenUnsatisfiable}", ("spec", "x", "0")),
        ("metadata.taints[0].effect", ("spec", "taints", "0", "effect")),  # upstream's slip
        ("[1]", ("1",)),
        ("spec..x", ("spec",)),
    ],
)
def test_steps_of_rendered_paths(path: str, steps: tuple[str, ...]) -> None:
    assert parse_field_path(path) == steps


def test_children_of_the_root_have_no_dot() -> None:
    assert child_path("", "spec") == "spec"
    assert child_path("spec", "tolerations") == "spec.tolerations"
