"""Recording a running job when a file or a signal asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest
import tracemill

from tests.support import tmraw
from tests.support.recording import run

WORK = """
import os, signal, sys, time
import tracemill
from tracemill import _on_demand
_on_demand.POLL_S = 0.02
def work(name, until):
    deadline = time.monotonic() + 60
    while not until():
        assert time.monotonic() < deadline
        with tracemill.annotate(name):
            time.sleep(0.005)
    with tracemill.annotate(name):
        pass
"""


def _recordings(folder: Path) -> list[tmraw.Segment]:
    return sorted(tmraw.read_all(folder / "store"), key=lambda s: s.meta["segment"])


def test_a_file_asks_for_recordings(tmp_path: Path) -> None:
    code = """
tracemill.start()
work("before", lambda: True)
for name in ("first", "second"):
    open("on", "w").close()
    work("waiting", tracemill.is_recording)
    work(name, lambda: True)
    os.unlink("on")
    work("ending", lambda: not tracemill.is_recording())
work("between", lambda: True)
print(tracemill.status()["recording"])
"""
    done = run(tmp_path, WORK + code, TRACEMILL_CONTROL_FILE=str(tmp_path / "on"))
    assert (done.stdout, done.stderr) == ("False\n", "")
    first, second = _recordings(tmp_path)
    for segment, name, other in ((first, "first", "second"), (second, "second", "first")):
        assert name in segment.names()
        assert not {other, "before", "between"} & set(segment.names())
        assert (segment.meta["asked_by"], segment.meta["end_reason"]) == ("file", "stopped")
    assert first.meta["job"] == second.meta["job"]


def test_a_signal_asks_for_recordings(tmp_path: Path) -> None:
    code = """
seen = []
signal.signal(signal.SIGUSR2, lambda number, frame: seen.append(number))
tracemill.start(control_signal="usr2")
work("before", lambda: True)
os.kill(os.getpid(), signal.SIGUSR2)
work("waiting", tracemill.is_recording)
work("asked for", lambda: True)
os.kill(os.getpid(), signal.SIGUSR2)
work("ending", lambda: not tracemill.is_recording())
os.kill(os.getpid(), signal.SIGUSR2)
work("waiting", tracemill.is_recording)
print(seen == [signal.SIGUSR2] * 3)
"""
    done = run(tmp_path, WORK + code)
    assert (done.stdout, done.stderr) == ("True\n", "")
    first, second = _recordings(tmp_path)
    assert "asked for" in first.names()
    assert "before" not in first.names()
    assert (first.meta["asked_by"], first.meta["end_reason"]) == ("signal", "stopped")
    assert second.meta["end_reason"] == "exit"


def test_stop_ends_the_control_too(tmp_path: Path) -> None:
    (tmp_path / "on").touch()
    code = """
tracemill.start(control_file="on")
assert tracemill.is_recording()
tracemill.stop()
time.sleep(0.2)
print(tracemill.is_recording())
"""
    assert run(tmp_path, WORK + code).stdout == "False\n"
    assert len(_recordings(tmp_path)) == 1


def test_no_such_signal() -> None:
    with pytest.raises(ValueError, match="'SIGNAL' is no signal that can be taken"):
        tracemill.start(control_signal="SIGNAL")
