-- When, in the course of a job, are its GPUs idle? (mean over all GPUs, in twenty parts)
WITH bins AS (
  SELECT u.job_name, u.utilization,
         CAST(floor(20 * CAST(u.bin_start_ns - j.start_ns AS double)
           / CAST(nullif(j.dur_ns, 0) AS double)) AS integer) AS part
  FROM utilization AS u
  JOIN jobs AS j ON j.job_name = u.job_name
  WHERE u.resource = 'gpu'
)
SELECT job_name, least(greatest(part, 0), 19) AS part,
       round(100 * avg(utilization), 1) AS gpu_percent
FROM bins
GROUP BY job_name, least(greatest(part, 0), 19)
ORDER BY job_name, part
LIMIT 1000
