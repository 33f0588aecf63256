-- Collectives of all ranks, by group and step in order of start.
SELECT
    process_id,
    process_group,
    step,
    operation,
    group_size,
    start_ns,
    start_ns + dur_ns AS end_ns
FROM collectives
WHERE rank IS NOT NULL
ORDER BY process_group NULLS LAST, step NULLS LAST, process_id, start_ns, device, stream, dur_ns
