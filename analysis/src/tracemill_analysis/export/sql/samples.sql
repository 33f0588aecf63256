-- Sampled values of one process, by counter.
SELECT node, metric, unit, scope, "index", time_ns, value
FROM samples WHERE {window}
ORDER BY node, metric, scope, "index", time_ns, file_row_number
