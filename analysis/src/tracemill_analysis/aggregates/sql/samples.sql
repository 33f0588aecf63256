-- Samples grouped by what they were taken of. owner: the process of a process metric, else -1.
-- One value per time: where two processes of a node sampled at the same time, the larger.
WITH owned AS (
    SELECT *, CASE WHEN scope = 'process' THEN process_id ELSE -1 END::BIGINT AS owner
    FROM samples
    WHERE isfinite(value)
)
SELECT
    node,
    owner,
    CASE WHEN owner >= 0 THEN max(rank) END::INTEGER AS rank,
    metric,
    max(unit) AS unit,
    "index",
    time_ns,
    max(value) AS value
FROM owned
GROUP BY node, owner, metric, "index", time_ns
ORDER BY node, owner, metric, "index", time_ns
