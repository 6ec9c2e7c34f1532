"""The root of mutations, put together."""

import strawberry

from .accounts.accounts import AccountMutations, LoginMethodMutations
from .accounts.secrets import SecretMutations
from .accounts.views import ViewMutations
from .addresses import AddressMutations
from .alarms import AlarmMutations
from .channels import ChannelMutations
from .failures import FailureMutations
from .hooks import HookMutations
from .queue import QueueMutations
from .revisions import RevisionMutations
from .runs.flows import FlowMutations
from .runs.runs import RunMutations
from .task_sets import TaskSetMutations
from .tasks import TaskMutations
from .webhooks import WebhookMutations


@strawberry.type(description="Everything that can be changed. Refusals are data: look at `errors` of each payload.")
class Mutation(
    RunMutations,
    FlowMutations,
    TaskMutations,
    TaskSetMutations,
    QueueMutations,
    RevisionMutations,
    AccountMutations,
    LoginMethodMutations,
    SecretMutations,
    ViewMutations,
    AlarmMutations,
    ChannelMutations,
    FailureMutations,
    HookMutations,
    AddressMutations,
    WebhookMutations,
):
    """Mutations."""
