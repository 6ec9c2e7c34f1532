"""In words: why a task is or is not running now, why a run still waits, and the next step.

An operator reads these at night, so each sentence names the thing in the way and the remedy.
"""

from .facts import COUNTED_AHEAD, AwaitedRun, Explanation, ExplanationCode, Leaving, LostAttempt, RunFacts, TaskFacts
from .previews import Preview, PreviewOutcome, RunPreview, explain_task
from .runs import explain_run

__all__ = [
    "COUNTED_AHEAD",
    "AwaitedRun",
    "Explanation",
    "ExplanationCode",
    "Leaving",
    "LostAttempt",
    "Preview",
    "PreviewOutcome",
    "RunFacts",
    "RunPreview",
    "TaskFacts",
    "explain_run",
    "explain_task",
]
