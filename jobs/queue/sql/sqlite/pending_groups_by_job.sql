-- Groups in which runs of the node's own jobs are pending and whether they have a limit, in round-robin order.
--
-- Parameters:
--   after: the group that was served last
--   from_name, from_lap: the group after which this page begins, and whether the walk has wrapped
--   depth: how many groups at most
--   now: the time; groups that wait for a token are left out
--   jobs: the names of the jobs that the node can run, a JSON array
-- Index: ix_run_claimable_job
-- Called by: candidates.candidates
WITH RECURSIVE pending(name, lap, place) AS (
    SELECT :from_name, :from_lap, 0
    UNION ALL
    SELECT coalesce((
            SELECT min((SELECT r.group_name FROM cronograph.run r INDEXED BY ix_run_claimable_job
                        WHERE r.state IN ('stuck', 'waiting') AND r.failures >= 0 AND r.job_name = j.value
                          AND r.group_name > p.name
                        ORDER BY r.group_name LIMIT 1))
            FROM json_each(:jobs) j), CASE WHEN p.lap = 0 AND p.name <> '' THEN (
            SELECT min((SELECT r.group_name FROM cronograph.run r INDEXED BY ix_run_claimable_job
                        WHERE r.state IN ('stuck', 'waiting') AND r.failures >= 0 AND r.job_name = j.value
                          AND r.group_name > ''
                        ORDER BY r.group_name LIMIT 1))
            FROM json_each(:jobs) j) END),
        CASE WHEN (
            SELECT min((SELECT r.group_name FROM cronograph.run r INDEXED BY ix_run_claimable_job
                        WHERE r.state IN ('stuck', 'waiting') AND r.failures >= 0 AND r.job_name = j.value
                          AND r.group_name > p.name
                        ORDER BY r.group_name LIMIT 1))
            FROM json_each(:jobs) j) IS NULL THEN 1 ELSE p.lap END,
        p.place + 1
    FROM pending p WHERE p.name IS NOT NULL AND (p.lap = 0 OR p.name < :after))
SELECT p.name, p.lap, q.max_running IS NOT NULL OR q.rate IS NOT NULL OR q.max_wait_low IS NOT NULL AS limited
FROM pending p LEFT JOIN cronograph.queue_group q ON q.name = p.name
WHERE p.place > 0 AND p.name IS NOT NULL AND (p.lap = 0 OR p.name <= :after) AND q.paused_at IS NULL
  AND (q.next_token_at IS NULL OR q.next_token_at <= :now)
LIMIT :depth
