from __future__ import annotations

import re

import duckdb
from tracemill_schema import metrics, options, raw
from tracemill_schema.columns import Kind
from tracemill_schema.tables import TABLE_BY_NAME, TABLES
from tracemill_schema.targets import cpp_header, glue, markdown, sdk_python
from tracemill_schema.targets import duckdb as ddl
from tracemill_schema.vocab import DropReason

UNIT_SUFFIXES = {"_ns": "ns", "bytes": "bytes"}


def test_table_and_column_names_are_unique_and_lower_snake_case() -> None:
    assert len(TABLE_BY_NAME) == len(TABLES)
    for table in TABLES:
        assert len(set(table.column_names)) == len(table.columns), table.name
        for name in (table.name, *table.column_names):
            assert re.fullmatch(r"[a-z][a-z0-9_]*", name), f"{table.name}.{name}"


def test_sort_columns_exist() -> None:
    for table in TABLES:
        assert set(table.sort) <= set(table.column_names), table.name


def test_times_and_sizes_are_integers_with_their_unit() -> None:
    for table in TABLES:
        for column in table.columns:
            for suffix, unit in UNIT_SUFFIXES.items():
                if column.name.endswith(suffix) and column.name != "mean_ns":
                    assert column.kind is Kind.INT64, f"{table.name}.{column.name}"
                    assert column.unit == unit, f"{table.name}.{column.name}"


def test_the_contract_of_time_breakdown() -> None:
    names = TABLE_BY_NAME["time_breakdown"].column_names
    assert {
        "rank", "device", "window_kind", "window_ns", "busy_ns", "idle_ns", "compute_ns", "comm_ns",
        "mem_ns", "overlap_ns", "exposed_comm_ns", "gpu_events",
    } <= set(names)  # fmt: skip


def test_duckdb_takes_every_declaration() -> None:
    connection = duckdb.connect()
    for table in TABLES:
        connection.execute(ddl.create_table(table))
        columns = [d[0] for d in connection.execute(ddl.empty_select(table)).description]
        assert columns == ["job_name", *table.column_names]


def test_glue_columns_follow_the_declaration() -> None:
    columns = glue.glue_columns(TABLE_BY_NAME["samples"])
    assert columns[-1] == {
        "Name": "value",
        "Type": "double",
        "Comment": "value; cumulative metrics only grow",
    }
    assert [c["Name"] for c in columns] == list(TABLE_BY_NAME["samples"].column_names)


def test_every_table_column_option_metric_and_reason_is_documented() -> None:
    page = markdown.tables_page()
    for table in TABLES:
        assert f"### `{table.name}`" in page
        for column in table.columns:
            assert f"| `{column.name}` |" in page
            assert column.doc
    assert all(f"`{reason}`" in page for reason in DropReason)
    assert all(f"`{metric.name}`" in page for metric in metrics.METRICS)
    assert all(f"`{option.env}`" in markdown.options_page() for option in options.OPTIONS)
    assert all(f"`{kind.name}`" in markdown.raw_kinds_page() for kind in raw.RAW_KINDS)


def test_raw_ids_are_unique_and_frozen() -> None:
    assert {kind.name: kind.id for kind in raw.RAW_KINDS} == {
        "meta": 1,
        "strings": 2,
        "clock": 3,
        "annotations": 4,
        "open_annotations": 5,
        "samples": 6,
        "drops": 7,
        "capture": 8,
        "gpu_tracks": 20,
        "gpu_signatures": 21,
        "kernels": 22,
        "graph_runs": 23,
        "memcpys": 24,
        "memsets": 25,
        "api_calls": 26,
        "gpu_syncs": 27,
        "gpu_overheads": 28,
    }
    assert raw.FRAME.size == 48
    assert len({metric.id for metric in metrics.METRICS}) == len(metrics.METRICS)


def test_the_sdk_module_carries_all_options() -> None:
    namespace: dict[str, object] = {}
    exec(sdk_python.render(), namespace)
    carried = namespace["OPTIONS"]
    assert isinstance(carried, dict)
    assert carried["max_steps"][:3] == ("TRACEMILL_MAX_STEPS", int, 300)
    assert set(carried) == set(options.OPTION_BY_NAME)


def test_the_header_names_every_metric_once() -> None:
    text = cpp_header.render()
    for metric in metrics.METRICS:
        assert text.count(f" = {metric.id},\n") >= 1
    assert "constexpr std::size_t kAnnotationsColumns = 6;" in text
