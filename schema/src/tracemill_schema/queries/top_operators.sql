-- Which framework operators take most host time themselves, and how much GPU time do they start?
SELECT category, name,
       count(DISTINCT job_name) AS jobs,
       sum("count") AS runs,
       round(CAST(sum(self_ns) AS double) / 1e9, 3) AS self_s,
       sum(self_kernels) AS kernels,
       round(CAST(sum(self_gpu_ns) AS double) / 1e9, 3) AS gpu_s,
       round(CAST(sum(launch_delay_ns) AS double) / CAST(nullif(sum(launches), 0) AS double) / 1e3, 2)
         AS launch_delay_us
FROM operator_summary
GROUP BY category, name
ORDER BY self_s DESC, category, name
LIMIT 50
