-- Whether runs of jobs that the node does not know are pending: one step along the index for each job that it knows.
--
-- Parameters:
--   jobs: the names of the jobs that the node can run
-- Index: ix_run_claimable_job
-- Called by: candidates.jobs_among_others
WITH RECURSIVE pending_job(name) AS (
    SELECT (SELECT r.job_name FROM cronograph.run_open r WHERE r.state IN ('stuck', 'waiting') AND r.failures >= 0
            ORDER BY r.job_name, r.group_name LIMIT 1)
    UNION ALL
    SELECT (SELECT r.job_name FROM cronograph.run_open r
            WHERE r.state IN ('stuck', 'waiting') AND r.failures >= 0 AND r.job_name > p.name
            ORDER BY r.job_name, r.group_name LIMIT 1)
    FROM pending_job p WHERE p.name = ANY(CAST(:jobs AS text[])))
SELECT EXISTS (SELECT FROM pending_job p WHERE NOT p.name = ANY(CAST(:jobs AS text[]))) AS are_there
