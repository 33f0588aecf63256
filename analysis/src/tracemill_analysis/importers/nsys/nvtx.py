"""What the texts of NVTX ranges say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

PUSH_POP, START_END = 59, 60
MARK, DOMAIN = 34, 75
RANGES = (PUSH_POP, START_END)

_OPERATOR = re.compile(
    r"(?s)(?P<name>.+?)(?:, seq = \d+)?, op_id = \d+(?:, sizes = (?P<shapes>\[.*?\])"
    r"(?:, input_op_ids = .*)?)?"
)
_SEQUENCE = re.compile(r"(?s)(?P<name>.+?), seq = \d+(?:, sizes = (?P<shapes>\[.*\]))?")
_THUNK = re.compile(r"TSL:Thunk:#(?:name=(?P<module>[^#]*),)?hlo_op=(?P<name>[^#,]+)#")


@dataclass(frozen=True)
class Operator:
    """A framework operator that its range names."""

    name: str
    category: str
    shapes: str | None = None
    module: str | None = None


@lru_cache(maxsize=65_536)
def operator(text: str) -> Operator | None:
    """Return the operator if a framework wrote the range for one, else None: a user's range.

    >>> operator("aten::mm, op_id = 12, sizes = [[2, 3], [3, 4]]")
    Operator(name='aten::mm', category='nvtx', shapes='[[2, 3], [3, 4]]', module=None)
    >>> operator("TSL:Thunk:#name=pjit(step)/jit(main),hlo_op=fusion.3#").name
    'fusion.3'
    >>> operator("forward")
    """
    for rule in (_OPERATOR, _SEQUENCE):
        if match := rule.fullmatch(text):
            return Operator(match["name"], "nvtx", match["shapes"] or None)
    if match := _THUNK.fullmatch(text):
        return Operator(match["name"], "hlo", None, match["module"] or None)
    return None
