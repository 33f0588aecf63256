"""A disk that takes nothing: memory stays bounded and every lost event is counted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.sdk.fake_cuda.run import record

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")

CODE = """
import resource
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
f = Fakes()
start(gpu_buffer_bytes=4 << 20, ring_events=1024)
f.attach()
open(os.environ["STALL"], "w").close()
sizes = []
for batch in range(30):
    f.launch_like_training(batch * 5000, 5000, time.monotonic_ns() - 1_000_000_000)
    for i in range(200):
        with tracemill.annotate("work"):
            pass
    sizes.append(resident())
    time.sleep(0.01)
os.unlink(os.environ["STALL"])
tracemill.stop()
print(json.dumps([sizes[4], sizes[-1]]))
"""


def test_a_stalled_disk(tmp_path: Path, fakes: Path) -> None:
    stall, library = tmp_path / "stall", fakes / "libstall.so"
    done, segment = record(tmp_path, fakes, CODE, STALL=str(stall), LD_PRELOAD=str(library))
    early, late = (int(word) for word in done.stdout.strip("[]\n").split(","))
    # 40 MB of records came in between, into 4 MB of buffers that were full by then.
    assert late - early < 6_000_000
    drops = segment.drops()
    kept = {kind: len(segment.rows[kind]) for kind in ("kernels", "api_calls", "annotations")}
    assert kept["kernels"] + kept["api_calls"] + drops["gpu_buffer_full"] == 2 * 150_000
    assert kept["annotations"] + drops["ring_full"] == 30 * 200
    assert set(drops) == {"gpu_buffer_full", "ring_full"}
