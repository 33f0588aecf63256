"""Read the Parquet files of real profiles with DuckDB, pyarrow and PySpark and compare.

PySpark (over 300 MB, needs Java 17) is installed into an environment of its own, which is kept:

  python tools/check_readers.py [--env DIR] [--store DIR]

Without --store the traces in TRACEMILL_SHARED (else ../shared) are imported first. Compared for
every file: rows; per column the number of nulls, the sum of integers (exact, as decimals) and of
doubles, the trues of booleans, the total length of texts. Exit code 1 if readers disagree.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tracemill_analysis.pipeline import import_traces
from tracemill_analysis.store import LocalStore

ROOT = Path(__file__).resolve().parent.parent
PYSPARK = "pyspark==4.0.1"
TRACES = {
    "dlrm": "traces/param/dlrm_8rank",
    "nccl": "traces/hta/nccl_parser_config__nccl_data.json.gz",
    "resnet": "traces/kineto-tb_plugin/samples__resnet50_num_workers_0__worker0.1623143089861"
    ".pt.trace.json.gz",
}
DOUBLE_TOLERANCE = 1e-12
"""Sums of doubles depend on the order of adding."""

Facts = dict[str, list[Any]]
"""Per column: nulls, and its sum (decimal text, or float)."""

SPARK_SCRIPT = """
import json, sys
from pyspark.sql import SparkSession, functions as F
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.driver.memory", "1g").config("spark.sql.session.timeZone", "UTC")
         .config("spark.sql.parquet.enableVectorizedReader", sys.argv[2]).getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
for path in json.load(open(sys.argv[1])):
    frame = spark.read.parquet(path)
    asked = [F.count(F.lit(1)).alias("rows")]
    for name, kind in frame.dtypes:
        column = F.col(f"`{name}`")
        asked.append(F.sum(column.isNull().cast("bigint")).alias(f"n {name}"))
        if kind in ("int", "bigint"):
            value = F.sum(column.cast("decimal(38,0)")).cast("string")
        elif kind == "double":
            value = F.sum(column)
        elif kind == "boolean":
            value = F.sum(column.cast("bigint")).cast("string")
        elif kind == "string":
            value = F.sum(F.length(column)).cast("string")
        else:
            raise SystemExit(f"{path}: column {name} has the type {kind}")
        asked.append(value.alias(f"s {name}"))
    row = frame.agg(*asked).collect()[0].asDict()
    found = {name: [row[f"n {name}"], row[f"s {name}"]] for name, _ in frame.dtypes}
    print(json.dumps({"path": path, "rows": row["rows"], "columns": found}))
"""


def by_pyarrow(path: Path) -> tuple[int, Facts]:
    """Read a file with pyarrow."""
    table = pq.ParquetFile(path).read()
    facts: Facts = {}
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_string(column.type):
            total = pc.sum(pc.utf8_length(column)).as_py()
        elif pa.types.is_integer(column.type):
            total = sum(value for value in column.to_pylist() if value is not None)
            total = None if column.null_count == len(column) else total
        else:
            total = pc.sum(column).as_py()
        floating = pa.types.is_floating(column.type)
        facts[name] = [column.null_count, _text(total, floating)]
    return table.num_rows, facts


def by_duckdb(path: Path) -> tuple[int, Facts]:
    """Read a file with DuckDB."""
    source = f"read_parquet('{path}', hive_partitioning = false)"
    described = duckdb.sql(f"DESCRIBE SELECT * FROM {source}").fetchall()
    asked = ["count(*)"]
    for name, kind, *_ in described:
        value = {"VARCHAR": f'length("{name}")', "BOOLEAN": f'"{name}"::BIGINT'}.get(
            kind, f'"{name}"'
        )
        asked += [f'count(*) - count("{name}")', f"sum({value})"]
    rows, *values = duckdb.sql(f"SELECT {', '.join(asked)} FROM {source}").fetchall()[0]
    return rows, {
        name: [values[2 * i], _text(values[2 * i + 1], kind == "DOUBLE")]
        for i, (name, kind, *_) in enumerate(described)
    }


def by_pyspark(
    python: Path, paths: list[Path], *, vectorized: bool
) -> dict[Path, tuple[int, Facts]]:
    """Read all files with PySpark in its own environment."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "paths.json").write_text(json.dumps([str(path) for path in paths]))
        (folder / "read.py").write_text(SPARK_SCRIPT)
        done = subprocess.run(
            [python, folder / "read.py", folder / "paths.json", str(vectorized).lower()],
            capture_output=True, text=True, check=False,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        )  # fmt: skip
    if done.returncode:
        sys.exit(f"PySpark failed:\n{done.stderr[-3000:]}")
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {Path(one["path"]): (one["rows"], one["columns"]) for one in found}


