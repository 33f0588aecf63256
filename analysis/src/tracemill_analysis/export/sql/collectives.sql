-- What is known of the collectives of one process beyond their kernels.
SELECT device, stream, start_ns, dur_ns, name, process_group, operation, bytes, dtype, group_size
FROM collectives WHERE {window}
ORDER BY device, stream, start_ns, dur_ns DESC, file_row_number
