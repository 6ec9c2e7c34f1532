"""The root of mutations, put together."""

import strawberry

from .accounts import AccountMutations
from .flows import FlowMutations
from .login_methods import LoginMethodMutations
from .queue import QueueMutations
from .runs import RunMutations
from .secrets import SecretMutations
from .task_sets import TaskSetMutations
from .tasks import TaskMutations


@strawberry.type(description="Everything that can be changed. Refusals are data: look at `errors` of each payload.")
class Mutation(
    RunMutations,
    FlowMutations,
    TaskMutations,
    TaskSetMutations,
    QueueMutations,
    AccountMutations,
    LoginMethodMutations,
    SecretMutations,
):
    """Mutations."""
