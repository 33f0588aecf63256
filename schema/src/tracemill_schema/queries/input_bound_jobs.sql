-- Which jobs spend their step time on waiting for input?
SELECT job_name,
       count(*) AS steps,
       round(CAST(sum(dur_ns + coalesce(gap_before_ns, 0)) AS double) / 1e9, 3) AS step_time_s,
       round(CAST(sum(input_ns + coalesce(gap_input_ns, 0)) AS double) / 1e9, 3) AS input_s,
       round(100 * CAST(sum(input_ns + coalesce(gap_input_ns, 0)) AS double)
         / CAST(nullif(sum(dur_ns + coalesce(gap_before_ns, 0)), 0) AS double), 1) AS input_percent
FROM step_summary
GROUP BY job_name
ORDER BY input_percent DESC NULLS LAST, job_name
LIMIT 50
