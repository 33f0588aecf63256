"""Named queries: questions users ask, as SQL that Athena and DuckDB both run.

Each ``.sql`` file beside this module is one question: its leading comment lines are the question,
the rest is one SELECT over the declared tables of all jobs. Athena's workgroup, the app's Query
page and the documentation show the same text.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

QUERIES_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class NamedQuery:
    """One question with its SQL."""

    name: str
    question: str
    sql: str


def named_queries(folder: Path = QUERIES_FOLDER) -> list[NamedQuery]:
    """Read all named queries, in order of their names.

    ValueError names a file that does not begin with its question.
    """
    return [_parse(path) for path in sorted(folder.glob("*.sql"))]


def _parse(path: Path) -> NamedQuery:
    text = path.read_text(encoding="utf-8").strip()
    comment = [line[2:].strip() for line in text.splitlines() if line.startswith("--")]
    if not comment:
        raise ValueError(f"{path.name}: the first line must be a comment with the question")
    return NamedQuery(path.stem, " ".join(comment), text)
