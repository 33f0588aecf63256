"""Write the files derived from ``schema/`` and from the stacks' grants, options and sizes; with
``--check`` only say which are stale."""

from __future__ import annotations

import sys
from pathlib import Path

from tracemill_schema.tables import TABLES
from tracemill_schema.targets import cpp_header, duckdb, markdown, sdk_python

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # infra is no distribution: it is only run from here.


def outputs() -> dict[Path, str]:
    """Path of each generated file with the text it must have."""
    from infra import pages

    return {
        **pages.pages(),
        ROOT / "sdk/native/generated/records.hpp": cpp_header.render(),
        ROOT / "sdk/src/tracemill/_generated.py": sdk_python.render(),
        ROOT / "docs/tables.md": markdown.tables_page(),
        ROOT / "docs/options.md": markdown.options_page(),
        ROOT / "docs/raw-kinds.md": markdown.raw_kinds_page(),
        ROOT / "docs/tables.sql": "".join(duckdb.create_table(table) for table in TABLES),
    }


def main(arguments: list[str]) -> int:
    """Return 0 if everything is (now) up to date, 1 if ``--check`` found a stale file."""
    check = "--check" in arguments
    stale = [
        (path, text)
        for path, text in outputs().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in stale:
        print(f"{'stale' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if check and stale:
        print("run: make gen")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
