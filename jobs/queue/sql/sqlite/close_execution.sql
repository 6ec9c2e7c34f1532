-- Completes the execution of `end_attempt`.
--
-- Parameters:
--   execution_id: the execution
--   now: the time
--   success, outcome, error, error_type, traceback, records_processed, value, progress, log_lines, log_cut, trace_id: the fields
--     of `Ending`
-- Index: rowid of job_execution
-- Called by: finish.end_attempts
UPDATE cronograph.job_execution
SET completed_at = :now, success = :success, outcome = :outcome, error_message = :error, error_type = :error_type,
    traceback = :traceback, records_processed = :records_processed, value = :value,
    progress = coalesce(:progress, progress), log_lines = :log_lines, log_cut = :log_cut,
    trace_id = :trace_id
WHERE id = :execution_id
