-- Buckets for whose tokens runs wait.
--
-- SQLite steps along the index over all runs that wait for one bucket: there is one process, and few of them.
--
-- Parameters:
--   job_name, rate_key: the bucket after which to begin
--   at_most: how many buckets
-- Index: ix_run_held_rate
-- Called by: admission.look_for_forgotten
SELECT DISTINCT r.job_name, r.rate_key FROM run r
WHERE (r.job_name, r.rate_key) > (:job_name, :rate_key)
  AND r.due_at IS NOT NULL AND r.rate_key IS NOT NULL AND r.state IN ('stuck', 'waiting')
ORDER BY r.job_name, r.rate_key LIMIT :at_most
