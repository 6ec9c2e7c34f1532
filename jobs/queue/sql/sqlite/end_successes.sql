-- Ends runs whose attempts succeeded and of which nothing else is kept: a third of the time of a statement for each.
--
-- Parameters:
--   ids: the runs, a JSON array
--   now: the time
-- Index: rowid of run
-- Called by: finish.end_attempts
UPDATE cronograph.run
SET state = 'success', finished_at = :now, done_attempt = attempt, error = NULL, result = NULL
WHERE id IN (SELECT value FROM json_each(:ids))
