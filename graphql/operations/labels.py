"""The labels that runs have: their keys, and the values with how many runs have each."""

from typing import Annotated, Final

import strawberry

from ...jobs.core.admission.labels import MAX_VALUE, key_faults, label_faults
from ...jobs.store.read import labels as stored
from ...jobs.store.read.listing.criteria import LabelMatch
from ..base.arguments import DEFAULT_PAGE, MAX_PAGE, checked_range, checked_text, refused
from ..base.enums import Role
from ..base.fields import resolved
from ..base.sizes import Size
from ..resolving.context import Info

MAX_KEYS: Final = 200


@strawberry.type(description="A value that runs have for the key of a label.")
class LabelValue:
    """A value and how many runs have it."""

    value: str = strawberry.field(description="The value.")
    runs: int = strawberry.field(description="How many runs have it, counted up to 10,000.")
    more: bool = strawberry.field(description="Whether there are more than that.")


@strawberry.input(description="A label.")
class LabelInput:
    """A key and a value."""

    key: str = strawberry.field(description="Its key.")
    value: str = strawberry.field(description="Its value.")

    def match(self) -> LabelMatch:
        """The engine's form.

        Raises:
            UserFacingError: it can be no label.
        """
        for fault in label_faults({self.key: self.value}, "label"):
            raise refused(str(fault))
        return LabelMatch(self.key, (self.value,))


@strawberry.type
class LabelQueries:
    """What runs can be found by."""

    @resolved(size=Size(own=MAX_KEYS), requires=Role.VIEWER)
    async def label_keys(self, info: Info) -> list[str]:
        """The keys of the labels that runs have, in their order; the first 200."""
        return await info.context.database.read(stored.keys, MAX_KEYS)

    @resolved(size=Size(("first",), default=DEFAULT_PAGE, most=MAX_PAGE, each=20), requires=Role.VIEWER)
    async def label_values(
        self,
        info: Info,
        key: Annotated[str, strawberry.argument(description="The key.")],
        first: Annotated[int, strawberry.argument(description="At most so many values, 1 to 200.")] = DEFAULT_PAGE,
        after: Annotated[str | None, strawberry.argument(description="Only values behind this one.")] = None,
    ) -> list[LabelValue]:
        """The values that runs have for the key of a label, in their order, with how many runs have each."""
        for fault in key_faults(key, "key"):
            raise refused(str(fault))
        checked_range(first, "first", 1, MAX_PAGE)
        behind = checked_text(after or "", "after")[:MAX_VALUE]
        found = await info.context.database.read(stored.values, key, behind, first)
        most = stored.CAP
        return [LabelValue(value=one.value, runs=min(one.runs, most), more=one.runs > most) for one in found]
