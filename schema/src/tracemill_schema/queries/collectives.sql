-- What do collectives cost by operation, and how large are they?
SELECT job_name, operation, coalesce(process_group, 'unknown') AS process_group,
       sum("count") AS collectives,
       round(CAST(sum(bytes) AS double) / CAST(nullif(sum("count"), 0) AS double) / 1e6, 3)
         AS mean_megabytes,
       round(CAST(sum(total_ns) AS double) / CAST(nullif(sum("count"), 0) AS double) / 1e6, 3)
         AS mean_ms,
       round(CAST(max(max_ns) AS double) / 1e6, 3) AS longest_ms
FROM collective_summary
GROUP BY job_name, operation, coalesce(process_group, 'unknown')
ORDER BY job_name, mean_ms DESC, operation, process_group
LIMIT 500
