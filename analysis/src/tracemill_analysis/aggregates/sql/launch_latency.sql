-- Time from launch to run of one process by device. Kernels and memory operations count; the runs of
-- one launch (CUDA graph) count once, from the launch to the first of them.
WITH runs AS (
    SELECT device, correlation, launch_thread, launch_start_ns, launch_dur_ns, start_ns
    FROM kernels
    WHERE process_id = $process_id AND launch_start_ns IS NOT NULL
    UNION ALL
    SELECT device, correlation, launch_thread, launch_start_ns, launch_dur_ns, start_ns
    FROM memory_ops
    WHERE process_id = $process_id AND launch_start_ns IS NOT NULL
),
launches AS (
    SELECT
        device,
        min(start_ns) - launch_start_ns AS latency_ns,
        min(start_ns) - launch_start_ns - coalesce(launch_dur_ns, 0) AS after_call_ns
    FROM runs
    GROUP BY device, correlation, launch_thread, launch_start_ns, launch_dur_ns
)
SELECT
    device,
    count(*)::BIGINT AS launches,
    min(latency_ns)::BIGINT AS min_ns,
    quantile_disc(latency_ns, 0.50)::BIGINT AS p50_ns,
    quantile_disc(latency_ns, 0.95)::BIGINT AS p95_ns,
    max(latency_ns)::BIGINT AS max_ns,
    sum(latency_ns)::DOUBLE / count(*) AS mean_ns,
    quantile_disc(after_call_ns, 0.50)::BIGINT AS after_call_p50_ns,
    count(*) FILTER (WHERE latency_ns < 0)::BIGINT AS negative
FROM launches
GROUP BY device
ORDER BY device
