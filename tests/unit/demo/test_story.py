"""The format of stories, and what is said about texts that are none."""

import pytest

from moorage.demo.play import what_is_missing
from moorage.demo.story import KubectlResult, Story, StoryError, read_story

TEXT = """\
# A title

Document: KEP-1, story 2
Gates: `A=true`, `B=false`

What happens
first.

And why.

```console
$ kubectl apply -f 'a file.yaml'
```

Then one looks.

```console
$ kubectl get pods -o wide
```

- shows `^web .* Running`
- shows `Running` 2 times
- shows `Pending` once
- does not show `Failed`
- within 3 s

```console
$ kubectl delete pod nobody
```

- fails

That was it.
"""


def story(text: str = TEXT) -> Story:
    return read_story("one", text, "story.md")


def test_a_story_is_read() -> None:
    read = story()
    assert (read.name, read.title, read.document, read.gates) == ("one", "A title", "KEP-1, story 2", "A=true,B=false")
    assert read.ending == "That was it."
    first, second, third = read.steps
    assert (first.say, first.words) == ("What happens first.\n\nAnd why.", ["apply", "-f", "a file.yaml"])
    assert (first.only_looks, first.sights, first.line) == (False, (), 12)
    assert (second.say, second.seconds, second.only_looks, second.fails) == ("Then one looks.", 3, True, False)
    assert [(sight.pattern.pattern, sight.times) for sight in second.sights] == [
        ("^web .* Running", None),
        ("Running", 2),
        ("Pending", 1),
        ("Failed", 0),
    ]
    assert (third.say, third.fails) == ("", True)


def test_a_program_is_started_and_its_output_awaited() -> None:
    text = "# T\n```console\n$ python 'web hook.py' --port 1 &\n```\n- shows `Serving`\n"
    [step] = story(text).steps
    assert (step.words, step.starts_program, step.waits) == (["web hook.py", "--port", "1"], True, True)
    assert [step.waits for step in story().steps] == [False, True, False]


STEP = "```console\n$ kubectl get pods\n```\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "story.md:1: a story begins with a title"),
        ("No title\n", "story.md:1: a story begins with a title"),
        ("# T\n\nNothing.\n", "story.md:3: there is nothing to play"),
        (f"# T\n{STEP}", "story.md:3: the last step must say what comes of it"),
        (f"# T\n{STEP}- shows `(`\n", "story.md:5: `(` is not a regular expression: "),
        (f"# T\n{STEP}- shows nothing\n", "story.md:5: not an outcome: 'shows nothing'; there are: shows `…`"),
        (f"# T\n{STEP}- does not show `a` 2 times\n", "story.md:5: what is not shown is not shown any number of times"),
        (f"# T\n{STEP}- within 0 s\n", "story.md:5: seconds must be between 1 and 600"),
        (f"# T\n{STEP}- within 601 s\n", "story.md:5: seconds must be between 1 and 600"),
        (f"# T\n{STEP}Text.\n- fails\n", "story.md:6: a story has paragraphs"),
        ("# T\n- fails\n", "story.md:2: a story has paragraphs"),
        (f"# T\n{STEP}## More\n", "story.md:5: a story has paragraphs"),
        ("# T\n```sh\nls\n```\n", "story.md:2: a story has paragraphs"),
        ("# T\n```console\nls\n```\n", "story.md:3: a command is written `$ kubectl …`"),
        ("# T\n```console\n$ rm -r /\n```\n", "story.md:3: only kubectl is run"),
        ("# T\n```console\n$ kubectl\n```\n", "story.md:3: only kubectl is run"),
        ("# T\n```console\n$ python webhook.py\n```\n", "story.md:3: only kubectl is run, and programs beside it"),
        ("# T\n```console\n$ python &\n```\n", "story.md:3: only kubectl is run"),
        ("# T\n```console\n$ kubectl get 'a\n```\n", "story.md:3: kubectl get 'a: No closing quotation"),
        ("# T\n```console\n$ kubectl get a\n$ kubectl get b\n```\n", "story.md:4: there is one command to a step"),
        ("# T\n```console", "story.md:2: a command is written"),
    ],
)
def test_a_malformed_story_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(StoryError) as caught:
        story(text)
    assert str(caught.value).startswith(complaint)


SHOWN = "web 1/1 Running\ndb 1/1 Running\nlate 0/1 Pending\n"


@pytest.mark.parametrize(
    ("ran", "missing"),
    [
        (KubectlResult(0, SHOWN), []),
        (KubectlResult(0, SHOWN.replace("web", "wob")), ["web runs, but no lines matched `^web .* Running`"]),
        (
            KubectlResult(0, SHOWN[16:]),
            [
                "web runs, but no lines matched `^web .* Running`",
                'it says "Running" 2 times, but 1 line matched `Running`',
            ],
        ),
        (KubectlResult(0, SHOWN + "late 0/1 Pending\n"), ['it says "Pending" once, but 2 lines matched `Pending`']),
        (KubectlResult(0, SHOWN, "Failed\n"), ['"Failed" is not there, but 1 line matched `Failed`']),
        (KubectlResult(1, SHOWN), ["the command succeeds, but its exit status is 1"]),
    ],
)
def test_outcomes_are_judged_by_lines(ran: KubectlResult, missing: list[str]) -> None:
    step = story().steps[1]
    assert what_is_missing(step, ran) == missing


def test_what_should_fail_must() -> None:
    step = story().steps[2]
    assert what_is_missing(step, KubectlResult(1, "", "Error\n")) == []
    assert what_is_missing(step, KubectlResult(0, "")) == ["the command fails, but it succeeded"]
