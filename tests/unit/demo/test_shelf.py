"""Where stories are found, and what is said about those that are not."""

from pathlib import Path

import pytest

from moorage.demo.story import NoSuchStory, StoryError, all_stories, default_shelf, find_story, story_names

ROOT = Path(__file__).resolve().parents[3]


def test_every_example_has_a_story() -> None:
    shelf = default_shelf()
    assert shelf == ROOT / "examples"
    assert story_names(shelf) == sorted(
        path.name
        for path in shelf.iterdir()
        if path.is_dir() and path.name not in ("cluster", "plugin", "traffic-doubles")
    )


def test_every_story_is_in_the_index_of_examples() -> None:
    index = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    for found in all_stories(default_shelf()):
        story = found.story
        assert (
            f"({story.name}/README.md) | {story.title}: {story.document} | `{story.gates.partition('=')[0]}`" in index
        )


def test_files_that_stories_apply_are_there() -> None:
    for found in all_stories(default_shelf()):
        named = [step.words[step.words.index("-f") + 1] for step in found.story.steps if "-f" in step.words]
        assert named
        named += [step.words[0] for step in found.story.steps if step.starts_program]
        assert [name for name in named if not (found.folder / name).is_file()] == []


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("spot-nodes-by-slo", "there is no story 'spot-nodes-by-slo'. Did you mean 'spot-nodes-by-sla'"),
        ("regex", "there is no story 'regex'. Did you mean 'zones-by-regex'?"),
        ("qqqq", "there is no story 'qqqq'. `moorage demo` lists them."),
        ("./nowhere", "./nowhere: there is no story.md in it"),
    ],
)
def test_a_story_that_is_not_there(wanted: str, said: str) -> None:
    with pytest.raises(NoSuchStory) as caught:
        find_story(default_shelf(), wanted)
    assert str(caught.value).startswith(said)


def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "story.md").write_text("# Mine\n\n```console\n$ kubectl get pods\n```\n\n- fails\n")
    found = find_story(default_shelf(), str(tmp_path))
    assert (found.story.title, found.folder) == ("Mine", tmp_path.resolve())


def test_a_story_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "story.md").write_bytes(b"# \xff\n")
    with pytest.raises(StoryError, match="cannot be read"):
        find_story(default_shelf(), str(tmp_path))
