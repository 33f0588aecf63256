-- Which rank is most often the slowest of its step?
WITH placed AS (
  SELECT job_name, node, rank, step, dur_ns,
         count(*) OVER (PARTITION BY job_name, step, occurrence) AS ranks,
         row_number() OVER (
           PARTITION BY job_name, step, occurrence ORDER BY dur_ns DESC, rank
         ) AS place,
         dur_ns - min(dur_ns) OVER (PARTITION BY job_name, step, occurrence) AS behind_ns
  FROM step_summary
  WHERE rank IS NOT NULL
)
SELECT job_name, node, rank,
       count(*) AS steps,
       count_if(place = 1) AS slowest,
       round(100 * CAST(count_if(place = 1) AS double) / CAST(count(*) AS double), 1)
         AS slowest_percent,
       round(CAST(sum(behind_ns) AS double) / CAST(count(*) AS double) / 1e6, 3)
         AS mean_behind_fastest_ms
FROM placed
WHERE ranks > 1
GROUP BY job_name, node, rank
ORDER BY job_name, slowest DESC, rank
LIMIT 500
