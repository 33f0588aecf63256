-- Launches of kernels of one process by device and kernel name. A launch of several kernels (CUDA
-- graph) counts once, under the kernel that ran first.
WITH launches AS (
    SELECT
        device,
        launch_dur_ns AS dur_ns,
        arg_min(name, {'start': start_ns, 'stream': stream, 'name': name}) AS name
    FROM kernels
    WHERE process_id = $process_id AND launch_start_ns IS NOT NULL AND launch_dur_ns IS NOT NULL
    GROUP BY device, correlation, launch_thread, launch_start_ns, launch_dur_ns
)
SELECT
    device,
    name,
    count(*)::BIGINT AS count,
    sum(dur_ns)::BIGINT AS total_ns,
    min(dur_ns)::BIGINT AS min_ns,
    max(dur_ns)::BIGINT AS max_ns,
    sum(dur_ns)::DOUBLE / count(*) AS mean_ns,
    quantile_disc(dur_ns, 0.50)::BIGINT AS p50_ns,
    quantile_disc(dur_ns, 0.95)::BIGINT AS p95_ns,
    quantile_disc(dur_ns, 0.99)::BIGINT AS p99_ns
FROM launches
GROUP BY device, name
ORDER BY device, count DESC, name
