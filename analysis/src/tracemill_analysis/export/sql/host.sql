-- Ranges, operators and API calls of one process, by thread; outer ones first.
WITH outgoing AS (SELECT call, list(flow ORDER BY flow) AS flows FROM flows GROUP BY call),
host AS (
  SELECT 'annotations' AS kind, 0 AS place, file_row_number AS row, thread, start_ns, dur_ns, name,
         'annotation' AS category, NULL::BIGINT AS correlation, NULL::BIGINT AS step,
         NULL::VARCHAR AS module, NULL::VARCHAR AS shapes
  FROM annotations WHERE {window}
  UNION ALL
  SELECT 'operators', 1, file_row_number, thread, start_ns, dur_ns, name, category, NULL, step,
         module, shapes
  FROM operators WHERE {window}
  UNION ALL
  SELECT 'api_calls', 2, file_row_number, thread, start_ns, dur_ns, name, api, correlation, step,
         NULL, NULL
  FROM api_calls WHERE {window}
)
SELECT host.*, outgoing.flows
FROM host LEFT JOIN outgoing ON host.kind = 'api_calls' AND outgoing.call = host.row
ORDER BY thread, start_ns, dur_ns DESC, place, row
