-- Which of the node's jobs have runs pending.
--
-- SQLite has no statistics unless somebody asks for them: which index serves it is said.
--
-- Parameters:
--   jobs: the names of the jobs that the node can run, a JSON array
-- Index: ix_run_claimable_job
-- Called by: candidates.jobs_among_others
SELECT j.value AS name FROM json_each(:jobs) j
WHERE EXISTS (
    SELECT 1 FROM cronograph.run r INDEXED BY ix_run_claimable_job
    WHERE r.state IN ('stuck', 'waiting') AND r.failures >= 0 AND r.job_name = j.value)
