-- Which jobs use their GPUs least?
SELECT job_name, status, device_name, gpus,
       round(gpu_utilization * 100, 1) AS gpu_utilization_percent,
       round(CAST(dur_ns AS double) * gpus / 3.6e12, 2) AS gpu_hours,
       verdict
FROM jobs
WHERE gpus > 0
ORDER BY gpu_utilization NULLS LAST, job_name
LIMIT 50
