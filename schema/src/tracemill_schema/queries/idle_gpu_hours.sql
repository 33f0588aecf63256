-- How many GPU-hours did each job leave idle, and what would they have been worth in per cent?
SELECT job_name,
       round(CAST(sum(idle_ns) AS double) / 3.6e12, 3) AS idle_gpu_hours,
       round(CAST(sum(window_ns) AS double) / 3.6e12, 3) AS gpu_hours,
       round(100 * CAST(sum(idle_ns) AS double) / CAST(nullif(sum(window_ns), 0) AS double), 1)
         AS idle_percent
FROM time_breakdown
WHERE window_kind = 'all_gpu'
GROUP BY job_name
ORDER BY idle_gpu_hours DESC, job_name
LIMIT 50
