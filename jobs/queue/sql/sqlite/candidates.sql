-- What a node could take now: the oldest claimable runs of each lane, group by group in round-robin order.
--
-- Of each group its due stuck runs (strictly after their time), then its waiting ones by priority, first in, first out.
-- The groups with something pending are found by steps along the index, first those after `after`, then those before
-- it; a reader that has enough of them stops. `by_job` is the form for a queue in which runs of jobs are pending that
-- the node does not know: each of its own is looked for by itself. A time of text comes before itself with an end more.
--
-- Parameters:
--   jobs: the names of the jobs that the node can run, a JSON array
--   groups: the only groups to look into, a JSON array in the order of their turns; null: all
--   after: the group that was served last
--   lane: how many runs of each lane of a group
--   now: the time
-- Index: ix_run_claimable, ix_run_claimable_job, uq_run_exclusive
-- Called by: candidates.candidates
WITH RECURSIVE pending(name, lap, found) AS (
    SELECT :after, 0, false WHERE :groups IS NULL
    UNION ALL
    SELECT '', 1, false WHERE :groups IS NULL AND :after <> ''
    UNION ALL
    SELECT (
        --if by_job
        SELECT min((SELECT r.group_name FROM cronograph.run r INDEXED BY ix_run_claimable_job
                    WHERE r.state IN ('stuck', 'waiting') AND r.failures >= 0 AND r.job_name = j.value
                      AND r.group_name > p.name
                    ORDER BY r.group_name LIMIT 1))
        FROM json_each(:jobs) j
        --else
        SELECT min(r.group_name) FROM cronograph.run r
        WHERE r.state IN ('stuck', 'waiting') AND r.group_name > p.name
        --end
        ), p.lap, true
    FROM pending p WHERE p.name IS NOT NULL AND (p.lap = 0 OR p.name < :after)
    ORDER BY 2),
lanes(class, state, priority, until) AS (
    VALUES (0, 'stuck', 'high', rtrim(:now, 'Z')), (0, 'stuck', 'low', rtrim(:now, 'Z')),
        (1, 'waiting', 'high', :now), (2, 'waiting', 'low', :now))
SELECT p.name AS group_name,
    coalesce(q.max_running IS NOT NULL OR q.rate IS NOT NULL OR q.max_wait_low IS NOT NULL, false) AS limited, (
    SELECT json_group_array(json_array(l.class, json((
        SELECT json_group_array(json_array(f.id, f.blocks, f.judged, f.keyed, f.available_at))
        FROM (
            SELECT r.id, CASE WHEN r.exclusive THEN r.task_id END AS blocks,
                r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
                    SELECT 1 FROM cronograph.periodic_task t
                    WHERE t.id = r.task_id AND t.schedule_syntax = 'interval')
                OR r.expires_at IS NOT NULL AND r.expires_at <= :now AND r.attempt = 0 AS judged,
                CASE WHEN r.rate_key IS NOT NULL THEN 2 WHEN r.concurrency_key IS NOT NULL THEN 1 ELSE 0 END AS keyed,
                r.available_at
            FROM cronograph.run r
            --if by_job
            INDEXED BY ix_run_claimable_job
            WHERE r.failures >= 0 AND r.job_name = j.value
            --else
            INDEXED BY ix_run_claimable
            WHERE r.job_name IN (SELECT value FROM json_each(:jobs))
            --end
              AND r.state IN ('stuck', 'waiting') AND r.group_name = p.name AND r.state = l.state
              AND r.priority = l.priority AND r.available_at <= l.until
              AND (NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
                SELECT 1 FROM cronograph.run b
                WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ('running', 'scheduled')))
            ORDER BY r.available_at, r.id LIMIT :lane) f))))
    FROM lanes l
    --if by_job
    CROSS JOIN json_each(:jobs) j
    --end
    ) AS runs
FROM (
    SELECT name FROM pending WHERE found AND name IS NOT NULL AND (lap = 0 OR name <= :after)
    UNION ALL
    SELECT value FROM json_each(:groups)) p
LEFT JOIN cronograph.queue_group q ON q.name = p.name
WHERE q.paused_at IS NULL AND (q.next_token_at IS NULL OR q.next_token_at <= :now)
