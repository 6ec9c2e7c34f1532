"""Which subscriptions of our schema equal subscribers share."""

from typing import Final

from ..base.enums import Role
from ..resolving.context import Context
from .share_key import SharedField, SharePolicy


def rights_of(context: Context) -> Role:
    """All that decides what a subscriber gets to see of an event: the role."""
    return context.person.role


SHARED: Final = SharePolicy(
    fields={
        "events": SharedField(resume_argument="after", catch_up=Context.behind),
        "executions": SharedField(private_arguments=frozenset({"snapshot"}), catch_up=Context.behind),
    },
    rights=rights_of,
)
"""For ``graphql_routes(share=SHARED)``. Subscriptions that begin with what is there already cannot be shared."""
