"""Which runs a node takes, as a table; and that fairness asks for its groups in their turn."""

import pytest

from cronograph.jobs.core.explain.facts import Leaving, TaskFacts, no_job
from cronograph.jobs.core.nodes import EVERYTHING, LeftBy, NodeChoice, in_turn

GPU = ("gpu", "slow")


@pytest.mark.parametrize(
    ("choice", "job", "tags", "group", "left"),
    [
        (EVERYTHING, "work", (), "default", None),
        (EVERYTHING, "work", GPU, "a", None),
        (NodeChoice(groups=("a", "b")), "work", GPU, "b", None),
        (NodeChoice(groups=("a", "b")), "work", GPU, "c", LeftBy.GROUP),
        (NodeChoice(only_jobs=("work",)), "work", (), "c", None),
        (NodeChoice(only_jobs=("work",)), "play", (), "c", LeftBy.JOB),
        (NodeChoice(tags=("gpu",)), "work", GPU, "a", None),
        (NodeChoice(tags=("gpu", "tpu")), "work", ("tpu",), "a", None),
        (NodeChoice(tags=("gpu",)), "work", (), "a", LeftBy.TAG),
        (NodeChoice(without_tags=("gpu",)), "work", GPU, "a", LeftBy.TAG),
        (NodeChoice(without_tags=("gpu",)), "work", (), "a", None),
        (NodeChoice(tags=("slow",), without_tags=("gpu",)), "work", GPU, "a", LeftBy.TAG),
        (NodeChoice(groups=("a",), only_jobs=("play",)), "work", (), "b", LeftBy.JOB),
    ],
)
def test_every_part_must_let_a_run_pass(
    choice: NodeChoice, job: str, tags: tuple[str, ...], group: str, left: LeftBy | None
) -> None:
    assert choice.leaves(job, tags, group) is left
    assert (choice.takes_job(job, tags) and choice.takes_group(group)) == (left is None)


@pytest.mark.parametrize(
    ("other", "own", "covered"),
    [((), (), True), ((), ("a",), True), (("a",), (), False), (("a", "b"), ("a",), True), (("a",), ("a", "b"), False)],
)
def test_a_node_covers_the_groups_of_another(other: tuple[str, ...], own: tuple[str, ...], covered: bool) -> None:
    assert NodeChoice(groups=other).covers_groups_of(NodeChoice(groups=own)) is covered


def test_the_turn_goes_on_behind_the_group_served_last_and_wraps() -> None:
    assert in_turn(("c", "a", "b", "a"), "") == ("a", "b", "c")
    assert in_turn(("c", "a", "b"), "a") == ("b", "c", "a")
    assert in_turn(("c", "a", "b"), "bb") == ("c", "a", "b")


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (EVERYTHING, "takes everything"),
        (NodeChoice(groups=("a",)), "takes only the group 'a'"),
        (NodeChoice(groups=("a", "b"), only_jobs=("x",)), "takes only the groups 'a' and 'b' and the job 'x'"),
        (NodeChoice(tags=("gpu",)), "takes only jobs with the tag 'gpu'"),
        (NodeChoice(tags=("gpu", "tpu")), "takes only jobs with a tag of 'gpu' and 'tpu'"),
        (NodeChoice(only_jobs=("x",), without_tags=("y",)), "takes only the job 'x', and no job with the tag 'y'"),
        (NodeChoice(without_tags=("y",)), "takes no job with the tag 'y'"),
    ],
)
def test_a_choice_is_said_in_words(choice: NodeChoice, words: str) -> None:
    assert choice.words == words


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ((LeftBy.GROUP,), "the group 'acme'"),
        ((LeftBy.GROUP, LeftBy.GROUP), "the group 'acme'"),
        ((LeftBy.JOB,), "the job 'work'"),
        ((LeftBy.TAG,), "the tags of the job 'work'"),
        ((LeftBy.JOB, LeftBy.TAG), "the job 'work'"),
        ((LeftBy.GROUP, LeftBy.TAG), "the job 'work' in the group 'acme'"),
    ],
)
def test_what_nobody_takes_is_named(parts: tuple[LeftBy, ...], what: str) -> None:
    left = tuple(Leaving(f"node-{one.value}", one, "takes others") for one in parts)
    said = no_job("work", "acme", TaskFacts(job_known=True, nodes=(), left=left), (), "")
    assert said is not None
    assert said.code == "NO_TAKER"
    assert said.sentence == f"No node that takes {what} is alive, so it waits. Start one."
    assert said.details[0] == f"Node {left[0].node} takes others."
    assert no_job("work", "acme", TaskFacts(job_known=True, nodes=("node-b",), left=left), (), "") is None
