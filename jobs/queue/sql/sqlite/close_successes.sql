-- Completes the executions of `end_successes`.
--
-- Parameters:
--   executions: a JSON object: by execution, how many records it processed, or an array of that and its trace
--   now: the time
-- Index: rowid of job_execution
-- Called by: finish.end_attempts
UPDATE cronograph.job_execution AS x
SET completed_at = :now, success = 1, outcome = 'success',
    records_processed = CASE e.type WHEN 'array' THEN json_extract(e.value, '$[0]') ELSE e.value END,
    trace_id = CASE e.type WHEN 'array' THEN json_extract(e.value, '$[1]') END
FROM json_each(:executions) AS e
WHERE x.id = CAST(e.key AS integer)
