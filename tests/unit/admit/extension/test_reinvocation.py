"""Policies and webhooks that want it are asked again about an object that was changed after they saw it."""

from moorage.admit.extension.reinvocation import Reinvocation


def test_all_are_called_in_the_first_round_and_none_in_a_second_without_changes() -> None:
    rounds = Reinvocation()
    rounds.webhooks.begin({"a": 1}, rounds)
    assert rounds.webhooks.may_call("x", rounds)
    rounds.webhooks.wants_repetition("x")
    rounds.webhooks.end({"a": 1})
    rounds.is_second = True
    rounds.webhooks.begin({"a": 1}, rounds)
    assert not rounds.webhooks.may_call("x", rounds)


def test_a_change_repeats_those_that_were_called_before_it() -> None:
    rounds = Reinvocation()
    rounds.webhooks.begin({}, rounds)
    rounds.webhooks.wants_repetition("before")
    rounds.webhooks.changed(rounds)
    rounds.webhooks.wants_repetition("after")
    rounds.webhooks.end({"a": 1})
    assert rounds.is_needed
    rounds.is_second = True
    rounds.webhooks.begin({"a": 1}, rounds)
    assert rounds.webhooks.may_call("before", rounds)
    assert not rounds.webhooks.may_call("after", rounds)


def test_a_change_by_another_plugin_repeats_all_that_want_it() -> None:
    rounds = Reinvocation()
    rounds.policies.begin({}, rounds)
    rounds.policies.wants_repetition("policy")
    rounds.policies.end({})
    rounds.webhooks.begin({}, rounds)
    rounds.webhooks.changed(rounds)
    rounds.webhooks.end({"a": 1})
    rounds.is_second = True
    rounds.policies.begin({"a": 1}, rounds)
    assert rounds.policies.may_call("policy", rounds)
    assert not rounds.policies.may_call("other", rounds)


def test_what_a_round_ended_with_is_compared_with_the_object_as_it_was_then() -> None:
    rounds = Reinvocation()
    document = {"labels": {"a": "1"}}
    rounds.policies.begin(document, rounds)
    rounds.policies.wants_repetition("policy")
    rounds.policies.end(document)
    document["labels"]["a"] = "2"
    rounds.is_second = True
    rounds.policies.begin(document, rounds)
    assert rounds.policies.may_call("policy", rounds)
