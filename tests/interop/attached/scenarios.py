"""List the stories of attach and the ways in which it fails."""

from collections.abc import Callable

from tests.interop.attached import answers, failures, operations, stories
from tests.interop.attached.installation import Installation
from tests.interop.attached.unaware_cluster import Tenant

Story = Callable[[Tenant], None]
Failure = Callable[[Tenant, Installation], None]

#: What holds wherever the webhook lowers and the controller runs.
STORIES: tuple[Story, ...] = (
    stories.spot_nodes_are_for_those_who_ask,
    stories.a_service_level_that_drops_evicts_exactly_those_that_need_more,
    stories.versions_decide_about_taints_and_labels,
    stories.versions_decide_who_stays_when_a_node_is_upgraded,
    stories.expressions_decide_by_match_labels,
    stories.expressions_decide_who_stays,
    stories.a_soft_taint_makes_a_node_less_welcome,
    stories.what_cannot_work_is_refused_in_words_that_say_why,
    answers.answers_are_in_the_words_of_the_user,
    answers.a_what_if_is_what_happens,
    answers.gates_say_what_is_attached,
    operations.status_and_uninstall_say_what_is_lowered,
)
FAILURES: tuple[Failure, ...] = (
    failures.the_webhook_is_down,
    failures.the_controller_is_down,
    failures.a_budget_forbids_to_leave,
    failures.a_leader_is_killed,
    failures.the_mirror_is_removed,
    failures.the_certificate_expires,
    failures.the_api_server_starts_again,
    failures.the_webhook_is_replaced_while_it_is_used,
    failures.hostile_labels_and_annotations_are_not_trusted,
)


def name_of(scenario: Story | Failure) -> str:
    """Return the name of a scenario, as the id of its test."""
    return scenario.__name__
