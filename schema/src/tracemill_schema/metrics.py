"""Metrics a sampler may record: name, unit, scope and whether the value only grows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Scope(StrEnum):
    """What ``samples.index`` counts: nothing for a node or process, the core for a CPU, NVML's
    number of the device for a GPU."""

    NODE = "node"
    PROCESS = "process"
    CPU = "cpu"
    GPU = "gpu"


@dataclass(frozen=True)
class Metric:
    """One sampled quantity. ``cumulative`` values grow; their difference is the quantity."""

    id: int
    name: str
    unit: str
    scope: Scope
    cumulative: bool
    doc: str


METRICS: tuple[Metric, ...] = (
    Metric(
        1, "cpu_busy_ns", "ns", Scope.CPU, True, "time not idle and not waiting for I/O, /proc/stat"
    ),
    Metric(2, "cpu_total_ns", "ns", Scope.CPU, True, "all time of the core, /proc/stat"),
    Metric(3, "cpu_iowait_ns", "ns", Scope.CPU, True, "time idle with I/O outstanding, /proc/stat"),
    Metric(
        4, "memory_used_bytes", "bytes", Scope.NODE, False, "MemTotal - MemAvailable, /proc/meminfo"
    ),
    Metric(5, "memory_total_bytes", "bytes", Scope.NODE, False, "MemTotal, /proc/meminfo"),
    Metric(6, "disk_read_bytes", "bytes", Scope.NODE, True, "whole disks, /proc/diskstats"),
    Metric(7, "disk_write_bytes", "bytes", Scope.NODE, True, "whole disks, /proc/diskstats"),
    Metric(
        8,
        "net_receive_bytes",
        "bytes",
        Scope.NODE,
        True,
        "all interfaces but loopback, /proc/net/dev",
    ),
    Metric(
        9,
        "net_transmit_bytes",
        "bytes",
        Scope.NODE,
        True,
        "all interfaces but loopback, /proc/net/dev",
    ),
    Metric(
        10,
        "process_cpu_ns",
        "ns",
        Scope.PROCESS,
        True,
        "user + system time, CLOCK_PROCESS_CPUTIME_ID",
    ),
    Metric(
        11, "process_rss_bytes", "bytes", Scope.PROCESS, False, "resident memory, /proc/self/statm"
    ),
    Metric(
        12,
        "process_threads",
        "threads",
        Scope.PROCESS,
        False,
        "threads of the process, /proc/self/stat",
    ),
    Metric(
        13, "process_read_bytes", "bytes", Scope.PROCESS, True, "read from storage, /proc/self/io"
    ),
    Metric(
        14, "process_write_bytes", "bytes", Scope.PROCESS, True, "sent to storage, /proc/self/io"
    ),
    Metric(15, "recorder_cpu_ns", "ns", Scope.PROCESS, True, "CPU time of Tracemill's own threads"),
    Metric(
        16, "recorder_written_bytes", "bytes", Scope.PROCESS, True, "bytes Tracemill has written"
    ),
    Metric(
        20,
        "clk_unhalted_ref.tsc",
        "cycles",
        Scope.CPU,
        True,
        "cycles the core was not halted, at the rate of the time stamp counter, perf_event_open",
    ),
    Metric(
        21,
        "itlb_misses.miss_causes_a_walk",
        "events",
        Scope.CPU,
        True,
        "instruction TLB misses that began a page walk (Intel, Haswell to Cascade Lake)",
    ),
    Metric(
        22,
        "itlb_misses.walk_completed",
        "events",
        Scope.CPU,
        True,
        "page walks completed for instruction TLB misses (Intel, Ice Lake and later)",
    ),
    Metric(
        23,
        "bp_l1_tlb_miss_l2_tlb_miss",
        "events",
        Scope.CPU,
        True,
        "instruction TLB misses of both levels (AMD, Zen 2 and later)",
    ),
    Metric(
        24,
        "process_context_switches",
        "switches",
        Scope.PROCESS,
        True,
        "voluntary and involuntary, getrusage",
    ),
    Metric(
        25, "process_minor_faults", "faults", Scope.PROCESS, True, "faults without I/O, getrusage"
    ),
    Metric(26, "process_major_faults", "faults", Scope.PROCESS, True, "faults with I/O, getrusage"),
    Metric(
        27, "cpu_pressure_ns", "ns", Scope.NODE, True, "some task waited for a core, /proc/pressure"
    ),
    Metric(
        28,
        "memory_pressure_ns",
        "ns",
        Scope.NODE,
        True,
        "some task waited for memory, /proc/pressure",
    ),
    Metric(
        29, "io_pressure_ns", "ns", Scope.NODE, True, "some task waited for I/O, /proc/pressure"
    ),
    Metric(40, "gpu_busy_percent", "%", Scope.GPU, False, "share of time a kernel ran, NVML"),
    Metric(
        41, "gpu_memory_busy_percent", "%", Scope.GPU, False, "share of time memory moved, NVML"
    ),
    Metric(42, "gpu_memory_used_bytes", "bytes", Scope.GPU, False, "memory in use, NVML"),
    Metric(43, "gpu_memory_total_bytes", "bytes", Scope.GPU, False, "memory of the device, NVML"),
    Metric(44, "gpu_power_mw", "mW", Scope.GPU, False, "power draw, NVML"),
    Metric(45, "gpu_energy_mj", "mJ", Scope.GPU, True, "energy since the driver was loaded, NVML"),
    Metric(46, "gpu_sm_clock_mhz", "MHz", Scope.GPU, False, "clock of the multiprocessors, NVML"),
    Metric(47, "gpu_memory_clock_mhz", "MHz", Scope.GPU, False, "clock of the memory, NVML"),
    Metric(48, "gpu_temperature_c", "°C", Scope.GPU, False, "temperature of the chip, NVML"),
    Metric(
        49,
        "gpu_throttle_reasons",
        "bits",
        Scope.GPU,
        False,
        "why clocks are held down, NVML's nvmlClocksThrottleReasons bits",
    ),
    Metric(50, "gpu_pcie_transmit_bytes", "bytes", Scope.GPU, True, "sent over PCIe, NVML"),
    Metric(51, "gpu_pcie_receive_bytes", "bytes", Scope.GPU, True, "received over PCIe, NVML"),
    Metric(52, "gpu_nvlink_transmit_bytes", "bytes", Scope.GPU, True, "sent over NVLink, NVML"),
    Metric(53, "gpu_nvlink_receive_bytes", "bytes", Scope.GPU, True, "received over NVLink, NVML"),
)

METRIC_BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}
METRIC_BY_ID: dict[int, Metric] = {metric.id: metric for metric in METRICS}
