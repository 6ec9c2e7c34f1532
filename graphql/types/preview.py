"""What an enqueue would do, for dry runs."""

from typing import ClassVar

import strawberry

from ...jobs.core.explain.previews import PreviewOutcome
from ..base.fields import sized
from ..base.sizes import SHOWN
from ..execution.shown import FromModel, Makers
from .entities import Explanation


@strawberry.type(description="What would become of a run if it were enqueued now.")
class RunPreview(FromModel):
    """A preview of one run."""

    outcome: PreviewOutcome = strawberry.field(description="What would become of it, in a word.")
    job_name: str = strawberry.field(description="Its job.")
    sentence: str = strawberry.field(description="The same in words.")
    group: str | None = strawberry.field(description="Its group; null if it would be refused.")
    stands_for_id: strawberry.ID | None = strawberry.field(
        description="The run that would be answered in its place; null if there is none."
    )
    explanation: Explanation | None = strawberry.field(
        description="What it, or the run in its place, would wait for; null if it would be skipped or refused, and if "
        "the run in its place is over."
    )

    MADE: ClassVar[Makers] = {
        "explanation": lambda one: None if one.explanation is None else Explanation.from_model(one.explanation)
    }


@strawberry.type(description="What an enqueue would do. It is tried and taken back, so it is judged as the real one.")
class Preview(FromModel):
    """A preview of all that was asked for."""

    sentence: str = strawberry.field(description="All of it in one sentence, with figures.")
    runs: list[RunPreview] = strawberry.field(
        description="Of each run that is asked for what would become of it, at most 200 of them.", metadata=sized(SHOWN)
    )
    dropped_ids: list[strawberry.ID] = strawberry.field(
        description="Waiting runs that would be skipped to make room (`DROP_OLDEST`), at most 200 of them."
    )

    MADE: ClassVar[Makers] = {
        "runs": lambda preview: [RunPreview.from_model(one) for one in preview.runs],
        "dropped_ids": lambda preview: [strawberry.ID(str(key)) for key in preview.dropped[: SHOWN.most]],
    }
