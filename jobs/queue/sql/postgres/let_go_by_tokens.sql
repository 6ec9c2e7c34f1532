-- Lets go the first runs that wait for a token of a bucket. What others have locked is passed over.
--
-- Parameters:
--   job_name, rate_key: the bucket
--   at_most: how many runs at most
-- Index: ix_run_held_rate
-- Called by: admission.let_go_by_tokens
UPDATE cronograph.run_open r SET available_at = r.due_at, due_at = NULL
FROM (
    SELECT f.id FROM cronograph.run_open f
    WHERE f.job_name = :job_name AND f.rate_key = :rate_key AND f.due_at IS NOT NULL
      AND f.state IN ('stuck', 'waiting')
    ORDER BY f.job_name, f.rate_key, f.state, f.priority, f.due_at, f.id LIMIT :at_most OFFSET 0
    FOR UPDATE SKIP LOCKED) first
WHERE r.id = first.id
RETURNING r.id
