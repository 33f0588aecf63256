-- Where does the time of each GPU go: compute, communication, memory operations, idle?
SELECT job_name, rank, node, device,
       round(100 * CAST(compute_ns AS double) / CAST(nullif(window_ns, 0) AS double), 1)
         AS compute_percent,
       round(100 * CAST(exposed_comm_ns AS double) / CAST(nullif(window_ns, 0) AS double), 1)
         AS exposed_communication_percent,
       round(100 * CAST(exposed_mem_ns AS double) / CAST(nullif(window_ns, 0) AS double), 1)
         AS exposed_memory_percent,
       round(100 * CAST(idle_ns AS double) / CAST(nullif(window_ns, 0) AS double), 1)
         AS idle_percent
FROM time_breakdown
WHERE window_kind = 'all_gpu'
ORDER BY job_name, rank NULLS LAST, device
LIMIT 1000
