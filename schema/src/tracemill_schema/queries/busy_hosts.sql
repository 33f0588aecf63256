-- On which nodes is the CPU, not the GPU, the limit?
SELECT c.job_name, c.node,
       round(c.mean * 100, 1) AS mean_cpu_percent,
       round(c.p95 * 100, 1) AS p95_cpu_percent,
       round(j.gpu_utilization * 100, 1) AS job_gpu_percent
FROM cpu_summary AS c
JOIN jobs AS j ON j.job_name = c.job_name
WHERE c.metric = 'cpu_utilization' AND c."index" = -1
ORDER BY c.p95 DESC, c.job_name, c.node
LIMIT 100
