"""Two production jobs with known stragglers (StragglerAnalysis): who is last, worker or stage.

AR is slowed by one worker (published: removing the slowest workers wins 100 % of the loss back, the
last stage none), ST by its last pipeline stage (122 % and 3 %).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tracemill_analysis.aggregates.attribution import Attribution, Cause, attribute
from tracemill_analysis.aggregates.source import open_source
from tracemill_analysis.aggregates.stragglers import stragglers
from tracemill_analysis.parquet import write_rows
from tracemill_analysis.store import LocalStore
from tracemill_schema import layout
from tracemill_schema.tables import TABLE_BY_NAME

from tests.support.shared import shared_path
from tests.support.tables import JOB, process, row

FOLDER = "traces/straggler-analysis"


def operations(job: str, sql: str) -> list[tuple[Any, ...]]:
    trace = shared_path(f"{FOLDER}/trace-{job}.parquet")
    return duckdb.sql(sql.format(trace=f"'{trace}'")).fetchall()


def published(job: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shared_path(f"{FOLDER}/{name}-{job}.json").read_text())
    return found


def verdict(job: str) -> Attribution:
    rows = operations(
        job,
        """SELECT stage, dp_rank,
                  1e9 * (avg(duration) FILTER (optype = 'forward-compute')
                         + avg(duration) FILTER (optype = 'backward-compute')),
                  count(*) FILTER (optype = 'forward-compute') // count(DISTINCT step)
           FROM {trace} GROUP BY ALL ORDER BY ALL""",
    )
    (microbatches,) = {count for *_, count in rows}
    return attribute({(stage, copy): work for stage, copy, work, _ in rows}, microbatches)


def test_one_worker_slows_the_first_job() -> None:
    found = verdict("AR")
    assert (found.cause, found.worker) == (Cause.WORKER, (0, 0))
    assert found.worker_share == pytest.approx(published("AR", "mw")["Mw"], abs=0.01)
    result = published("AR", "result")
    by_copy = result["blocking_decompose_by_dp_rank"]
    assert max(by_copy, key=by_copy.get) == str(found.worker[1])
    slowdown = found.step_ns / found.ideal_ns
    assert slowdown == pytest.approx(result["blocking_slowdown"], rel=0.05)


def test_the_last_stage_slows_the_second() -> None:
    found = verdict("ST")
    assert (found.cause, found.stage) == (Cause.STAGE, 3)
    assert found.worker_share == pytest.approx(published("ST", "mw")["Mw"], abs=0.02)
    # The published simulation knows the optimizer and all transfers; the model does not.
    assert found.stage_share == pytest.approx(published("ST", "ms")["Ms"], abs=0.15)
    result = published("ST", "result")
    by_stage = result["blocking_decompose_by_stage"]
    assert max(by_stage, key=by_stage.get) == str(found.stage)
    slowdown = found.step_ns / found.ideal_ns
    assert slowdown == pytest.approx(result["blocking_slowdown"], rel=0.05)


def test_the_slow_worker_comes_last_to_its_collectives(tmp_path: Path) -> None:
    """Gradients of the first job: one group per stage, of its four data-parallel copies."""
    rows = operations(
        "AR",
        """SELECT stage, dp_rank, step, (1e9 * start_ts)::BIGINT, (1e9 * duration)::BIGINT
           FROM {trace} WHERE optype = 'grads-reduce-scatter' ORDER BY ALL""",
    )
    store = LocalStore(tmp_path)
    ranks = sorted({4 * stage + copy for stage, copy, *_ in rows})
    processes = [process(rank) for rank in ranks]
    write_rows(store, TABLE_BY_NAME["processes"], JOB, layout.WHOLE_JOB_PART, processes)
    for rank in ranks:
        mine = [
            row("collectives", process_id=rank, rank=rank, process_group=f"stage {stage}",
                sequence=number, operation="reduce_scatter", group_size=4, start_ns=start,
                dur_ns=dur, step=step)
            for number, (stage, copy, step, start, dur) in enumerate(
                one for one in rows if 4 * one[0] + one[1] == rank)
        ]  # fmt: skip
        part = layout.process_part(rank)
        write_rows(store, TABLE_BY_NAME["collectives"], JOB, part, mine)
    with open_source(store, JOB) as source:
        found = {one["rank"]: one for one in stragglers(source)}
    assert len(found) == 16 and {one["collectives"] for one in found.values()} == {44}
    # Whatever the stage, its first copy waits for the slow worker, and the other copies for it.
    assert {rank: one["last"] for rank, one in found.items() if one["last"]} == dict.fromkeys(
        (0, 4, 8, 12), 44
    )
    caused = sum(one["caused_wait_ns"] for one in found.values())
    by_first_copy = sum(found[rank]["caused_wait_ns"] for rank in (0, 4, 8, 12))
    assert by_first_copy > 0.99 * caused


@pytest.mark.parametrize(
    ("work", "cause"),
    [
        ({(s, d): 100.0 for s in range(4) for d in range(2)}, Cause.BALANCED),
        ({(s, d): 200.0 if (s, d) == (2, 1) else 100.0 for s in range(4) for d in range(8)},
         Cause.WORKER),
        ({(s, d): 200.0 if s == 2 else 100.0 for s in range(4) for d in range(8)}, Cause.STAGE),
        ({(s, d): 200.0 if (s, d) in ((0, 0), (2, 1), (1, 2)) else 100.0
          for s in range(4) for d in range(8)}, Cause.UNCLEAR),
    ],
)  # fmt: skip
def test_verdict(work: dict[tuple[int, int], float], cause: Cause) -> None:
    assert attribute(work, 16).cause == cause


def test_a_pipeline_with_a_missing_rank_is_not_judged() -> None:
    with pytest.raises(ValueError, match="every stage in every copy"):
        attribute({(0, 0): 1.0, (1, 0): 1.0, (0, 1): 1.0}, 4)
    with pytest.raises(ValueError, match="two stages or more"):
        attribute({(0, 0): 1.0}, 4)
