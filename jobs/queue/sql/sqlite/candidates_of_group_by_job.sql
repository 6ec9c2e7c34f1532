-- What a node could take now of one group and one job, where runs of jobs that it does not know are pending as well.
--
-- Parameters:
--   group: the group
--   job: the name of the job
--   lane: how many runs of each lane
--   now: the time
-- Index: ix_run_claimable_job, uq_run_exclusive
-- Called by: candidates.candidates
SELECT * FROM (
    SELECT r.id, r.group_name, r.priority, r.state, r.exclusive, r.task_id, r.available_at,
        r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
            SELECT 1 FROM cronograph.periodic_task t
            WHERE t.id = r.task_id AND t.schedule_syntax = 'interval')
            OR r.expires_at IS NOT NULL AND r.expires_at <= :now AND r.attempt = 0 AS judged,
        r.concurrency_key IS NOT NULL OR r.rate_key IS NOT NULL AS keyed
    FROM cronograph.run r INDEXED BY ix_run_claimable_job
    WHERE r.state IN ('stuck', 'waiting') AND r.failures >= 0 AND r.job_name = :job AND r.group_name = :group
      AND r.state = 'stuck' AND r.priority = 'high' AND r.available_at < :now
      AND (NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
        SELECT 1 FROM cronograph.run b
        WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ('running', 'scheduled')))
    ORDER BY r.available_at, r.id LIMIT :lane) AS lane
UNION ALL
SELECT * FROM (
    SELECT r.id, r.group_name, r.priority, r.state, r.exclusive, r.task_id, r.available_at,
        r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
            SELECT 1 FROM cronograph.periodic_task t
            WHERE t.id = r.task_id AND t.schedule_syntax = 'interval')
            OR r.expires_at IS NOT NULL AND r.expires_at <= :now AND r.attempt = 0 AS judged,
        r.concurrency_key IS NOT NULL OR r.rate_key IS NOT NULL AS keyed
    FROM cronograph.run r INDEXED BY ix_run_claimable_job
    WHERE r.state IN ('stuck', 'waiting') AND r.failures >= 0 AND r.job_name = :job AND r.group_name = :group
      AND r.state = 'stuck' AND r.priority = 'low' AND r.available_at < :now
      AND (NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
        SELECT 1 FROM cronograph.run b
        WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ('running', 'scheduled')))
    ORDER BY r.available_at, r.id LIMIT :lane) AS lane
UNION ALL
SELECT * FROM (
    SELECT r.id, r.group_name, r.priority, r.state, r.exclusive, r.task_id, r.available_at,
        r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
            SELECT 1 FROM cronograph.periodic_task t
            WHERE t.id = r.task_id AND t.schedule_syntax = 'interval')
            OR r.expires_at IS NOT NULL AND r.expires_at <= :now AND r.attempt = 0 AS judged,
        r.concurrency_key IS NOT NULL OR r.rate_key IS NOT NULL AS keyed
    FROM cronograph.run r INDEXED BY ix_run_claimable_job
    WHERE r.state IN ('stuck', 'waiting') AND r.failures >= 0 AND r.job_name = :job AND r.group_name = :group
      AND r.state = 'waiting' AND r.priority = 'high' AND r.available_at <= :now
      AND (NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
        SELECT 1 FROM cronograph.run b
        WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ('running', 'scheduled')))
    ORDER BY r.available_at, r.id LIMIT :lane) AS lane
UNION ALL
SELECT * FROM (
    SELECT r.id, r.group_name, r.priority, r.state, r.exclusive, r.task_id, r.available_at,
        r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
            SELECT 1 FROM cronograph.periodic_task t
            WHERE t.id = r.task_id AND t.schedule_syntax = 'interval')
            OR r.expires_at IS NOT NULL AND r.expires_at <= :now AND r.attempt = 0 AS judged,
        r.concurrency_key IS NOT NULL OR r.rate_key IS NOT NULL AS keyed
    FROM cronograph.run r INDEXED BY ix_run_claimable_job
    WHERE r.state IN ('stuck', 'waiting') AND r.failures >= 0 AND r.job_name = :job AND r.group_name = :group
      AND r.state = 'waiting' AND r.priority = 'low' AND r.available_at <= :now
      AND (NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
        SELECT 1 FROM cronograph.run b
        WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ('running', 'scheduled')))
    ORDER BY r.available_at, r.id LIMIT :lane) AS lane
