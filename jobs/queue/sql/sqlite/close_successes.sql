-- Completes the executions of `end_successes`.
--
-- Parameters:
--   executions: a JSON array
--   now: the time
-- Index: rowid of job_execution
-- Called by: endings.end_attempts
UPDATE cronograph.job_execution SET completed_at = :now, success = 1, outcome = 'success'
WHERE id IN (SELECT value FROM json_each(:executions))
