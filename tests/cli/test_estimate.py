from __future__ import annotations

import json
from pathlib import Path

import pytest
from tracemill_cli import costs
from tracemill_cli.main import main


def test_every_step_is_paid_by_memory_and_time() -> None:
    memory = costs.function_memory_gib()
    found = costs.estimate(10, 2_000_000)
    convert_s = 10 * (costs.START_S + 2 * costs.CONVERT_S_PER_MILLION)
    assert found.gb_seconds["convert"] == pytest.approx(memory["convert"] * convert_s)
    assert found.usd["Lambda: convert"] == pytest.approx(
        found.gb_seconds["convert"] * costs.USD_PER_GB_SECOND
    )
    assert found.transitions == 38
    assert found.table_gigabytes == pytest.approx(10 * 2e6 * costs.TABLE_BYTES_PER_EVENT / 1e9)


def test_more_ranks_or_events_never_cost_less() -> None:
    totals = [costs.estimate(n, m).total for n, m in ((1, 1), (1, 10**6), (8, 10**6), (8, 10**7))]
    assert totals == sorted(totals)
    assert totals[0] > 0


def test_the_parts_add_up_and_say_where_prices_are_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--ranks", "8", "--events", "100000", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["total_usd"] == pytest.approx(sum(told["usd"].values()))
    assert (told["region"], told["prices_of"]) == (costs.REGION, costs.PRICES_OF)
    assert main(["estimate", "--ranks", "8", "--events", "100000"]) == 0
    shown = capsys.readouterr()
    assert "processing, once" in shown.out
    assert shown.err == ""


def test_a_job_too_large_for_one_call_is_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert costs.estimate(1_000, 1_000_000).aggregate_fits
    assert main(["estimate", "--ranks", "2000", "--events", "1000000"]) == 0
    assert "a job of this size may not be finished on Lambda" in capsys.readouterr().err


def test_numbers_that_make_no_sense_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--ranks", "0", "--events", "5"]) == 2
    assert "--ranks 0: take 1 to" in capsys.readouterr().err


def test_the_page_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--ranks", "1000", "--events", "1000000"]) == 0
    page = (Path(__file__).resolve().parents[2] / "docs" / "aws-cost.md").read_text()
    assert capsys.readouterr().out in page
