import pytest

from moorage.model.text.documents import split_yaml_list, without_dash

TEXT = b"""\
apiVersion: v1
items: # of a cluster
# first
- kind: Pod
  note: |
    - text

- kind: Node
-
  kind: Job
kind: List
"""


def test_items_keep_their_lines_and_the_rest_keeps_its_own() -> None:
    cut = split_yaml_list(TEXT)
    assert cut is not None
    assert [(text.split(b"\n")[0], line) for text, line in cut.items] == [
        (b"- kind: Pod", 3),
        (b"- kind: Node", 7),
        (b"-", 8),
    ]
    assert cut.frame.split(b"\n")[10] == b"kind: List"
    assert cut.frame.strip() == b"apiVersion: v1" + b"\n" * 10 + b"kind: List"


def test_items_may_be_indented() -> None:
    cut = split_yaml_list(b"items:\n  - a: 1\n    b: 2\n  - a: 3\nkind: List\n")
    assert cut is not None
    assert [text for text, _ in cut.items] == [b"  - a: 1\n    b: 2\n", b"  - a: 3\n"]
    assert without_dash(b"  - a: 1-2") == b"    a: 1-2"


@pytest.mark.parametrize("text", [b"", b"a: 1\n", b"items: []\n", b"spec:\n  items:\n  - a\n", b"items:\n  a: 1\n"])
def test_what_is_not_laid_out_as_a_list_is_not_cut(text: bytes) -> None:
    assert split_yaml_list(text) is None
