"""A simulated job of 16 ranks goes through the synthesized state machine like a real one."""

from __future__ import annotations

from pathlib import Path

from tracemill_cli.main import main
from tracemill_schema import layout

from tests.support.aws.system import System
from tests.workflow.test_runs import READY, STEPS, assert_same, laptop_objects, manifest


def test_16_simulated_ranks_become_what_the_laptop_makes_of_them(
    system: System, tmp_path: Path
) -> None:
    job, folder = "simulated-16", tmp_path / "simulated"
    size = ["--nodes", "2", "--gpus", "8", "--steps", "3", "--scenario", "straggler"]
    assert main(["simulate", "--store", str(folder), "--job", job, *size]) == 0
    raw = folder / layout.raw_prefix(job)
    segments = sorted(raw.rglob("*.tmraw"))
    for path in segments:
        system.put(str(path.relative_to(folder)), path.read_bytes())

    run = system.process(system.train(job))

    assert run.status == "SUCCEEDED"
    assert run.states == STEPS
    assert_same(system.job_objects(job), laptop_objects(system, job, tmp_path / "laptop"))
    facts = manifest(system, job)["job"]
    assert (facts["processes"], facts["nodes"], facts["simulated"]) == (16, 2, True)
    assert [subject for subject, _ in system.notices()] == [READY]
