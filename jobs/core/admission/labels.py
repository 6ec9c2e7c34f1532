"""Labels: up to 16 pairs of words by which runs are found; their rules, and the labels that a run gets."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self, cast

from ..base.errors import InvalidInput
from ..base.times import number_text

MAX_LABELS: Final = 16
"""Labels of one job, task or run."""
MAX_KEY: Final = 63
MAX_VALUE: Final = 200
_KEY: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?")


def label_faults(labels: object, name: str = "labels") -> Iterator[InvalidInput]:
    """Yield the faults of labels.

    Args:
        labels: The given value.
        name: The field's name where it was given.
    """
    if not isinstance(labels, Mapping):
        yield InvalidInput(f"{name}: must be a mapping of keys to values, got {labels!r:.60}", path=(name,))
        return
    given = cast("Mapping[object, object]", labels)
    if len(given) > MAX_LABELS:
        yield InvalidInput(f"{name}: must be at most {MAX_LABELS} labels, got {len(given)}", path=(name,))
    for key, value in given.items():
        yield from key_faults(key, name)
        yield from value_faults(value, str(key)[:MAX_KEY], name)


def key_faults(key: object, name: str = "labels") -> Iterator[InvalidInput]:
    """Yield the faults of the key of a label."""
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        yield InvalidInput(
            f"{name}: a key must have 1 to {MAX_KEY} letters, digits, '.', '_', '-' and '/', and begin and end with a "
            f"letter or digit, got {key!r:.80}",
            path=(name,),
        )


def value_faults(value: object, key: str, name: str = "labels") -> Iterator[InvalidInput]:
    """Yield the faults of the value of a label."""
    place = f"{name}.{key}"
    if not isinstance(value, str):
        yield InvalidInput(
            f"{place}: must be a text, got {value!r:.60}; write '{key}': '{value!s:.60}'", path=(name, key)
        )
    elif not 1 <= len(value) <= MAX_VALUE:
        got = number_text(len(value))
        yield InvalidInput(f"{place}: must have 1 to {MAX_VALUE} characters, got {got}", path=(name, key))
    elif not value.isprintable():
        yield InvalidInput(f"{place}: must not contain control characters, got {value!r:.60}", path=(name, key))


@dataclass(frozen=True, slots=True)
class LabelRule:
    """The labels that a job gives its runs.

    Attributes:
        fixed: Those that all of them get.
        arguments: By the key of a label, the argument that is its value, by its name in JSON.
        defaults: The arguments that may be left out, with their defaults.
    """

    fixed: Mapping[str, str] = field(default_factory=dict[str, str])
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read a published form."""
        return cls(**stored)

    def to_json(self) -> dict[str, Any]:
        """Return the published form, without unset fields."""
        return {name: dict(value) for name, value in asdict(self).items() if value}

    def of(
        self, args: Mapping[str, Any], given: Mapping[str, str] | None = None, unknown: Collection[str] = ()
    ) -> dict[str, str]:
        """Return the labels of a run with these arguments, without those of arguments that are not known yet.

        Labels in ``given`` come before those of the job.

        Raises:
            InvalidInput: an argument can be no label, or there are too many.
        """
        made: dict[str, str] = dict(self.fixed)
        for key, argument in self.arguments.items():
            if argument in unknown:
                continue
            text = _text(args.get(argument, self.defaults.get(argument)), argument)
            if text is not None:
                made[key] = text
        made |= given or {}
        for fault in label_faults(made):
            raise fault
        return made

    def after_edit(
        self, labels: Mapping[str, str], args: Mapping[str, Any], unknown: Collection[str] = ()
    ) -> dict[str, str]:
        """Return the labels of a run that gets other arguments: those that are taken from arguments are taken again.

        Raises:
            InvalidInput: see ``of``.
        """
        kept = {key: value for key, value in labels.items() if key not in self.arguments}
        return self.of(args, kept, unknown)

    def without(self, labels: Mapping[str, str], args: Mapping[str, Any], unknown: Collection[str]) -> dict[str, str]:
        """Return the labels of a run without those that followed from arguments that are not known any more."""
        stale = {key: value for key, value in self._from(args) if self.arguments[key] in unknown}
        return {key: value for key, value in labels.items() if stale.get(key) != value}

    def faults(
        self, args: Mapping[str, Any], given: Mapping[str, str] | None = None, unknown: Collection[str] = ()
    ) -> Iterator[InvalidInput]:
        """Yield the faults for which a run with these arguments cannot have its labels."""
        try:
            self.of(args, given, unknown)
        except InvalidInput as fault:
            yield fault

    def as_far_as_possible(self, args: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
        """Return the labels of a scheduled occurrence, which must not be lost: values that can be no label drop out."""
        made = dict(given)
        for key, value in (*self._from(args), *self.fixed.items()):
            if len(made) < MAX_LABELS and not any(value_faults(value, key)):
                made.setdefault(key, value)
        return made

    def _from(self, args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        for key, argument in self.arguments.items():
            value = args.get(argument, self.defaults.get(argument))
            if not isinstance(value, list | dict) and (text := _text(value, argument)) is not None:
                yield key, text


def inherited(parent: Mapping[str, str] | None, own: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return the labels of a run that another run creates: its own, then its creator's as far as there is room."""
    if not parent:
        return dict(own) if own else None
    merged = dict(own or {})
    for key, value in parent.items():
        if len(merged) < MAX_LABELS:
            merged.setdefault(key, value)
    return merged


def _text(value: object, argument: str) -> str | None:
    """Return an argument as the value of a label; None = it has none.

    Raises:
        InvalidInput: it is a list or an object, or too long.
    """
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if not isinstance(value, str | int | float):
        raise InvalidInput(
            f"args.{argument}: is a label of the run (labels_from), so it must be a text, a number or a truth value, "
            f"got {value!r:.60}",
            path=("args", argument),
        )
    return str(value)
