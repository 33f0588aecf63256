"""Tables that describe a profile: the job, its processes, what was dropped, what was found."""

from __future__ import annotations

from tracemill_schema.columns import Role, Table, boolean, double, int32, int64, string

JOBS = Table(
    "jobs",
    Role.PROFILE,
    "One row per profile.",
    (
        string(
            "status", "status of the training run: InProgress, Completed, Failed, Stopping, Stopped"
        ),
        string("completeness", "complete, or partial if something found could not be read"),
        string("source", "format of the recording: tracemill, kineto, mixed"),
        string(
            "framework",
            "training framework as far as known, for example PyTorch 2.13.0",
            nullable=True,
        ),
        string("device_name", "model of the GPUs", nullable=True),
        string("instance_type", "instance type of the nodes", nullable=True),
        int32("nodes", "nodes seen", "nodes"),
        int32("gpus", "GPUs seen", "GPUs"),
        int32("ranks", "distinct ranks seen", "ranks"),
        int32("processes", "processes seen", "processes"),
        int64("start_ns", "first event or sample; see processes.clock for the time scale", "ns"),
        int64("end_ns", "end of the last event or sample", "ns"),
        int64("dur_ns", "end_ns - start_ns", "ns"),
        int64("steps", "distinct training steps seen", "steps"),
        int64("gpu_events", "kernel runs, memory operations", "events"),
        int64("events_read", "events found in the inputs", "events"),
        int64("events_kept", "events in the event tables", "events"),
        int64("events_dropped", "events lost, sum of the losing reasons in drops", "events"),
        double(
            "gpu_utilization",
            "mean over GPUs of busy time / window (all_gpu)",
            "0..1",
            nullable=True,
        ),
        double(
            "cpu_utilization",
            "mean over nodes of busy core time / core time",
            "0..1",
            nullable=True,
        ),
        int32("findings", "findings of severity high, medium or low", "findings"),
        string("verdict", "the report's first sentence"),
        boolean("simulated", "true if the events were made by the simulator"),
        int32("schema_version", "version of the tables"),
    ),
)

PROCESSES = Table(
    "processes",
    Role.PROFILE,
    "One row per recorded process.",
    (
        int32("process_id", "number of the process within the job, from 0"),
        string("node", "name of the node"),
        int32("rank", "global rank; null for a helper process", nullable=True),
        string("rank_source", "where the rank was taken from: content, file_name, order, none"),
        int32("local_rank", "rank within the node", nullable=True),
        int32("world_size", "ranks in the job as the process knew it", nullable=True),
        int64("pid", "operating system process id", nullable=True),
        string("devices", "GPU indices the process used, comma separated"),
        string("clock", "time scale of the process's times: unix or monotonic"),
        int64("clock_offset_ns", "what was added to the recorded clock", "ns"),
        int64(
            "clock_spread_ns",
            "spread of the clock readings, quality of the offset",
            "ns",
            nullable=True,
        ),
        int64(
            "alignment_ns",
            "what to add to the process's times to compare them with those of other nodes, from the "
            "ends of shared collectives; null if unknown, not needed on one node",
            "ns",
            nullable=True,
        ),
        int64(
            "alignment_residual_ns",
            "95 % of the ends of shared collectives agree within this once aligned",
            "ns",
            nullable=True,
        ),
        int64("start_ns", "first event or sample", "ns", nullable=True),
        int64("end_ns", "end of the last event or sample", "ns", nullable=True),
        string("source_format", "importer that read it"),
        string("source_file", "file name, or folder of the raw segments"),
        string("framework", "framework and version as recorded", nullable=True),
        string("device_name", "model of the GPU", nullable=True),
        string(
            "end_reason", "why the recording ended; null if the process was killed", nullable=True
        ),
        int64("events_read", "events found", "events"),
        int64("events_kept", "events in the event tables", "events"),
        int64("events_dropped", "events lost", "events"),
        boolean("complete", "true if everything found could be read"),
    ),
    sort=("process_id",),
)

DROPS = Table(
    "drops",
    Role.PROFILE,
    "What was dropped, repaired or left without a link, by process and reason.",
    (
        int32("process_id", "process; null for a file that gave none", nullable=True),
        int32("rank", "global rank", nullable=True),
        string("source_file", "file the events stand in"),
        string("reason", "reason, see vocabulary"),
        int64("events", "how many", "events"),
        boolean("lost", "true if the event is missing from the tables"),
        string("example", "place of the first one", nullable=True),
    ),
    sort=("process_id", "source_file", "reason"),
)

FINDINGS = Table(
    "findings",
    Role.PROFILE,
    "Findings of the report and the rules that abstained.",
    (
        int32("position", "order in the report, from 0"),
        string("rule", "name of the rule"),
        string("severity", "high, medium, low, info"),
        string("title", "what was found, one sentence"),
        string("advice", "what to do"),
        int64("at_stake_ns", "wall-clock time at stake", "ns"),
        double("gpu_hours", "at_stake_ns times the GPUs concerned", "GPU-hours"),
        double("confidence", "the rule's own confidence", "0..1"),
        boolean(
            "abstained", "true if the capture cannot answer; the title says what would be needed"
        ),
        string("evidence", "rows the finding rests on, as JSON"),
    ),
    sort=("position",),
)

TABLES: tuple[Table, ...] = (JOBS, PROCESSES, DROPS, FINDINGS)