def _text(total: Any, floating: bool) -> Any:
    if total is None or floating:
        return total
    return str(int(Decimal(str(total))) if not isinstance(total, int) else total)


def differences(expected: tuple[int, Facts], found: tuple[int, Facts]) -> list[str]:
    """Return the columns that differ."""
    if expected[0] != found[0] or expected[1].keys() != found[1].keys():
        return [f"rows {expected[0]} and {found[0]}, or other columns"]
    different = []
    for name, (nulls, total) in expected[1].items():
        other_nulls, other = found[1][name]
        if isinstance(total, float) and isinstance(other, float):
            same = abs(total - other) <= DOUBLE_TOLERANCE * max(abs(total), abs(other), 1e-300)
        else:
            same = total == other
        if nulls != other_nulls or not same:
            different.append(f"{name}: {nulls}, {total} and {other_nulls}, {other}")
    return different


def pyspark_python(env: Path) -> Path:
    """Return the Python of the environment with PySpark, making it if there is none."""
    python = env / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", env], check=True)
    has = subprocess.run([python, "-c", "import pyspark"], capture_output=True, check=False)
    if has.returncode:
        print(f"installing {PYSPARK} into {env}", flush=True)
        subprocess.run([env / "bin" / "pip", "install", "-q", PYSPARK], check=True)
    return python


def imported(folder: Path) -> LocalStore:
    """Import the real traces into a store."""
    shared = Path(os.environ.get("TRACEMILL_SHARED") or ROOT.parent / "shared")
    store = LocalStore(folder)
    for job, trace in TRACES.items():
        import_traces(store, job, [shared / trace], replace=True)
    return store


def check(store: Path, env: Path) -> int:
    """Compare the readers on every file of a store; return the number of files that differ."""
    paths = sorted((store / "tables").rglob("*.parquet"))
    if not paths:
        sys.exit(f"{store}: no Parquet files")
    python = pyspark_python(env)
    readers = {
        "DuckDB": {path: by_duckdb(path) for path in paths},
        "PySpark": by_pyspark(python, paths, vectorized=True),
        "PySpark, row by row": by_pyspark(python, paths, vectorized=False),
    }
    rows = columns = failed = 0
    for path in paths:
        expected = by_pyarrow(path)
        rows, columns = rows + expected[0], columns + len(expected[1])
        for reader, found in readers.items():
            for line in differences(expected, found.get(path, (-1, {}))):
                failed += 1
                print(f"{path.relative_to(store)}: pyarrow and {reader} differ: {line}")
    tables = len({path.relative_to(store).parts[1] for path in paths})
    print(
        f"{len(paths)} files of {tables} tables, {rows:,} rows, {columns:,} columns: pyarrow and "
        f"{', '.join(readers)} {'DIFFER' if failed else 'agree'}"
    )
    return failed


def main() -> int:
    """Parse the arguments and check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, help="a store to read; default: real traces")
    parser.add_argument("--env", type=Path, default=ROOT / "build" / "pyspark")
    options = parser.parse_args()
    if options.store is not None:
        return 1 if check(options.store, options.env) else 0
    with tempfile.TemporaryDirectory() as folder:
        imported(Path(folder))
        return 1 if check(Path(folder), options.env) else 0


if __name__ == "__main__":
    sys.exit(main())
