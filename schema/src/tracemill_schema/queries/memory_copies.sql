-- Which copies between host and GPU cost most, and do they go through pageable memory?
SELECT job_name, kind, coalesce(src_kind, 'unknown') AS src_kind,
       coalesce(dst_kind, 'unknown') AS dst_kind,
       sum("count") AS operations,
       round(CAST(sum(bytes) AS double) / 1e9, 3) AS gigabytes,
       round(CAST(sum(total_ns) AS double) / 1e9, 3) AS total_s,
       round(max(bandwidth_bytes_per_s) / 1e9, 2) AS best_gigabytes_per_s
FROM memory_op_summary
WHERE kind IN ('HtoD', 'DtoH')
GROUP BY job_name, kind, coalesce(src_kind, 'unknown'), coalesce(dst_kind, 'unknown')
ORDER BY total_s DESC, job_name, kind, src_kind, dst_kind
LIMIT 100
