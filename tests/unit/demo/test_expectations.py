"""What a story's patterns are in words."""

import re

import pytest

from moorage.demo.play import expectations, in_words
from moorage.demo.story import Sight, StoryStep, all_stories, default_shelf


@pytest.mark.parametrize(
    ("pattern", "times", "words"),
    [
        ("^web .* Running .* node-1 ", None, "web runs on node-1"),
        ("^web-.* Running .* node-1 ", None, "a pod of web runs on node-1"),
        ("^web-.* Running .* (a|b)-node-[12] ", 4, "4 pods of web run on a-node-1 or a-node-2 or b-node-1 or b-node-2"),
        ("^web-[01] .* Running .* node-1 ", 2, "web-0 and web-1 run on node-1"),
        ("^web-.* Running ", 1, "one pod of web runs"),
        ("^web-.* Running ", 0, "no pod of web runs"),
        (" Pending ", 2, "2 pods wait for a node"),
        ("^web .* Pending ", None, "web waits for a node"),
        ("^web ", 0, '"web" is not there'),
        (r"1 node\(s\) had taint \{a: b\}.*x", None, 'it says "1 node(s) had taint {a: b} … x"'),
        (r"^web-[0-9a-z]+ +2 .* nginx:1.29$", None, 'it says "web- … 2 … nginx:1.29"'),
        ("Pending|Terminating", 0, '"Pending or Terminating" is not there'),
        ("created", 3, 'it says "created" 3 times'),
    ],
)
def test_a_pattern_in_words(pattern: str, times: int | None, words: str) -> None:
    assert in_words(Sight(re.compile(pattern), times)) == words


def test_a_command_that_must_fail() -> None:
    assert expectations(StoryStep("", "kubectl apply -f x", 1, fails=True)) == ["the command fails"]


def test_no_story_shows_a_regular_expression() -> None:
    for found in all_stories(default_shelf()):
        for step in found.story.steps:
            for words in expectations(step):
                assert not re.search(r"[\\^*\[\]|+]", words), (found.story.name, words)
