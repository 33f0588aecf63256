-- The arrows from launching calls to runs, one row per run. A call that several rows of api_calls
-- could be is the first of them.
CREATE TABLE flows AS
WITH runs AS (
  SELECT 2 * file_row_number AS run, correlation, launch_start_ns, launch_thread
  FROM kernels WHERE launch_start_ns IS NOT NULL AND {window}
  UNION ALL
  SELECT 2 * file_row_number + 1, correlation, launch_start_ns, launch_thread
  FROM memory_ops WHERE launch_start_ns IS NOT NULL AND {window}
),
calls AS (
  SELECT min(file_row_number) AS call, correlation, start_ns, thread
  FROM api_calls WHERE {window} GROUP BY correlation, start_ns, thread
)
SELECT run, call, run + 1 AS flow
FROM runs JOIN calls
  ON calls.correlation = runs.correlation
  AND calls.start_ns = runs.launch_start_ns
  AND calls.thread = runs.launch_thread
