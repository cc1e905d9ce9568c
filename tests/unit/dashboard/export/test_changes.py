"""The changes of a command line are those that the question is asked about."""

from pathlib import Path

import pytest

from moorage.dashboard.export.command_pages import asked_changes
from moorage.dashboard.questions.changes import read_changes
from moorage.plan.node_changes import parse_added_nodes, parse_label, parse_scale, parse_taint, parse_untaint
from moorage.plan.what_if import Changes


def test_the_question_has_the_changes_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: A\n")
    changes = Changes(
        (str(tmp_path),),
        (
            parse_taint("n1=level=3:NoExecute"),
            parse_taint("{pool=spot}=level=3:NoSchedule"),
            parse_taint("*=a:NoExecute"),
        ),
        (parse_untaint("n1=level"), parse_untaint("n1=level:NoExecute")),
        ("n2", "{zone=a}"),
        ("n3",),
        (parse_scale("deployment/web=5"),),
        ("n4", "*"),
        parse_added_nodes(2, "n1"),
        (parse_label("n1=zone=a"), parse_label("n1=zone-")),
    )
    asked = asked_changes(changes)
    assert asked is not None
    read = read_changes({"changes": asked})
    assert read.manifests == {"what-if-1.yaml": "kind: A\n"}
    same = [name for name in Changes.__struct_fields__ if name != "files"]
    assert {name: getattr(read.changes, name) for name in same} == {name: getattr(changes, name) for name in same}


@pytest.mark.parametrize("files", [("-",), ("absent.yaml",)])
def test_what_cannot_be_read_again_is_not_asked(files: tuple[str, ...]) -> None:
    assert asked_changes(Changes(files)) is None


def test_no_changes_make_an_empty_question() -> None:
    assert asked_changes(Changes()) == []
