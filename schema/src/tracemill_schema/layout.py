"""Object keys of a store, built and parsed in one place.

    raw/job_name=<job>/node=<node>/process=<pid>-<start>/<seq>.tmraw   recorded segments
    raw/job_name=<job>/truth.json                                      of a simulated job
    tables/<table>/job_name=<job>/<part>.parquet                       event tables and aggregates
    jobs/job_name=<job>/manifest.json                      written last: the job is complete
    reports/job_name=<job>/report.{html,json,txt}

The same keys serve a folder and, below a prefix, an S3 bucket. Names are checked, never escaped:
a job or node name is made of characters that need no escaping anywhere (see ``safe_name``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tracemill_schema.errors import UsageError

RAW_SUFFIX = ".tmraw"
MANIFEST_NAME = "manifest.json"
REPORT_FORMATS = ("html", "json", "txt")

RAW_PREFIX = "raw/"
TABLES_PREFIX = "tables/"
JOBS_PREFIX = "jobs/"
REPORTS_PREFIX = "reports/"

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")
_JOB_DIR = re.compile(r"job_name=([^/]+)/?")
_RAW_KEY = re.compile(r"raw/job_name=([^/]+)/node=([^/]+)/process=(\d+)-(\d+)/(\d{6,})\.tmraw")


def check_name(name: str, what: str = "job") -> str:
    """Return ``name`` if it may be part of a key, else raise UsageError saying what is allowed."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise UsageError(
            f"{what} name {name!r} cannot be used: take up to 128 letters, digits, '.', '_' or "
            "'-', beginning and ending with a letter or digit"
        )
    return name


def safe_name(text: str, fallback: str = "job") -> str:
    """Turn any text into a usable name (for a job named after a file or script)."""
    cleaned = re.sub(r"[^A-Za-z0-9._-]+", "-", text)
    cleaned = re.sub(r"\.{2,}", ".", cleaned)[:128].strip("._-")
    return cleaned or fallback


@dataclass(frozen=True)
class SegmentKey:
    """Where one raw segment lies. ``start_ns`` is the process's start of recording, Unix epoch."""

    job: str
    node: str
    pid: int
    start_ns: int
    sequence: int

    @property
    def process(self) -> str:
        """Name of the process's folder."""
        return f"{self.pid}-{self.start_ns}"


def raw_prefix(job: str) -> str:
    """Prefix of all raw segments of a job."""
    return f"{RAW_PREFIX}job_name={check_name(job)}/"


def segment_key(key: SegmentKey) -> str:
    """Build the object key of a raw segment."""
    node = check_name(key.node, "node")
    return f"{raw_prefix(key.job)}node={node}/process={key.process}/{key.sequence:06d}{RAW_SUFFIX}"


def parse_segment_key(key: str) -> SegmentKey | None:
    """Parse an object key; None if it is not a raw segment's."""
    match = _RAW_KEY.fullmatch(key)
    if match is None:
        return None
    job, node, pid, start, sequence = match.groups()
    return SegmentKey(job, node, int(pid), int(start), int(sequence))


def truth_key(job: str) -> str:
    """Object key of what must come out of a simulated job (``tracemill simulate``)."""
    return f"{raw_prefix(job)}truth.json"


def table_prefix(table: str, job: str) -> str:
    """Prefix of the files of one table of one job."""
    return f"{TABLES_PREFIX}{table}/job_name={check_name(job)}/"


def table_key(table: str, job: str, part: str) -> str:
    """Object key of one Parquet file; ``part`` is ``p<process_id>`` or ``all``."""
    return f"{table_prefix(table, job)}{check_name(part, 'part')}.parquet"


def process_part(process_id: int) -> str:
    """Name of the file part that holds one process."""
    return f"p{process_id:05d}"


WHOLE_JOB_PART = "all"
"""Name of the file part of tables that are made for the whole job."""


def job_prefix(job: str) -> str:
    """Prefix of a job's own objects."""
    return f"{JOBS_PREFIX}job_name={check_name(job)}/"


def manifest_key(job: str) -> str:
    """Object key of a job's manifest, written last: its presence means the tables are whole."""
    return f"{job_prefix(job)}{MANIFEST_NAME}"


def report_key(job: str, report_format: str) -> str:
    """Object key of a stored report."""
    if report_format not in REPORT_FORMATS:
        raise UsageError(
            f"report format {report_format!r}: take one of {', '.join(REPORT_FORMATS)}"
        )
    return f"{REPORTS_PREFIX}job_name={check_name(job)}/report.{report_format}"


def parse_job_dir(name: str) -> str | None:
    """Job name of a ``job_name=…`` folder name; None if it is something else."""
    match = _JOB_DIR.fullmatch(name)
    return match.group(1) if match and _NAME.fullmatch(match.group(1)) else None
