"""The root of mutations, put together."""

import strawberry

from .mutation_queue import QueueMutations
from .mutation_runs import RunMutations
from .mutation_tasks import TaskMutations


@strawberry.type(description="Everything that can be changed. Refusals are data: look at `errors` of each payload.")
class Mutation(RunMutations, TaskMutations, QueueMutations):
    """Mutations."""
