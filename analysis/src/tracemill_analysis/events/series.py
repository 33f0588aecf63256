"""Folds the numbered names of annotations into series: ``step_12`` is number 12 of ``step``."""

from __future__ import annotations

import re
from functools import lru_cache

STEP_SERIES = ("step", "ProfilerStep")
"""Series that mark training steps. The first of these that a process has counts for it."""

_NUMBERED = re.compile(r"(?s)(.+)[_#](\d{1,18})")


@lru_cache(maxsize=65_536)
def fold(name: str) -> tuple[str, int | None]:
    """Return the series of a name and its trailing number.

    >>> fold("step_12"), fold("ProfilerStep#12"), fold("forward")
    (('step', 12), ('ProfilerStep', 12), ('forward', None))
    """
    match = _NUMBERED.fullmatch(name)
    return (match.group(1), int(match.group(2))) if match else (name, None)
