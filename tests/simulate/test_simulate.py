"""The simulator as such: same bytes for the same seed, refusals, labels, what lies where."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from tracemill_analysis.pipeline import process_job
from tracemill_analysis.store import LocalStore
from tracemill_cli.commands.simulate import SCENARIOS as OFFERED
from tracemill_cli.main import main
from tracemill_schema import layout
from tracemill_schema.errors import UsageError
from tracemill_simulate import SCENARIOS, Settings, simulate

from tests.support import tmraw
from tests.support.truth import assert_truth


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        simulate(tmp_path / name, Settings("job", "mixed", nodes=2, gpus=2, steps=3, seed=seed))
    a, b, c = (contents(tmp_path / name) for name in "abc")
    assert a == b
    assert set(a.values()).isdisjoint(c.values())
    assert len(a) == 4 + 1


def test_several_gpus_per_node_and_batches_of_steps(tmp_path: Path) -> None:
    made = simulate(tmp_path, Settings("job", "straggler", nodes=2, gpus=2, steps=130, seed=3))
    assert made.processes == 4
    store = LocalStore(tmp_path)
    outcome = process_job(store, "job")
    assert outcome.manifest.job["simulated"] is True
    assert outcome.manifest.job["device_name"] == "simulated GPU"
    assert_truth(store, "job")
    for kind in layout.REPORT_FORMATS:
        assert "simulated" in store.read_bytes(layout.report_key("job", kind)).decode().lower()


def test_every_segment_says_that_it_is_simulated(tmp_path: Path) -> None:
    simulate(tmp_path, Settings("job", "healthy", nodes=2, gpus=2, steps=1))
    segments = sorted(tmp_path.rglob("*.tmraw"))
    metas = [tmraw.read(path).meta for path in segments]
    assert [meta["simulated"] for meta in metas] == [True] * 4
    assert [(meta["node"], meta["rank"], meta["local_rank"]) for meta in metas] == [
        ("node-0", 0, 0), ("node-0", 1, 1), ("node-1", 2, 0), ("node-1", 3, 1),
    ]  # fmt: skip
    assert metas[0]["simulation"] == {"scenario": "healthy", "seed": 0}


def test_the_nodes_have_clocks_of_their_own(tmp_path: Path) -> None:
    made = simulate(tmp_path, Settings("job", "healthy", nodes=3, gpus=1, steps=1))
    errors = [node["clock_error_ns"] for node in made.truth["nodes"]]
    assert errors[0] == 0
    assert all(800_000 <= abs(error) < 9_000_000 for error in errors[1:])
    firsts = [tmraw.read(path).rows["clock"][0] for path in sorted(tmp_path.rglob("*.tmraw"))]
    assert len({row["monotonic_ns"] for row in firsts}) == 3


def test_a_job_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    settings = Settings("job", "healthy", nodes=1, gpus=1, steps=1)
    simulate(tmp_path, settings)
    before = contents(tmp_path)
    with pytest.raises(UsageError, match="--replace"):
        simulate(tmp_path, settings)
    simulate(tmp_path, settings, replace=True)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "values",
    [
        {"job": "a/b"},
        {"scenario": "no-such"},
        {"nodes": 0},
        {"gpus": 65},
        {"steps": 0},
        {"nodes": 4096, "gpus": 2},
        {"seed": -1},
    ],
)
def test_what_cannot_be_simulated_is_refused(values: dict[str, object]) -> None:
    usual: dict[str, object] = {"job": "job", "scenario": "healthy"}
    with pytest.raises(UsageError):
        Settings(**{**usual, **values})  # type: ignore[arg-type]


def test_the_command_line_makes_a_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["simulate", "--scenario", "comm-bound", "--store", str(tmp_path), "--job", "demo"]
    sizes = ["--nodes", "1", "--gpus", "2", "--steps", "2", "--seed", "4"]
    assert main([*arguments, *sizes]) == 0
    truth = json.loads((tmp_path / layout.truth_key("demo")).read_text())
    assert (truth["scenario"], truth["seed"], truth["gpus"]) == ("comm-bound", 4, 2)
    told = capsys.readouterr().err
    assert f"simulated 2 processes, {truth['events']:,} events" in told
    assert f"next: tracemill process --store {tmp_path} --job demo" in told
    assert main([*arguments, *sizes]) == 2
    assert main([*arguments[:4], "s3://bucket/x", "--job", "demo"]) == 2


def test_the_command_line_offers_every_scenario() -> None:
    assert tuple(SCENARIOS) == OFFERED
