"""How a story is played and shown, with a kubectl that says what it is told to."""

from collections.abc import Callable

from moorage.demo.play import Screen, play
from moorage.demo.story import KubectlResult, Story, read_story

TEXT = """\
# Title\x1b[2J

Document: KEP-1

Say \x07 it.

```console
$ kubectl apply -f a.yaml
```

```console
$ kubectl get pods
```

- shows `Running`
- within 1 s

```console
$ kubectl delete pod x
```

- fails

The end.
"""


class Scripted:
    """Answers in turn; the last one for ever."""

    def __init__(self, *answers: KubectlResult) -> None:
        self.answers, self.asked = list(answers), list[list[str]]()

    def run(self, words: list[str]) -> KubectlResult:
        self.asked.append(words)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def start(self, words: list[str]) -> Callable[[], KubectlResult]:
        self.asked.append(["python", *words])
        return lambda: self.run([])


def nothing() -> None:
    pass


def played(kubectl: Scripted, *, coloured: bool = False) -> tuple[bool, list[str]]:
    shown: list[str] = []
    screen = Screen(shown.append, coloured=coloured)
    story: Story = read_story("one", TEXT, "story.md")
    screen.opening(story, "/folder", "/bin/kubectl")
    held = play(story, kubectl.run, kubectl.start, screen, nothing, lambda: shown.append("PAUSE"))
    if held:
        screen.ending(story)
    return held, shown


def test_a_get_is_repeated_until_its_outcomes_hold() -> None:
    kubectl = Scripted(
        KubectlResult(0, "done\n"),
        KubectlResult(0, "Pending\n"),
        KubectlResult(0, "\x1b[31mRunning\n"),
        KubectlResult(1, "", "no\n"),
    )
    assert played(kubectl) == (
        True,
        [
            "Title\\x1b[2J (KEP-1)",
            "No feature gate is needed.",
            "Commands are typed in /folder; kubectl is /bin/kubectl.",
            "",
            "Say \\x07 it.",
            "[1/3] $ kubectl apply -f a.yaml",
            "PAUSE",
            "done",
            "",
            "[2/3] $ kubectl get pods",
            '  expect: it says "Running"',
            "PAUSE",
            "\\x1b[31mRunning",
            '  ✓ it says "Running"',
            "",
            "[3/3] $ kubectl delete pod x",
            "  expect: the command fails",
            "PAUSE",
            "no",
            "  ✓ the command fails",
            "",
            "The end.",
            "All 3 steps came out as they should.",
        ],
    )
    assert [words[0] for words in kubectl.asked] == ["apply", "get", "get", "delete"]


def test_what_changes_something_is_done_once() -> None:
    kubectl = Scripted(KubectlResult(0, ""), KubectlResult(0, "Running\n"), KubectlResult(0, "gone\n"))
    held, shown = played(kubectl)
    assert not held
    assert shown[-3:] == [
        "gone",
        "  ✗ the command fails, but it succeeded",
        "Step 3 (line 19 of the story) did not come out.",
    ]
    assert len(kubectl.asked) == 3


def test_a_look_that_never_shows_it_ends_in_time() -> None:
    held, shown = played(Scripted(KubectlResult(0, "Pending\n")))
    assert not held
    assert shown[-1] == "Step 2 (line 12 of the story) did not come out within 1 s."
    assert shown[-2] == '  ✗ it says "Running", but no lines matched `Running`'


def test_colours() -> None:
    _, shown = played(Scripted(KubectlResult(0, "Running\n")), coloured=True)
    assert "\x1b[1mTitle\\x1b[2J\x1b[0m (KEP-1)" in shown
    assert '\x1b[32m  ✓ it says "Running"\x1b[0m' in shown
    assert "\x1b[31m  ✗ the command fails, but it succeeded\x1b[0m" in shown


def test_a_program_is_started_once_and_its_output_looked_at_until_it_shows_what_it_should() -> None:
    kubectl = Scripted(KubectlResult(0, ""), KubectlResult(0, "Serving\n"))
    text = "# T\n```console\n$ python webhook.py &\n```\n- shows `Serving`\n"
    screen = Screen(list[str]().append, coloured=False)
    assert play(read_story("one", text, "story.md"), kubectl.run, kubectl.start, screen, nothing)
    assert kubectl.asked == [["python", "webhook.py"], [], []]
