-- How much of the compute kernels' time do tensor cores get, and in which precision?
SELECT job_name, "precision",
       sum("count") AS runs,
       round(CAST(sum(total_ns) AS double) / 1e9, 3) AS total_s,
       round(100 * CAST(sum(tensor_core_ns) AS double) / CAST(nullif(sum(total_ns), 0) AS double), 1)
         AS tensor_core_percent
FROM precision_summary
GROUP BY job_name, "precision"
ORDER BY job_name, total_s DESC, "precision"
LIMIT 500
