-- Kernels and memory operations of one process, by track. {window} selects; flow is the id of the
-- arrow from the launch, null where the launch is not exported.
WITH runs AS (
  SELECT 'kernels' AS kind, 2 * file_row_number AS row, device, stream, start_ns, dur_ns, name,
         category, correlation, step, graph_node, registers, shared_bytes, NULL::BIGINT AS bytes,
         CASE WHEN grid_x IS NULL THEN NULL ELSE [grid_x, grid_y, grid_z] END AS grid,
         CASE WHEN block_x IS NULL THEN NULL ELSE [block_x, block_y, block_z] END AS block
  FROM kernels WHERE {window}
  UNION ALL
  SELECT 'memory_ops', 2 * file_row_number + 1, device, stream, start_ns, dur_ns, name,
         kind, correlation, step, NULL, NULL, NULL, bytes, NULL, NULL
  FROM memory_ops WHERE {window}
)
SELECT runs.*, flows.flow
FROM runs LEFT JOIN flows ON flows.run = runs.row
ORDER BY device, stream, start_ns, dur_ns DESC, row
