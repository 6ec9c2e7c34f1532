-- What a node could take now of one group: of each lane its oldest claimable runs.
--
-- Its due stuck runs (strictly after their time), then its waiting ones by priority, first in, first out.
--
-- Parameters:
--   group: the group
--   jobs: the names of the jobs that the node can run, a JSON array
--   lane: how many runs of each lane
--   now: the time
-- Index: ix_run_claimable, ix_run_stuck, uq_run_exclusive
-- Called by: candidates.candidates
SELECT * FROM (
    SELECT r.id, r.group_name, r.priority, r.state, r.exclusive, r.task_id, r.available_at,
        r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
            SELECT 1 FROM cronograph.periodic_task t
            WHERE t.id = r.task_id AND t.schedule_syntax = 'interval')
            OR r.expires_at IS NOT NULL AND r.expires_at <= :now AND r.attempt = 0 AS judged,
        r.concurrency_key IS NOT NULL OR r.rate_key IS NOT NULL AS keyed
    FROM cronograph.run r
    WHERE r.state IN ('stuck', 'waiting') AND r.state = 'stuck' AND r.group_name = :group
      AND r.available_at < :now AND r.job_name IN (SELECT value FROM json_each(:jobs))
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
    FROM cronograph.run r
    WHERE r.state IN ('stuck', 'waiting') AND r.state = 'waiting' AND r.group_name = :group
      AND r.available_at <= :now AND r.priority = 'high' AND r.job_name IN (SELECT value FROM json_each(:jobs))
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
    FROM cronograph.run r
    WHERE r.state IN ('stuck', 'waiting') AND r.state = 'waiting' AND r.group_name = :group
      AND r.available_at <= :now AND r.priority = 'low' AND r.job_name IN (SELECT value FROM json_each(:jobs))
      AND (NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
        SELECT 1 FROM cronograph.run b
        WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ('running', 'scheduled')))
    ORDER BY r.available_at, r.id LIMIT :lane) AS lane
