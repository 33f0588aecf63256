"""Scripts written for SageMaker Profiler, in the shapes found in public code, run unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support import tmraw
from tests.support.recording import run

_IMPORTS = {
    "smprof": "import smprof",
    "smppy": "import smppy as smprof",
    "fallback": "try:\n    import smprof\nexcept ImportError:\n    import smppy as smprof",
    "from": "from smppy import SMProfiler, Config, annotate, annotation_begin, annotation_end\n"
    "import smppy as smprof",
}

_CONFIGURE = """
SMProf = smprof.SMProfiler.instance()
config = smprof.Config()
config.profiler = {"EnableCuda": "1"}
SMProf.configure(config)
"""

_PHASES = ["Forward", "Loss", "Backward", "Optimizer"]

_LOOP = """
def train(steps):
    for i in range(steps):
        with smprof.annotate("step_" + str(i)):
            for phase in ("Forward", "Loss"):
                with smprof.annotate(phase):
                    pass
            for phase in ("Backward", "Optimizer"):
                handle = smprof.annotation_begin(phase)
                smprof.annotation_end(handle)
"""


def _names(steps: int) -> list[str]:
    return [name for i in range(steps) for name in (f"step_{i}", *_PHASES)]


@pytest.mark.parametrize("style", _IMPORTS)
def test_configure_start_loop_stop(tmp_path: Path, style: str) -> None:
    code = f"{_IMPORTS[style]}\n{_CONFIGURE}{_LOOP}\nSMProf.start_profiling()\ntrain(4)\n"
    done = run(tmp_path, code + "SMProf.stop_profiling()\nprint('ok')")
    assert (done.stdout, done.stderr) == ("ok\n", "")
    segment = tmraw.read_one(tmp_path)
    assert segment.names() == _names(4)
    assert segment.meta["end_reason"] == "stopped"


def test_start_and_stop_once_per_epoch_with_restarting_steps(tmp_path: Path) -> None:
    code = f"""
{_IMPORTS["smprof"]}
{_CONFIGURE}{_LOOP}
for epoch in range(3):
    SMProf.start_profiling()
    train(2)
    SMProf.stop_profiling()
    with smprof.annotate("evaluation"):
        pass
"""
    run(tmp_path, code)
    assert [s.names() for s in tmraw.read_all(tmp_path)] == [_names(2)] * 3


def test_a_step_window_from_callbacks(tmp_path: Path) -> None:
    code = f"""
import os
os.environ["SMP_ENABLE_CUDA"] = "1"
{_IMPORTS["smprof"]}
class Callback:
    def on_train_begin(self):
        self.prof = smprof.SMProfiler.instance()
        config = smprof.Config()
        config.profiler = {{
            "EnableCuda": "1", "BucketCount": "32", "BucketSizeMB": "64",
            "Compression": "1000001", "EnablePerf": "0", "EnableForkFollow": "0",
            "RecordFile": "smpfile_%p_%t.raw",
        }}
        self.prof.configure(config)
    def on_batch_begin(self, batch):
        if batch == 3:
            self.prof.start_profiling()
        self.handle = smprof.annotation_begin(f"step_{{batch}}")
    def on_batch_end(self, batch):
        smprof.annotation_end(self.handle)
        if batch == 5:
            self.prof.stop_profiling()
callback = Callback()
callback.on_train_begin()
for batch in range(9):
    callback.on_batch_begin(batch)
    callback.on_batch_end(batch)
"""
    done = run(tmp_path, code)
    assert done.stderr == ""
    assert tmraw.read_one(tmp_path).names() == ["step_3", "step_4", "step_5"]


def test_started_early_and_never_stopped(tmp_path: Path) -> None:
    code = f"{_IMPORTS['smppy']}\n{_CONFIGURE}SMProf.start_profiling()\n{_LOOP}\ntrain(3)\n"
    run(tmp_path, code)
    segment = tmraw.read_one(tmp_path)
    assert segment.names() == _names(3)
    assert segment.meta["end_reason"] == "exit"


def test_training_and_evaluation_ranges_around_whole_calls(tmp_path: Path) -> None:
    code = f"""
{_IMPORTS["smppy"]}
{_CONFIGURE}
SMProf.start_profiling()
with smprof.annotate("Training"):
    pass
