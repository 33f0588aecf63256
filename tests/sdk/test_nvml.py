"""The node's GPUs through NVML: every reading, one sampler per node, only where CUDA is used."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tracemill_schema.metrics import METRIC_BY_ID, Scope

from tests.sdk.fake_cuda.run import record, record_all
from tests.support import tmraw

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")

SAMPLE = """
f = Fakes("", nvml=True)
start(nvml_interval_ms=50)
{before}
time.sleep(0.6)
tracemill.stop()
print(f.nvml.fake_nvml_open(), f.nvml.fake_nvml_refusals())
"""


def _last(segment: tmraw.Segment) -> dict[tuple[str, int], int]:
    return {
        (METRIC_BY_ID[row["metric_id"]].name, row["index"]): row["value"]
        for row in segment.rows.get("samples", [])
        if METRIC_BY_ID[row["metric_id"]].scope is Scope.GPU
    }


def test_every_reading(tmp_path: Path, fakes: Path) -> None:
    done, segment = record(tmp_path, fakes, SAMPLE.format(before=""), TMPDIR=str(tmp_path))
    assert _last(segment) == {
        ("gpu_busy_percent", 0): 87,
        ("gpu_busy_percent", 1): 87,
        ("gpu_memory_busy_percent", 0): 43,
        ("gpu_memory_busy_percent", 1): 43,
        ("gpu_memory_used_bytes", 0): 20 << 30,
        ("gpu_memory_used_bytes", 1): (20 << 30) + 1,
        ("gpu_memory_total_bytes", 0): 80 << 30,
        ("gpu_memory_total_bytes", 1): 80 << 30,
        ("gpu_power_mw", 0): 345678,
        ("gpu_energy_mj", 0): 5_000_000_000,
        ("gpu_sm_clock_mhz", 0): 1980,
        ("gpu_memory_clock_mhz", 0): 2619,
        ("gpu_temperature_c", 0): 61,
        ("gpu_throttle_reasons", 0): 0x24,
        ("gpu_pcie_transmit_bytes", 0): 197_000,
        ("gpu_pcie_receive_bytes", 0): 198_000,
        ("gpu_nvlink_transmit_bytes", 0): 7 * 1024,
    }
    times = sorted({row["time_ns"] for row in segment.rows["samples"] if row["metric_id"] == 40})
    assert 6 <= len(times) <= 14
    assert segment.meta["nvml_devices"] == [
        {"index": 0, "name": "Fake GPU 0", "uuid": "GPU-0"},
        {"index": 1, "name": "Fake GPU 1", "uuid": "GPU-1"},
    ]
    # Shut down again; the seven readings the second device lacks were asked for once each.
    assert done.stdout.split() == ["0", "7"]


def test_a_failing_nvml_is_a_notice(tmp_path: Path, fakes: Path) -> None:
    code = SAMPLE.format(before="f.nvml.fake_nvml_init_result(9)").replace(
        "start(", "f.nvml.fake_nvml_init_result(9)\nstart("
    )
    done, segment = record(tmp_path, fakes, code, TMPDIR=str(tmp_path))
    assert _last(segment) == {}
    assert "GPU use is not sampled: nvmlInit failed with 9" in segment.meta["notices"]
    assert done.stderr == ""


def test_one_process_of_the_node_samples(tmp_path: Path, fakes: Path) -> None:
    code = """
import subprocess
f = Fakes("", nvml=True)
start(nvml_interval_ms=50)
time.sleep(0.3)
if len(sys.argv) == 1:
    subprocess.run([sys.executable, sys.argv[0], "second"], check=True)
tracemill.stop()
"""
    _, segments = record_all(tmp_path, fakes, code, TMPDIR=str(tmp_path))
    assert sorted(bool(_last(segment)) for segment in segments) == [False, True]


def test_a_process_without_cuda_does_not_load_nvml(tmp_path: Path, fakes: Path) -> None:
    code = """
start(nvml_interval_ms=50)
time.sleep(0.3)
tracemill.stop()
print("nvidia-ml" in open("/proc/self/maps").read())
"""
    done, segment = record(tmp_path, fakes, code, TMPDIR=str(tmp_path))
    assert done.stdout == "False\n"
    assert _last(segment) == {}


@pytest.mark.parametrize("options", ["nvml_interval_ms=0", "gpu=False"])
def test_off_by_option(options: str, tmp_path: Path, fakes: Path) -> None:
    code = f"""
f = Fakes("", nvml=True)
start({options})
time.sleep(0.3)
tracemill.stop()
"""
    _, segment = record(tmp_path, fakes, code, TMPDIR=str(tmp_path))
    assert _last(segment) == {}
