-- Which jobs wait most for communication that no computation hides?
SELECT job_name,
       count(*) AS gpus,
       round(CAST(sum(exposed_comm_ns) AS double) / 3.6e12, 3) AS exposed_gpu_hours,
       round(100 * CAST(sum(exposed_comm_ns) AS double) / CAST(nullif(sum(window_ns), 0) AS double), 1)
         AS exposed_percent,
       round(100 * CAST(sum(overlap_ns) AS double) / CAST(nullif(sum(comm_ns), 0) AS double), 1)
         AS hidden_percent
FROM time_breakdown
WHERE window_kind = 'all_gpu'
GROUP BY job_name
HAVING sum(comm_ns) > 0
ORDER BY exposed_percent DESC NULLS LAST, job_name
LIMIT 50
