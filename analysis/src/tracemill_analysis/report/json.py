"""The report as JSON: the model, exact values, stable keys."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from tracemill_schema import SCHEMA_VERSION

from tracemill_analysis.report.model import Report


def render_json(report: Report) -> str:
    """Return the report as indented JSON; a number that JSON cannot write becomes null."""
    model = {"schema_version": SCHEMA_VERSION, **asdict(report)}
    return json.dumps(_plain(model), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
