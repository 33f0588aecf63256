-- Which kernels take most GPU time over all jobs?
SELECT name, category, "precision",
       count(DISTINCT job_name) AS jobs,
       sum("count") AS runs,
       round(CAST(sum(total_ns) AS double) / 1e9, 3) AS total_s,
       round(CAST(sum(total_ns) AS double) / CAST(nullif(sum("count"), 0) AS double) / 1e3, 2)
         AS mean_us
FROM kernel_summary
GROUP BY name, category, "precision"
ORDER BY total_s DESC, name
LIMIT 50
