-- Which profiles are not whole, what is missing and why?
SELECT j.job_name, j.completeness, j.events_read, d.reason,
       sum(d.events) AS events_lost,
       count(DISTINCT d.source_file) AS files,
       max(d.example) AS example
FROM jobs AS j
JOIN drops AS d ON d.job_name = j.job_name
WHERE d.lost
GROUP BY j.job_name, j.completeness, j.events_read, d.reason
ORDER BY events_lost DESC, j.job_name, d.reason
LIMIT 200
