"""Values of commands are read from words, and what is none is refused by its name."""

from datetime import UTC, datetime, timedelta

import pytest

from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.core.task_sets import DefinitionKind
from cronograph.server.cli.remote.values import instant_of, pairs_of, resources_of
from cronograph.server.task_files.reading import wanted


def test_resources_are_numbers_texts_and_options_of_the_executor() -> None:
    words = ["cpus=0.5", "gpus=2", "memory=1024", "queue=long", "account=a=b"]
    options = {"account": "a=b"}
    assert resources_of(words) == {"cpus": 0.5, "gpus": 2, "memory": 1024, "queue": "long", "options": options}
    assert resources_of(None) is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gpus"], "--resource 'gpus': write name=value, e.g. gpus=2"),
        (["memory=8GiB"], "--resource 'memory=8GiB': memory must be a whole number, e.g. memory=2"),
        (["cpus=many"], "--resource 'cpus=many': cpus must be a number, e.g. cpus=2"),
        (["qos=a", "qos=b"], "--resource 'qos=b': 'qos' is given twice"),
    ],
)
def test_what_is_no_resource_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        resources_of(words)
    assert str(refused.value) == said


def test_a_time_is_itself_and_a_duration_is_counted_from_now_on_or_back() -> None:
    assert instant_of("--at", None) is None
    assert instant_of("--at", "2030-01-31T09:30:00Z") == "2030-01-31T09:30:00Z"
    for ago, sign in ((False, 1), (True, -1)):
        before = datetime.now(UTC)
        found = datetime.fromisoformat(instant_of("--at", "1h30m", ago=ago) or "")
        assert before <= found - sign * timedelta(minutes=90) <= datetime.now(UTC)


@pytest.mark.parametrize("text", ["soon", "", "1y", "-1h", "99999999999d", "9999999d"])
@pytest.mark.parametrize("ago", [False, True])
def test_what_is_no_time_is_refused(text: str, ago: bool) -> None:
    with pytest.raises(ConfigurationError) as refused:
        instant_of("--at", text, ago=ago)
    said = "--at: must be a time such as 2030-01-31T09:30:00Z, or a duration such as 90s, 10m or 1h30m"
    assert str(refused.value) == f"{said}, got {text!r}"


@pytest.mark.parametrize(
    ("kind", "words", "said"),
    [
        (DefinitionKind.ALARM, ["late"], "'late': write name=value, e.g. severity=critical"),
        (DefinitionKind.ALARM, ["late=5m", "late=6m"], "'late=6m': 'late' is given twice"),
        (DefinitionKind.CHANNEL, ["kind=chat", "url_secret=a", "route={"], "route: must be JSON, got '{': "),
        (DefinitionKind.WEBHOOK, ["url=http://x", "variables=[1"], "variables: must be JSON, got '[1': "),
        (
            DefinitionKind.WEBHOOK,
            ["url=http://x", "variables=[1]"],
            "webhook ours: variables: must be a table, got a list",
        ),
    ],
)
def test_words_of_a_definition_that_cannot_be_read_are_refused(
    kind: DefinitionKind, words: list[str], said: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        wanted(kind, "ours", pairs_of(words, "severity=critical"))
    assert str(refused.value).startswith(said)
