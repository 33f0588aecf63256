-- Which findings come back in many jobs, and how many GPU-hours are at stake?
SELECT rule, severity,
       count(DISTINCT job_name) AS jobs,
       round(sum(gpu_hours), 3) AS gpu_hours,
       max_by(job_name, gpu_hours) AS worst_job,
       max_by(title, gpu_hours) AS worst_title
FROM findings
WHERE NOT abstained
GROUP BY rule, severity
ORDER BY gpu_hours DESC, rule, severity
LIMIT 100
