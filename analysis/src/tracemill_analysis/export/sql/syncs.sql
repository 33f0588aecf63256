-- Synchronisations of one process as the device saw them, by stream. Those seen from the host are
-- rows of api_calls too, and exported as such.
SELECT 'syncs' AS kind, device, stream, start_ns, dur_ns, name, kind AS category, correlation
FROM syncs WHERE side = 'device' AND {window}
ORDER BY device, stream, start_ns, dur_ns DESC, file_row_number
