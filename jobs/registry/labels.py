"""``labels=`` and ``labels_from=`` of ``@job``: by which words the runs of a job are found."""

from collections.abc import Mapping
from typing import Any, cast

from ..core.admission.labels import MAX_LABELS, LabelRule, key_faults, label_faults
from ..core.base.errors import InvalidInput
from .unique_key import known_argument

_EXAMPLE = "labels_from=('customer_id',) or {'customer': 'customer_id'}"


def labels_of(fixed: object, taken: object, names: Mapping[str, str], schema: Mapping[str, Any]) -> LabelRule | None:
    """The labels that a job gives its runs; None = it gives none.

    Args:
        fixed: The value of ``labels=``.
        taken: The value of ``labels_from=``.
        names: The arguments by the names of their parameters, with those that they have in JSON.
        schema: The JSON Schema of the arguments.

    Raises:
        InvalidInput: these can be no labels.
        ValueError: they name no arguments of the job.
    """
    if fixed is None and taken is None:
        return None
    for fault in label_faults({} if fixed is None else fixed):
        raise fault
    constant = dict(cast("Mapping[str, str]", fixed or {}))
    pairs = _pairs(taken)
    for key in pairs:
        for fault in key_faults(key, "labels_from"):
            raise fault
    arguments = {key: known_argument("labels_from", name, names) for key, name in pairs.items()}
    twice = next((key for key in arguments if key in constant), None)
    if twice is not None:
        raise ValueError(f"labels_from: '{twice}' is among labels, too; give one of them another key")
    if len(constant) + len(arguments) > MAX_LABELS:
        got = len(constant) + len(arguments)
        raise InvalidInput(f"labels: must be at most {MAX_LABELS} labels, those of labels_from included, got {got}")
    rules: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    defaults = {name: rules[name]["default"] for name in arguments.values() if "default" in rules.get(name, {})}
    return LabelRule(constant, arguments, defaults)


def _pairs(taken: object) -> dict[str, str]:
    """By the keys of labels, the arguments that they are taken from, as they were given."""
    if taken is None:
        return {}
    given: dict[Any, Any]
    several: Any = taken
    if isinstance(taken, Mapping):
        given = {**several}
    elif isinstance(taken, list | tuple):
        names: tuple[Any, ...] = tuple(several)
        given = {one: one for one in names if isinstance(one, str)}
        if len(given) != len(names):
            raise ValueError(f"labels_from: must be names of arguments, each once, e.g. {_EXAMPLE}, got {taken!r:.60}")
    else:
        raise ValueError(f"labels_from: must be names of arguments, e.g. {_EXAMPLE}, got {taken!r:.60}")  # noqa: TRY004 - one fault among others
    wrong = next((value for value in given.values() if not isinstance(value, str)), None)
    if wrong is not None:
        raise ValueError(f"labels_from: must be names of arguments, e.g. {_EXAMPLE}, got {wrong!r:.60}")
    return given
