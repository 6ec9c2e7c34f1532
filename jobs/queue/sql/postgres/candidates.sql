-- What a node could take now: the oldest claimable runs of each lane, group by group in round-robin order.
--
-- Of each group its due stuck runs (strictly after their time), then its waiting ones by priority, first in, first out.
-- The groups with something pending are found by steps along the index, from the one after `after` on, wrapping once.
-- The walk ends with the LIMIT: what is asked of a group is asked of it alone, since a join would first want to see all
-- groups; and OFFSET 0 has each step made once, not once for each place that mentions it.
-- A task's exclusive runs never occupy two slots: what would be a second one is no candidate. `judged`: the first start
-- of a run that an interval made, which the tolerance of its task judges.
--
-- Parameters:
--   jobs: the names of the jobs that the node can run
--   foreign: signatures of versions of jobs that are left to other nodes; while all nodes are of one version, none
--   groups: the only groups to look into, in the order of their turns; null: all
--   after: the group that was served last
--   depth: how many groups are looked into
--   lane: how many runs of each lane of a group
--   now: the database's time
-- Index: ix_run_claimable, ix_run_stuck, uq_run_exclusive
-- Called by: candidates.candidates
WITH RECURSIVE pending(name, lap, place) AS (
    SELECT CAST(:after AS text) COLLATE "C", 0, 0 WHERE CAST(:groups AS text[]) IS NULL
    UNION ALL
    SELECT s.name, s.lap, p.place + 1
    FROM pending p CROSS JOIN LATERAL (
        SELECT coalesce(a.name, b.name) AS name, CASE WHEN a.name IS NULL THEN 1 ELSE p.lap END AS lap
        FROM (
            SELECT (SELECT r.group_name FROM cronograph.run_open r
                   WHERE r.state IN ('stuck', 'waiting') AND r.group_name > p.name
                   ORDER BY r.group_name LIMIT 1) AS name
            OFFSET 0) a
        LEFT JOIN LATERAL (
            SELECT (SELECT r.group_name FROM cronograph.run_open r
                   WHERE r.state IN ('stuck', 'waiting') AND r.group_name > ''
                   ORDER BY r.group_name LIMIT 1) AS name
            WHERE a.name IS NULL AND p.lap = 0 AND p.name <> '' OFFSET 0) b ON true
        OFFSET 0) s
    WHERE s.name IS NOT NULL AND (s.lap = 0 OR s.name <= CAST(:after AS text)))
SELECT c.*,
    coalesce((SELECT q.max_running IS NOT NULL OR q.rate IS NOT NULL OR q.max_wait_low IS NOT NULL
              FROM cronograph.queue_group q
              WHERE q.name = p.name), false) AS limited
FROM (
    SELECT p.name
    FROM (
        SELECT name FROM pending WHERE place > 0
        UNION ALL
        SELECT name FROM unnest(CAST(:groups AS text[])) AS g(name)) p
    WHERE NOT EXISTS (
            SELECT FROM cronograph.queue_group q
            WHERE q.name = p.name AND (q.paused_at IS NOT NULL OR q.next_token_at > CAST(:now AS timestamptz)))
      AND (SELECT true FROM (
            (SELECT r.id, r.group_name, r.priority, r.state, r.exclusive, r.task_id,
                 r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
                     SELECT FROM cronograph.periodic_task t
                     WHERE t.id = r.task_id AND t.schedule_syntax = 'interval')
            OR r.expires_at IS NOT NULL AND r.expires_at <= CAST(:now AS timestamptz) AND r.attempt = 0 AS judged,
                 r.concurrency_key IS NOT NULL OR r.rate_key IS NOT NULL AS keyed
             FROM cronograph.run_open r
             WHERE r.state IN ('stuck', 'waiting') AND r.group_name = p.name AND r.state = 'stuck' AND r.available_at < CAST(:now AS timestamptz)
               AND r.job_name = ANY(CAST(:jobs AS text[]))
               AND (r.signature IS NULL OR r.signature <> ALL(CAST(:foreign AS text[])))
               AND (NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
                   SELECT FROM cronograph.run_open b
                   WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ('running', 'scheduled')))
             ORDER BY r.available_at, r.id LIMIT :lane)
            UNION ALL
            (SELECT r.id, r.group_name, r.priority, r.state, r.exclusive, r.task_id,
                 r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
                     SELECT FROM cronograph.periodic_task t
                     WHERE t.id = r.task_id AND t.schedule_syntax = 'interval')
            OR r.expires_at IS NOT NULL AND r.expires_at <= CAST(:now AS timestamptz) AND r.attempt = 0 AS judged,
                 r.concurrency_key IS NOT NULL OR r.rate_key IS NOT NULL AS keyed
             FROM cronograph.run_open r
             WHERE r.state IN ('stuck', 'waiting') AND r.group_name = p.name AND r.state = 'waiting' AND r.priority = 'high'
               AND r.available_at <= CAST(:now AS timestamptz)
               AND r.job_name = ANY(CAST(:jobs AS text[]))
               AND (r.signature IS NULL OR r.signature <> ALL(CAST(:foreign AS text[])))
               AND (NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
                   SELECT FROM cronograph.run_open b
                   WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ('running', 'scheduled')))
             ORDER BY r.available_at, r.id LIMIT :lane)
            UNION ALL
            (SELECT r.id, r.group_name, r.priority, r.state, r.exclusive, r.task_id,
                 r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
                     SELECT FROM cronograph.periodic_task t
                     WHERE t.id = r.task_id AND t.schedule_syntax = 'interval')
            OR r.expires_at IS NOT NULL AND r.expires_at <= CAST(:now AS timestamptz) AND r.attempt = 0 AS judged,
                 r.concurrency_key IS NOT NULL OR r.rate_key IS NOT NULL AS keyed
             FROM cronograph.run_open r
             WHERE r.state IN ('stuck', 'waiting') AND r.group_name = p.name AND r.state = 'waiting' AND r.priority = 'low'
               AND r.available_at <= CAST(:now AS timestamptz)
               AND r.job_name = ANY(CAST(:jobs AS text[]))
               AND (r.signature IS NULL OR r.signature <> ALL(CAST(:foreign AS text[])))
               AND (NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
                   SELECT FROM cronograph.run_open b
                   WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ('running', 'scheduled')))
             ORDER BY r.available_at, r.id LIMIT :lane)
          ) AS c LIMIT 1)
    LIMIT :depth) p
