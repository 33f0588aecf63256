from __future__ import annotations

import statistics
from pathlib import Path

from tests.support.recording import run

_CODE = """
import os, sys, time
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
modules = set(sys.modules)
memory, begin = resident(), time.perf_counter()
import tracemill
end = time.perf_counter()
print(end - begin, resident() - memory, *sorted(set(sys.modules) - modules))
"""


def test_import_is_cheap_and_loads_nothing_else(tmp_path: Path) -> None:
    times, sizes = [], []
    for _ in range(5):
        seconds, memory, *modules = run(tmp_path, _CODE).stdout.split()
        times.append(float(seconds))
        sizes.append(int(memory))
        assert set(modules) <= {"tracemill", "tracemill._native", "__future__"}
    assert statistics.median(times) < 0.030
    assert statistics.median(sizes) < 10 * 1024 * 1024
