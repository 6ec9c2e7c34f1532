-- Which of the node's jobs have runs pending. Apart from `pending_of_other_jobs`, because it is seldom needed and
-- planning it costs more than looking.
--
-- Parameters:
--   jobs: the names of the jobs that the node can run
-- Index: ix_run_claimable_job
-- Called by: candidates.jobs_among_others
SELECT j.name FROM unnest(CAST(:jobs AS text[])) AS j(name)
WHERE (SELECT r.group_name FROM cronograph.run_open r
       WHERE r.state IN ('stuck', 'waiting') AND r.failures >= 0
         AND (r.job_name, r.group_name) > (j.name, '') AND r.job_name <= j.name
       ORDER BY r.job_name, r.group_name LIMIT 1) IS NOT NULL
