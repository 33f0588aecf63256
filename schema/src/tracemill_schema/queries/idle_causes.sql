-- Why are the GPUs of each job idle, and for how much of their time?
SELECT job_name, cause,
       round(CAST(sum(idle_ns) AS double) / 1e9, 3) AS idle_s,
       round(100 * CAST(sum(idle_ns) AS double)
             / CAST(nullif(sum(sum(idle_ns)) OVER (PARTITION BY job_name), 0) AS double), 1)
         AS percent_of_idle,
       sum(gaps) AS gaps,
       round(CAST(max(longest_ns) AS double) / 1e6, 3) AS longest_ms
FROM idle_causes
GROUP BY job_name, cause
ORDER BY job_name, idle_s DESC, cause
LIMIT 200