with smprof.annotate("Evaluation"):
    pass
SMProf.stop_profiling()
"""
    run(tmp_path, code)
    assert tmraw.read_one(tmp_path).names() == ["Training", "Evaluation"]


def test_ranks_are_processes_of_one_job(tmp_path: Path) -> None:
    code = f"{_IMPORTS['smprof']}\n{_CONFIGURE}SMProf.start_profiling()\n{_LOOP}\ntrain(1)\n"
    for rank in range(4):
        env: dict[str, Any] = {
            "SM_CURRENT_HOST": f"algo-{rank // 2 + 1}",
            "LOCAL_RANK": str(rank % 2),
        }
        run(tmp_path, code, RANK=str(rank), WORLD_SIZE="4", **env)
    metas = [segment.meta for segment in tmraw.read_all(tmp_path)]
    found = [(m["node"], m["rank"], m["local_rank"], m["world_size"]) for m in metas]
    assert sorted(found) == [(f"algo-{r // 2 + 1}", r, r % 2, 4) for r in range(4)]


def test_unknown_settings_give_one_warning(tmp_path: Path) -> None:
    code = f"""
{_IMPORTS["smprof"]}
config = smprof.Config()
config.profiler = {{"EnableCuda": "1", "NewKey": "7", "Other": "x", "max_steps": "2"}}
SMProf = smprof.SMProfiler.instance()
for _ in range(3):
    SMProf.configure(config)
assert smprof.SMProfiler.instance() is SMProf
SMProf.start_profiling()
for i in range(5):
    with smprof.annotate(f"step_{{i}}"):
        pass
"""
    done = run(tmp_path, code)
    assert done.stderr == "tracemill: settings without a meaning here are ignored: NewKey, Other\n"
    assert tmraw.read_one(tmp_path).names() == ["step_0", "step_1"]


@pytest.mark.parametrize(
    "config", ["None", "object()", "smprof.Config()", "type('C', (), {'profiler': 'text'})()"]
)
def test_odd_configurations_do_not_stop_the_script(tmp_path: Path, config: str) -> None:
    code = f"""
{_IMPORTS["smprof"]}
SMProf = smprof.SMProfiler.instance()
SMProf.stop_profiling()
smprof.annotation_end(smprof.annotation_begin("before"))
SMProf.configure({config})
SMProf.start_profiling()
SMProf.start_profiling()
with smprof.annotate("inside"):
    pass
SMProf.stop_profiling()
SMProf.stop_profiling()
"""
    run(tmp_path, code)
    assert tmraw.read_one(tmp_path).names() == ["inside"]


def test_a_bad_setting_is_said_and_the_script_goes_on(tmp_path: Path) -> None:
    code = f"""
{_IMPORTS["smprof"]}
config = smprof.Config()
config.profiler = {{"max_steps": "many"}}
SMProf = smprof.SMProfiler.instance()
SMProf.configure(config)
SMProf.start_profiling()
with smprof.annotate("x"):
    print("runs")
"""
    done = run(tmp_path, code)
    assert done.stdout == "runs\n"
    assert done.stderr.startswith("tracemill: recording was not started: option max_steps")


def test_the_record_file_names_the_folder_outside_a_container(tmp_path: Path) -> None:
    target = tmp_path / "profiles"
    code = f"""
import os
del os.environ["TRACEMILL_OUTPUT"]
{_IMPORTS["smprof"]}
config = smprof.Config()
config.profiler = {{"RecordFile": "{target}/smpfile_%p_%t.raw"}}
SMProf = smprof.SMProfiler.instance()
SMProf.configure(config)
SMProf.start_profiling()
with smprof.annotate("x"):
    pass
"""
    run(tmp_path, code)
    assert tmraw.read_one(target).names() == ["x"]
