-- Completes the executions of `end_successes`.
--
-- Parameters:
--   executions: a JSON object: by execution, how many records it processed
--   now: the time
-- Index: rowid of job_execution
-- Called by: endings.end_attempts
UPDATE cronograph.job_execution AS x
SET completed_at = :now, success = 1, outcome = 'success', records_processed = e.value
FROM json_each(:executions) AS e
WHERE x.id = CAST(e.key AS integer)
