"""Options of the recorder: one table read by the SDK, the command line, the docs and the tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """One option. ``default`` is what holds when neither argument nor environment names it."""

    name: str
    env: str
    kind: type
    default: str | int | bool | None
    unit: str
    doc: str


OPTIONS: tuple[Option, ...] = (
    Option(
        "output",
        "TRACEMILL_OUTPUT",
        str,
        None,
        "",
        "Store folder the recording goes to. Default: /opt/ml/output/profiler inside a SageMaker "
        "container, otherwise ./tracemill-store; with s3_uri a folder for temporary files.",
    ),
    Option(
        "job",
        "TRACEMILL_JOB",
        str,
        None,
        "",
        "Job name. Default: TRAINING_JOB_NAME as SageMaker sets it, otherwise the script's name "
        "with date and time.",
    ),
    Option(
        "autostart", "TRACEMILL_AUTOSTART", bool, False, "", "Start recording when Python starts."
    ),
    Option(
        "control_file",
        "TRACEMILL_CONTROL_FILE",
        str,
        None,
        "",
        "Record only while this file exists, each time as a recording of its own; looked at twice "
        "a second. Default: record from the start.",
    ),
    Option(
        "control_signal",
        "TRACEMILL_CONTROL_SIGNAL",
        str,
        None,
        "",
        "Record only from one signal of this name (SIGUSR2, for example) to the next. Default: "
        "record from the start.",
    ),
    Option(
        "enabled", "TRACEMILL_ENABLED", bool, True, "", "Set to 0 to turn every call into a no-op."
    ),
    Option(
        "max_steps",
        "TRACEMILL_MAX_STEPS",
        int,
        300,
        "steps",
        "Capturing of annotations ends after this many steps; 0 for no limit.",
    ),
    Option(
        "max_bytes",
        "TRACEMILL_MAX_BYTES",
        int,
        2 * 1024**3,
        "bytes",
        "Byte budget of one process; 0 for no limit.",
    ),
    Option(
        "flush_interval_ms",
        "TRACEMILL_FLUSH_INTERVAL_MS",
        int,
        500,
        "ms",
        "How often blocks are sealed and written: the most a killed process can lose.",
    ),
    Option(
        "cpu_interval_ms",
        "TRACEMILL_CPU_INTERVAL_MS",
        int,
        100,
        "ms",
        "How often CPU, memory, disk and network are sampled; 0 turns sampling off.",
    ),
    Option(
        "cpu_duration_s",
        "TRACEMILL_CPU_DURATION_S",
        int,
        3600,
        "s",
        "How long CPU sampling goes on at most; 0 for no limit.",
    ),
    Option(
        "ring_events",
        "TRACEMILL_RING_EVENTS",
        int,
        65_536,
        "events",
        "Room for annotations per thread between two flushes.",
    ),
    Option(
        "rotate_bytes",
        "TRACEMILL_ROTATE_BYTES",
        int,
        64 * 1024 * 1024,
        "bytes",
        "A segment is closed and the next one begun at this size.",
    ),
    Option(
        "rotate_s",
        "TRACEMILL_ROTATE_S",
        int,
        600,
        "s",
        "A segment is closed and the next one begun at this age.",
    ),
    Option(
        "gpu",
        "TRACEMILL_GPU",
        bool,
        True,
        "",
        "Record GPU activity (CUPTI) once the script has initialised CUDA.",
    ),
    Option(
        "gpu_graph_nodes",
        "TRACEMILL_GPU_GRAPH_NODES",
        bool,
        False,
        "",
        "Record every node of a CUDA graph instead of each run of the graph; costs more.",
    ),
    Option(
        "gpu_buffer_bytes",
        "TRACEMILL_GPU_BUFFER_BYTES",
        int,
        64 * 1024 * 1024,
        "bytes",
        "Memory for GPU records that are not yet written; beyond it they are counted as dropped.",
    ),
    Option(
        "cupti_path",
        "TRACEMILL_CUPTI_PATH",
        str,
        None,
        "",
        "The libcupti to use. Default: the one in the process, then the one beside the process's "
        "CUDA runtime, then the linker's.",
    ),
    Option(
        "nvml_interval_ms",
        "TRACEMILL_NVML_INTERVAL_MS",
        int,
        200,
        "ms",
        "How often NVML is asked about the node's GPUs; 0 turns it off.",
    ),
    Option(
        "s3_uri",
        "TRACEMILL_S3_URI",
        str,
        None,
        "",
        "Store in S3 (s3://bucket or s3://bucket/prefix) that closed segments are uploaded to "
        "while the training runs; needs boto3 and s3:PutObject. An uploaded segment is removed "
        "from the folder. Segments are closed after 60 s then, unless rotate_s says otherwise.",
    ),
    Option(
        "upload_interval_ms",
        "TRACEMILL_UPLOAD_INTERVAL_MS",
        int,
        2000,
        "ms",
        "How often the uploader looks for closed segments.",
    ),
    Option(
        "upload_retry_ms",
        "TRACEMILL_UPLOAD_RETRY_MS",
        int,
        1000,
        "ms",
        "How long the uploader waits after S3 refused; doubles up to 64 times that.",
    ),
    Option(
        "upload_deadline_s",
        "TRACEMILL_UPLOAD_DEADLINE_S",
        int,
        30,
        "s",
        "How long the process waits at its end for the upload of what is left.",
    ),
)

OPTION_BY_NAME: dict[str, Option] = {option.name: option for option in OPTIONS}

RANK_ENVS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
"""Environment variables that give a process's rank, first match wins."""
LOCAL_RANK_ENVS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
WORLD_SIZE_ENVS = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
NODE_ENVS = ("SM_CURRENT_HOST",)
"""Environment variables that give the node's name; otherwise the host name is used."""
JOB_ENVS = ("TRAINING_JOB_NAME",)
"""Environment variables that give the job's name when ``TRACEMILL_JOB`` does not."""
SAGEMAKER_OUTPUT = "/opt/ml/output/profiler"
"""Folder that SageMaker ships to S3 by itself."""
DEFAULT_OUTPUT = "tracemill-store"
