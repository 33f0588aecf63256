-- Which training steps took longest, compared with the mean of their job and rank?
WITH steps AS (
  SELECT job_name, rank, step, dur_ns, gap_before_ns, gpu_busy_ns,
         avg(CAST(dur_ns AS double)) OVER (PARTITION BY job_name, rank) AS mean_ns,
         row_number() OVER (PARTITION BY job_name ORDER BY dur_ns DESC, rank, step) AS place
  FROM step_summary
)
SELECT job_name, rank, step,
       round(CAST(dur_ns AS double) / 1e6, 3) AS step_ms,
       round(mean_ns / 1e6, 3) AS mean_ms,
       round(CAST(dur_ns AS double) / nullif(mean_ns, 0), 2) AS times_mean,
       round(CAST(gap_before_ns AS double) / 1e6, 3) AS waited_before_ms,
       round(CAST(gpu_busy_ns AS double) / 1e6, 3) AS gpu_busy_ms
FROM steps
WHERE place <= 10
ORDER BY job_name, place
LIMIT 500
