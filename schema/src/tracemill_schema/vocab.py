"""Closed sets of words that appear as values in columns. Names are the field's standard terms."""

from __future__ import annotations

from enum import StrEnum


class KernelCategory(StrEnum):
    """What a kernel run is for."""

    COMPUTE = "compute"
    COMMUNICATION = "communication"


class Activity(StrEnum):
    """Kinds of GPU activity in ``activity_summary``."""

    KERNEL = "kernel"
    MEMCPY = "memcpy"
    MEMSET = "memset"
    SYNC = "sync"
    IDLE = "idle"


class MemoryOpKind(StrEnum):
    """Kinds of memory operation; letters as CUPTI names the directions."""

    HTOD = "HtoD"
    DTOH = "DtoH"
    DTOD = "DtoD"
    PTOP = "PtoP"
    HTOH = "HtoH"
    MEMSET = "memset"
    OTHER = "other"


class WindowKind(StrEnum):
    """Which GPU events a window is formed from."""

    ALL_GPU = "all_gpu"
    LINKED = "linked"
    STEPS = "steps"


class IdleCause(StrEnum):
    """Why a device is idle, in the order in which the rules are asked."""

    OTHER = "other"
    COMMUNICATION_WAIT = "communication_wait"
    LAUNCH_BOUND = "launch_bound"
    INPUT_WAIT = "input_wait"
    SYNC = "sync"
    HOST_BOUND = "host_bound"


class Precision(StrEnum):
    """Data type a kernel computes in, as far as its name tells."""

    FP64 = "FP64"
    FP32 = "FP32"
    TF32 = "TF32"
    BF16 = "BF16"
    FP16 = "FP16"
    FP8 = "FP8"
    INT8 = "INT8"
    INT32 = "INT32"
    OTHER = "other"


class RunStatus(StrEnum):
    """Status of the training run, in SageMaker's words."""

    IN_PROGRESS = "InProgress"
    COMPLETED = "Completed"
    FAILED = "Failed"
    STOPPING = "Stopping"
    STOPPED = "Stopped"


class ProcessingState(StrEnum):
    """How far Tracemill is with a job."""

    RECORDED = "recorded"
    PROCESSED = "processed"
    BROKEN = "broken"


class Completeness(StrEnum):
    """Whether everything that was found could be read."""

    COMPLETE = "complete"
    PARTIAL = "partial"


class RankSource(StrEnum):
    """Where an importer took the rank from."""

    CONTENT = "content"
    FILE_NAME = "file_name"
    ORDER = "order"
    NONE = "none"


class Severity(StrEnum):
    """How much a finding matters."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


class DropReason(StrEnum):
    """Why something that was found is not, or not wholly, in the tables. Counted in ``drops``."""

    RING_FULL = "ring_full"
    """Recorded faster than the writer could drain; the event is lost."""
    BYTE_BUDGET = "byte_budget"
    """The process reached its byte budget."""
    STEP_LIMIT = "step_limit"
    """The capture ended at its step limit; later annotations were not recorded."""
    DISK_FULL = "disk_full"
    """The disk refused a block."""
    NAME_LIMIT = "name_limit"
    """The name is too long or the table of names is full; the range is lost."""
    UNFINISHED = "unfinished"
    """A range was still open when the recording ended."""
    TRUNCATED = "truncated"
    """The file ends in the middle of an event or block."""
    CHECKSUM = "checksum"
    """A block's checksum does not match."""
    DAMAGED = "damaged"
    """A record, or the rest of a table or message, cannot be decoded."""
    BAD_JSON = "bad_json"
    """An event is not valid JSON even with the known repairs."""
    BAD_TIME = "bad_time"
    """Start or duration is missing, not a number, or out of range."""
    NEGATIVE_DURATION = "negative_duration"
    """The duration is below zero."""
    BAD_FIELD = "bad_field"
    """A field other than the time has an unusable type; the event is kept without it."""
    REPAIRED_TEXT = "repaired_text"
    """Control characters or bad UTF-8 in the text were replaced; the event is kept."""
    DUPLICATE = "duplicate"
    """An exact copy of another event; kept once."""
    DUPLICATE_ID = "duplicate_id"
    """A correlation id is used by several launches; the events are kept, the link is not."""
    UNLINKED = "unlinked"
    """A GPU event has no launch event; kept, without launch columns."""
    NOT_USED = "not_used"
    """An event kind Tracemill does not store (flow arrows, counters and the like)."""
    UNREADABLE_FILE = "unreadable_file"
    """A whole file of the job could not be read."""
    CUPTI_DROPPED = "cupti_dropped"
    """CUPTI had no room for a GPU record, as it says itself."""
    GPU_BUFFER_FULL = "gpu_buffer_full"
    """Records came faster than they could be written; whole buffers were given up."""
    GPU_NO_TIME = "gpu_no_time"
    """A GPU record without start, or with an end before its start."""
    GPU_UNFINISHED = "gpu_unfinished"
    """GPU work had not ended when its record was asked for the last time."""
    FOREIGN_CLOCK = "foreign_clock"
    """A GPU record in the clock of another profiler of the process."""

    @property
    def loses_event(self) -> bool:
        """True if the event is missing from the tables although it carried information."""
        return self in _LOSING


_LOSING = frozenset(
    {
        DropReason.RING_FULL,
        DropReason.BYTE_BUDGET,
        DropReason.DISK_FULL,
        DropReason.NAME_LIMIT,
        DropReason.TRUNCATED,
        DropReason.CHECKSUM,
        DropReason.DAMAGED,
        DropReason.BAD_JSON,
        DropReason.BAD_TIME,
        DropReason.NEGATIVE_DURATION,
        DropReason.UNREADABLE_FILE,
        DropReason.CUPTI_DROPPED,
        DropReason.GPU_BUFFER_FULL,
        DropReason.GPU_NO_TIME,
        DropReason.FOREIGN_CLOCK,
    }
)
