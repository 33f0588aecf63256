"""GPU recording under the address and the thread sanitizer, driven by the stand-ins."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import sanitizers

# Records of three releases, several threads, fork, exit, what is late or refused. `make sanitize`
# runs the whole matrix this way.
RECORDS = "tests/sdk/test_gpu_records.py"
MATRIX = [
    *(f"{RECORDS}::test_records_of_every_cuda_release[{one}]" for one in ("11.7", "12.6", "13.5")),
    f"{RECORDS}::test_unfinished_untimed_and_foreign_records_are_counted",
    f"{RECORDS}::test_late_and_unordered_records",
    f"{RECORDS}::test_several_threads_and_many_records",
    "tests/sdk/test_nvml.py",
    "tests/sdk/test_gpu_faults.py::test_a_stalled_recorder_gives_up_whole_buffers_and_counts",
    "tests/sdk/test_gpu_faults.py::test_the_end_of_the_process_flushes",
    "tests/sdk/test_gpu_faults.py::test_a_second_recording_attaches_again",
]
# The thread sanitizer's runtime ends a forked child that starts a thread.
FORK = "tests/sdk/test_gpu_faults.py::test_a_forked_child_leaves_cupti_alone"


@pytest.mark.deep
@pytest.mark.skipif(shutil.which("setarch") is None, reason="no setarch here")
@pytest.mark.parametrize("sanitizer", sanitizers.SANITIZERS)
def test_gpu_recording_is_clean(sanitizer: str, tmp_path: Path) -> None:
    if shutil.which("g++") is None or sanitizers.library(sanitizer) is None:
        pytest.skip(f"no compiler with the {sanitizer} sanitizer here")
    sanitizers.build(sanitizer, tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x", *MATRIX]
    command += [FORK] if sanitizer == "address" else []
    done = subprocess.run(
        command,
        cwd=sanitizers.ROOT,
        env={**os.environ, sanitizers.VARIABLE: f"{sanitizer}:{tmp_path}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
