-- Collectives of one process by device, group and operation.
SELECT
    device,
    process_group,
    operation,
    count(*)::BIGINT AS count,
    sum(dur_ns)::BIGINT AS total_ns,
    min(dur_ns)::BIGINT AS min_ns,
    max(dur_ns)::BIGINT AS max_ns,
    sum(dur_ns)::DOUBLE / count(*) AS mean_ns,
    quantile_disc(dur_ns, 0.50)::BIGINT AS p50_ns,
    quantile_disc(dur_ns, 0.95)::BIGINT AS p95_ns,
    quantile_disc(dur_ns, 0.99)::BIGINT AS p99_ns,
    coalesce(sum(bytes), 0)::BIGINT AS bytes
FROM collectives
WHERE process_id = $process_id
GROUP BY device, process_group, operation
ORDER BY device, process_group NULLS FIRST, operation
