"""The three lines that open every report."""

from __future__ import annotations

from pathlib import Path

from tracemill_analysis.findings import JobTables, evaluate
from tracemill_analysis.report import verdict

from tests.support.aggregates import MS, gpu_window, job_with, processes, series, steps
from tests.support.tables import JOB, Row


def _verdict(folder: Path, **tables: list[Row]) -> tuple[str, str, str]:
    tables.setdefault("processes", processes())
    read = JobTables(job_with(folder, **tables), JOB)
    return verdict(read, evaluate(read))


def test_a_run_without_gpus(tmp_path: Path) -> None:
    lengths, gaps = [51 * MS] * 40, [int(7.5 * MS)] * 40
    lengths[23] = 412 * MS
    gaps[30:34] = [150 * MS] * 4
    lines = _verdict(
        tmp_path,
        step_summary=steps(lengths, gaps_ns=gaps, gap_inputs_ns=gaps),
        annotation_summary=[series("Backward", 40, 25 * MS), series("step", 40, 51 * MS)],
    )
    assert lines == (
        "40 steps take 51.0 ms each (median); 26 % of the 3.26 s from the first step's start to "
        "the last one's end is spent waiting for input; the longest phase is Backward: 1.00 s, "
        "31 %. No GPU event was recorded.",
        "Most costly: Before steps 30 to 33 the job waited 4 x 150 ms for input, 20x the median "
        "of 7.50 ms (570 ms at stake). Next: step_23 took 412 ms, 8.1x the median of 51.0 ms "
        "(361 ms at stake).",
        "Data: complete, nothing was lost of 1,000 events of 1 process; 8 rules could not answer.",
    )


def test_gpus_with_lost_events(tmp_path: Path) -> None:
    rows = [
        gpu_window(600 * MS, 100 * MS, 0, 300 * MS, process_id=0),
        gpu_window(600 * MS, 100 * MS, 0, 300 * MS, process_id=1),
    ]
    lost = {"process_id": 0, "source_file": "f", "lost": True}
    lines = _verdict(
        tmp_path,
        processes=processes(2, end_ns=1000 * MS),
        time_breakdown=rows,
        drops=[
            {**lost, "reason": reason, "events": events}
            for reason, events in (
                ("ring_full", 9),
                ("checksum", 2),
                ("bad_time", 3),
                ("bad_json", 1),
            )
        ],
    )
    assert lines[0] == (
        "The GPUs are 60 % computing, 30 % idle, 10 % in communication nothing hides; of 2.00 s, "
        "the windows of 2 GPUs together, each from its first event's start to its last event's end."
    )
    assert lines[1] == (
        "Most costly: Communication without computation takes 10 % of GPU time: 200 ms of 2.00 s, "
        "sum over 2 GPUs; 0 % of all communication is overlapped (100 ms at stake per GPU, 200 ms "
        "over all GPUs)."
    )
    assert lines[2].startswith(
        "Data: partial, 15 lost beside 2,000 events kept of 2 processes (ring_full 9, bad_time 3, "
        "checksum 2, 1 more reasons); "
    )


def test_nothing_but_ranges(tmp_path: Path) -> None:
    first, second, _ = _verdict(
        tmp_path, annotation_summary=[series("load", 3, 100 * MS, share_of_capture=0.5)]
    )
    assert first == (
        "No GPU event and no step was recorded in 10.0 s; the longest range is load: 300 ms, 50 % "
        "of the time between first and last range."
    )
    assert second.startswith("No rule found anything that costs much; ")


def test_nothing_at_all(tmp_path: Path) -> None:
    assert _verdict(tmp_path, processes=[])[0] == (
        "No GPU event, step or range was recorded in 0 ns of process time."
    )
