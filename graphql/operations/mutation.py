"""The root of mutations, put together."""

import strawberry

from .accounts import AccountMutations
from .queue import QueueMutations
from .runs import RunMutations
from .secrets import SecretMutations
from .task_sets import TaskSetMutations
from .tasks import TaskMutations
from .ways_in import WayInMutations


@strawberry.type(description="Everything that can be changed. Refusals are data: look at `errors` of each payload.")
class Mutation(
    RunMutations, TaskMutations, TaskSetMutations, QueueMutations, AccountMutations, WayInMutations, SecretMutations
):
    """Mutations."""
