"""A comparison as JSON: the model, exact values, stable keys."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from tracemill_schema import SCHEMA_VERSION

from tracemill_analysis.compare.model import Comparison


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as plain dictionaries and lists, ready for JSON."""
    return {"schema_version": SCHEMA_VERSION, **asdict(comparison)}


def render_json(comparison: Comparison) -> str:
    """Return the comparison as indented JSON."""
    document = comparison_document(comparison)
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
