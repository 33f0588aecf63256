"""Every shared trace, of whatever kind: it imports, or is refused in one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracemill_analysis.importers.discover import discover
from tracemill_analysis.pipeline.convert import convert_item
from tracemill_analysis.store import LocalStore
from tracemill_schema.vocab import DropReason

from tests.support import kineto as k
from tests.support.shared import shared_path, shared_root

_ROOT = shared_root() / "traces"
_FILES = sorted(str(p.relative_to(_ROOT)) for p in _ROOT.rglob("*") if p.is_file())
_DAMAGED = ("xprof/tpu_inference_2.utf8-mangled.xplane.pb.gz",)
_PERSONAL = ("host1", "user1", "job1", "/tmp/", "/zhang", "/private/home", "libkineto")


@pytest.mark.parametrize("name", _FILES)
def test_file_imports_or_is_refused_clearly(name: str, tmp_path: Path) -> None:
    path = shared_path(f"traces/{name}")
    found = discover([path])
    if found.rejected:
        ((source, message),) = found.rejected
        assert not found.items
        assert message.startswith(f"{path.name}: ") and "\n" not in message
        assert len(message) < 300 and source == path.name
        return

    for item in found.items:
        store = LocalStore(tmp_path / str(item.process_id))
        outcome = convert_item(store, k.JOB, item)
        result = outcome.process
        if result is None:
            assert name in _DAMAGED
            assert outcome.error is not None and outcome.error.startswith(f"{path.name}: ")
            continue

        assert k.adds_up(result)
        assert result.complete and result.events_kept > 0
        written = sum(k.arrow(store, table).num_rows for table in _SOURCE_TABLES)
        host_side = sum(r["side"] == "host" for r in k.rows(store, "syncs"))
        assert written - host_side == result.events_kept


@pytest.mark.parametrize(
    "name",
    [
        "hta/mtia_inference_trace__mtia_inference_rank_0.json.gz",
        "hta/with_gpu_user_annotation__step_based_trace_2543932.json.gz",
    ],
)
def test_job_metadata_is_not_stored(name: str, tmp_path: Path) -> None:
    result, _ = k.import_file(shared_path(f"traces/{name}"), tmp_path)

    files = sorted(tmp_path.rglob("*.parquet"))
    assert files
    texts = [path.read_bytes() for path in files] + [repr(result.device_name).encode()]
    assert result.item.node == "node-0"
    for word in _PERSONAL:
        assert not any(word.encode() in text for text in texts), word


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("param/linear_et.json.gz", "a PyTorch execution trace"),
        ("tracelens/rocprof__908_results.json.gz", "a rocprofv3 result"),
        ("chakra/chakra.0.json.gz", "a Chakra graph"),
        ("sagemaker-debugger/1591160699.algo-1.json", "SageMaker Debugger metrics"),
        ("sagemaker-debugger/horovod_timeline_small.json", "a Chrome trace, but with no event"),
        ("hta/memory_analysis__memory_timeline.raw.gz", "a JSON array that does not hold"),
        ("straggler-analysis/trace-ST.parquet", "a Parquet file"),
        ("jax-toolbox-nsys/proc0/files.parquet", "a Parquet file"),
    ],
)
def test_refusal_says_what_the_file_seems_to_be(name: str, meaning: str) -> None:
    ((_, message),) = discover([shared_path(f"traces/{name}")]).rejected
    assert meaning in message


def test_folder_with_foreign_files_gives_the_traces_and_reports_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "notes.md").write_text("# Notes")
    (folder / "empty.json").write_bytes(b"")
    source = shared_path("traces/hta/call_stack__backward_thread.json")
    (folder / "trace.json").write_bytes(source.read_bytes())

    found = discover([folder])

    assert [item.source_name for item in found.items] == ["trace.json"]
    assert found.rejected == (
        ("empty.json", "empty.json: the file is empty"),
        ("notes.md", "notes.md: not JSON, so not a Kineto trace"),
    )


def test_old_vintage_has_steps_and_links(tmp_path: Path) -> None:
    """2021: one category for operators and annotations, streams named 'stream 7'."""
    name = "samples__resnet50_num_workers_0__worker0.1623143089861.pt.trace.json.gz"
    _, store = k.import_file(shared_path(f"traces/kineto-tb_plugin/{name}"), tmp_path)

    steps = [r for r in k.rows(store, "annotations") if r["series"] == "ProfilerStep"]
    kernels = k.rows(store, "kernels")
    assert [step["index"] for step in steps] == sorted({r["step"] for r in kernels} - {None})
    assert {r["stream"] for r in kernels} == {7}
    assert all(r["launch_start_ns"] is not None for r in kernels)
    assert all(step["gpu_dur_ns"] > 0 for step in steps)


def test_collectives_from_metadata(tmp_path: Path) -> None:
    path = shared_path("traces/hta/nccl_parser_config__nccl_data.json.gz")
    result, store = k.import_file(path, tmp_path)

    collectives = k.rows(store, "collectives")
    assert [row["sequence"] for row in collectives] == list(range(21))
    assert [row["operation"] for row in collectives] == (["broadcast"] * 2 + ["all_reduce"] * 5) * 3
    broadcast, reduction = collectives[1], collectives[2]
    assert (broadcast["dtype"], broadcast["bytes"]) == ("Long", 8 * 53)
    assert (reduction["dtype"], reduction["bytes"]) == ("Float", 4 * 2_049_000)
    assert {(row["process_group"], row["group_size"]) for row in collectives} == {("0", 2)}
    assert result.world_size == 2
    assert result.item.rank == 0


def test_graph_launch_is_shared_by_its_kernels(tmp_path: Path) -> None:
    path = shared_path("traces/tracelens/inference__vllm_decode_full__graph_execution.json.gz")
    result, store = k.import_file(path, tmp_path)

    kernels = k.rows(store, "kernels")
    by_correlation: dict[int, list[int]] = {}
    for row in kernels:
        by_correlation.setdefault(row["correlation"], []).append(row["launch_start_ns"])
    biggest = max(by_correlation.values(), key=len)
    assert len(biggest) > 400 and len(set(biggest)) == 1
    assert DropReason.DUPLICATE_ID not in result.drops.counts


_SOURCE_TABLES = ("kernels", "memory_ops", "api_calls", "syncs", "annotations", "operators")
