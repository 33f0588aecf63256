"""Windows of steps in which annotations are captured."""

from __future__ import annotations

from dataclasses import dataclass

from tracemill._guard import UsageError


@dataclass(frozen=True)
class Schedule:
    """Capture ``active`` steps after ``warmup`` uncaptured ones, ``repeat`` times (0: for ever).

    ``skip`` steps at the beginning belong to no cycle. All are numbers of steps.
    """

    skip: int = 0
    warmup: int = 0
    active: int = 1
    repeat: int = 0

    def as_tuple(self) -> tuple[int, int, int, int]:
        """The four numbers in the order of the fields."""
        return (self.skip, self.warmup, self.active, self.repeat)


def schedule(*, skip: int = 0, warmup: int = 0, active: int = 1, repeat: int = 0) -> Schedule:
    """Make a schedule for ``start`` or ``profile``; a step begins with ``step(i)`` or ``step_<i>``.

    Raises ValueError if a number is not a whole one, is negative, or ``active`` is 0.
    """
    numbers = {"skip": skip, "warmup": warmup, "active": active, "repeat": repeat}
    for name, number in numbers.items():
        least = 1 if name == "active" else 0
        whole = isinstance(number, int) and not isinstance(number, bool)
        if not whole or not least <= number < 2**40:
            raise UsageError(
                f"schedule: {name} must be a whole number from {least}, not {number!r}"
            )
    return Schedule(skip, warmup, active, repeat)
