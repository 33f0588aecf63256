-- On which GPUs do kernels wait longest between launch and run?
SELECT job_name, rank, node, device, launches,
       round(CAST(p50_ns AS double) / 1e3, 1) AS median_us,
       round(CAST(p95_ns AS double) / 1e3, 1) AS p95_us,
       round(CAST(max_ns AS double) / 1e3, 1) AS longest_us,
       negative AS clock_errors
FROM launch_latency
ORDER BY p95_ns DESC, job_name, rank, device
LIMIT 100