CROSS JOIN LATERAL (
    (SELECT r.id, r.group_name, r.priority, r.state, r.exclusive, r.task_id,
         r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
             SELECT FROM cronograph.periodic_task t
             WHERE t.id = r.task_id AND t.schedule_syntax = 'interval')
            OR r.expires_at IS NOT NULL AND r.expires_at <= CAST(:now AS timestamptz) AND r.attempt = 0 AS judged,
         r.concurrency_key IS NOT NULL OR r.rate_key IS NOT NULL AS keyed
     FROM cronograph.run_open r
     WHERE r.state IN ('stuck', 'waiting') AND r.group_name = p.name AND r.state = 'stuck' AND r.available_at < CAST(:now AS timestamptz)
       AND r.job_name = ANY(CAST(:jobs AS text[]))
       AND (r.signature IS NULL OR r.signature <> ALL(CAST(:foreign AS text[])))
       AND (NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
           SELECT FROM cronograph.run_open b
           WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ('running', 'scheduled')))
     ORDER BY r.available_at, r.id LIMIT :lane)
    UNION ALL
    (SELECT r.id, r.group_name, r.priority, r.state, r.exclusive, r.task_id,
         r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
             SELECT FROM cronograph.periodic_task t
             WHERE t.id = r.task_id AND t.schedule_syntax = 'interval')
            OR r.expires_at IS NOT NULL AND r.expires_at <= CAST(:now AS timestamptz) AND r.attempt = 0 AS judged,
         r.concurrency_key IS NOT NULL OR r.rate_key IS NOT NULL AS keyed
     FROM cronograph.run_open r
     WHERE r.state IN ('stuck', 'waiting') AND r.group_name = p.name AND r.state = 'waiting' AND r.priority = 'high'
       AND r.available_at <= CAST(:now AS timestamptz)
       AND r.job_name = ANY(CAST(:jobs AS text[]))
       AND (r.signature IS NULL OR r.signature <> ALL(CAST(:foreign AS text[])))
       AND (NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
           SELECT FROM cronograph.run_open b
           WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ('running', 'scheduled')))
     ORDER BY r.available_at, r.id LIMIT :lane)
    UNION ALL
    (SELECT r.id, r.group_name, r.priority, r.state, r.exclusive, r.task_id,
         r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
             SELECT FROM cronograph.periodic_task t
             WHERE t.id = r.task_id AND t.schedule_syntax = 'interval')
            OR r.expires_at IS NOT NULL AND r.expires_at <= CAST(:now AS timestamptz) AND r.attempt = 0 AS judged,
         r.concurrency_key IS NOT NULL OR r.rate_key IS NOT NULL AS keyed
     FROM cronograph.run_open r
     WHERE r.state IN ('stuck', 'waiting') AND r.group_name = p.name AND r.state = 'waiting' AND r.priority = 'low'
       AND r.available_at <= CAST(:now AS timestamptz)
       AND r.job_name = ANY(CAST(:jobs AS text[]))
       AND (r.signature IS NULL OR r.signature <> ALL(CAST(:foreign AS text[])))
       AND (NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
           SELECT FROM cronograph.run_open b
           WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ('running', 'scheduled')))
     ORDER BY r.available_at, r.id LIMIT :lane)
) c
