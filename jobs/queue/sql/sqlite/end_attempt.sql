-- Ends the attempt of a run in any way; whether it may has been judged.
--
-- Parameters:
--   id: the run
--   attempt, state, failures, available_at, finished_at, error, value, progress, awaits, wake_at: the fields of `Ending`
-- Index: rowid of run
-- Called by: finish.end_attempts
UPDATE cronograph.run
SET state = :state, failures = :failures, available_at = coalesce(:available_at, available_at),
    finished_at = :finished_at, done_attempt = :attempt, error = :error, result = :value,
    awaits = :awaits, wake_at = :wake_at, progress = coalesce(:progress, progress)
WHERE id = :id
