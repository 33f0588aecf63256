from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracemill_schema import layout
from tracemill_schema.errors import UsageError

NAMES = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9_-]{0,40}[A-Za-z0-9])?", fullmatch=True)


@given(NAMES, NAMES, st.integers(0, 2**31), st.integers(0, 2**62), st.integers(0, 10**7))
def test_a_segment_key_parses_back_to_what_built_it(
    job: str, node: str, pid: int, start_ns: int, sequence: int
) -> None:
    key = layout.SegmentKey(job, node, pid, start_ns, sequence)
    assert layout.parse_segment_key(layout.segment_key(key)) == key


@given(st.text(max_size=200))
def test_any_text_becomes_a_usable_name(text: str) -> None:
    name = layout.safe_name(text)
    assert layout.check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "a\\b", "-a", "a-", "a..b", "a b", "ä", "x" * 129, "a\n"]
)
def test_names_that_need_escaping_somewhere_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        layout.check_name(name)


def test_keys_of_a_job() -> None:
    assert layout.manifest_key("j") == "jobs/job_name=j/manifest.json"
    assert layout.table_key("kernels", "j", layout.process_part(3)) == (
        "tables/kernels/job_name=j/p00003.parquet"
    )
    assert layout.report_key("j", "txt") == "reports/job_name=j/report.txt"
    assert layout.segment_key(layout.SegmentKey("j", "n", 7, 9, 1)) == (
        "raw/job_name=j/node=n/process=7-9/000001.tmraw"
    )


@pytest.mark.parametrize("folder", ["job_name=../x", "job_name=", "other", "job_name=a/b"])
def test_other_folders_are_not_jobs(folder: str) -> None:
    assert layout.parse_job_dir(folder) is None
