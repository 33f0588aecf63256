-- From the start of each launch to the start of its first run, of one process by stream. The runs of
-- one launch (CUDA graph) are one launch; a run that begins before its launch does not wait.
WITH runs AS (
    SELECT device, stream, correlation, launch_thread, launch_start_ns, start_ns
    FROM kernels
    WHERE process_id = $process_id AND launch_start_ns IS NOT NULL
    UNION ALL
    SELECT device, stream, correlation, launch_thread, launch_start_ns, start_ns
    FROM memory_ops
    WHERE process_id = $process_id AND launch_start_ns IS NOT NULL
)
SELECT device, stream, launch_start_ns, min(start_ns) AS run_start_ns
FROM runs
GROUP BY device, stream, correlation, launch_thread, launch_start_ns
HAVING run_start_ns > launch_start_ns
ORDER BY device, stream, launch_start_ns, run_start_ns
