"""The root of mutations, put together."""

import strawberry

from .accounts import AccountMutations
from .login_methods import LoginMethodMutations
from .queue import QueueMutations
from .runs import RunMutations
from .secrets import SecretMutations
from .task_sets import TaskSetMutations
from .tasks import TaskMutations


@strawberry.type(description="Everything that can be changed. Refusals are data: look at `errors` of each payload.")
class Mutation(
    RunMutations,
    TaskMutations,
    TaskSetMutations,
    QueueMutations,
    AccountMutations,
    LoginMethodMutations,
    SecretMutations,
):
    """Mutations."""
