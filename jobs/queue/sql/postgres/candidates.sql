-- What a node could take now: the oldest claimable runs of each lane, group by group in round-robin order.
--
-- Of each group its due stuck runs (strictly after their time), then its waiting ones by priority, first in, first out.
-- The groups with something pending are found by steps along the index, from the one after `after` on, wrapping once.
-- The walk ends with the LIMIT: what is asked of a group is asked of it alone, since a join would first want to see all
-- groups. A task's exclusive runs never occupy two slots: what would be a second one is no candidate. `judged`: the
-- first start of a run that an interval made, which the tolerance of its task judges. `keyed`: 1: a run needs a slot of its
-- key; 2: it needs a token. A run that is nothing of that is its id alone, unless several lanes have to be put in one order.
-- The step that finds a group finds its first lane, so none before that is asked for.
--
-- `by_job` is the form for a queue in which runs of jobs are pending that the node does not know: each of its own is
-- looked for by itself, so that what it costs does not grow with the runs of others. Its conditions compare rows of
-- columns, and the order names all of them: no other index can serve them, no matter what statistics say.
--
-- Parameters:
--   jobs: the names of the jobs that the node can run
--   foreign: signatures of versions of jobs that are left to other nodes; while all nodes are of one version, none
--   groups: the only groups to look into, in the order of their turns; null: all
--   after: the group that was served last
--   depth: how many groups are looked into
--   lane: how many runs of each lane of a group
--   now: the database's time; null: that of the statement
-- Index: ix_run_claimable, ix_run_claimable_job, ix_run_stuck, uq_run_exclusive
-- Called by: candidates.candidates
WITH RECURSIVE pending(name, lap, place, state, priority) AS (
    SELECT CAST(:after AS text) COLLATE "C", 0, 0, CAST('' AS varchar), CAST('' AS varchar) WHERE CAST(:groups AS text[]) IS NULL
    UNION ALL
    SELECT s.name, s.lap, p.place + 1, s.state, s.priority
    FROM pending p CROSS JOIN LATERAL (
        SELECT n.name, f.lap, n.state, n.priority
        FROM (
            SELECT p.name, p.lap
            UNION ALL
            SELECT CAST('' AS text) COLLATE "C", 1 WHERE p.lap = 0 AND p.name <> '') AS f(name, lap)
        CROSS JOIN LATERAL (
            --if by_job
            SELECT min(r.group_name) AS name, CAST('stuck' AS varchar) AS state, CAST('high' AS varchar) AS priority
            FROM unnest(CAST(:jobs AS text[])) AS j(name) CROSS JOIN LATERAL (
                SELECT r.group_name FROM cronograph.run_open r
                WHERE r.state IN ('stuck', 'waiting') AND r.failures >= 0
                  AND (r.job_name, r.group_name) > (j.name, f.name) AND r.job_name <= j.name
                ORDER BY r.job_name, r.group_name LIMIT 1) r
            HAVING count(*) > 0
            --else
            SELECT r.group_name AS name, r.state, r.priority FROM cronograph.run_open r
            WHERE r.state IN ('stuck', 'waiting') AND r.group_name > f.name
            ORDER BY r.group_name, r.state, r.priority LIMIT 1
            --end
            ) n
        LIMIT 1) s
    WHERE s.lap = 0 OR s.name <= CAST(:after AS text)),
moment AS MATERIALIZED (SELECT coalesce(CAST(:now AS timestamptz), statement_timestamp()) AS at),
lanes AS MATERIALIZED (
    SELECT l.* FROM moment m CROSS JOIN LATERAL (
        VALUES (0, 'stuck', 'high', m.at - interval '1 microsecond'), (0, 'stuck', 'low', m.at - interval '1 microsecond'),
            (1, 'waiting', 'high', m.at), (2, 'waiting', 'low', m.at)) AS l(class, state, priority, until)
    -- Usually nothing is stuck, and each group would be asked twice.
    WHERE l.class > 0 OR (
        SELECT r.id FROM cronograph.run_open r WHERE r.state = 'stuck'
        ORDER BY r.group_name, r.available_at, r.id LIMIT 1) IS NOT NULL)
SELECT p.name AS group_name, p.limited, CAST(p.runs AS text) AS runs
FROM (
    SELECT g.name, c.runs,
        coalesce(q.max_running IS NOT NULL OR q.rate IS NOT NULL OR q.max_wait_low IS NOT NULL, false) AS limited
    FROM (
        SELECT name, state, priority FROM pending WHERE place > 0
        UNION ALL
        SELECT name, 'stuck', 'high' FROM unnest(CAST(:groups AS text[])) AS g(name)) g
    LEFT JOIN LATERAL (SELECT * FROM cronograph.queue_group q WHERE q.name = g.name LIMIT 1) q ON true
    CROSS JOIN LATERAL (
        SELECT json_agg(json_build_array(l.class, r.runs)) AS runs
        FROM lanes l
        --if by_job
        CROSS JOIN unnest(CAST(:jobs AS text[])) AS j(name)
        --end
        CROSS JOIN LATERAL (
            SELECT json_agg(
                --if by_job
                json_build_array(r.id, r.blocks, r.judged, r.keyed, r.available_at)
                --else
                CASE WHEN l.class > 0 AND r.blocks IS NULL AND NOT r.judged AND r.keyed = 0 THEN to_json(r.id)
                    ELSE json_build_array(r.id, r.blocks, r.judged, r.keyed, r.available_at) END
                --end
                ) AS runs
            FROM (
                SELECT r.id, CASE WHEN r.exclusive THEN r.task_id END AS blocks, r.available_at,
                    r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
                        SELECT FROM cronograph.periodic_task t
                        WHERE t.id = r.task_id AND t.schedule_syntax = 'interval')
                    OR r.expires_at IS NOT NULL AND r.expires_at <= (SELECT at FROM moment) AND r.attempt = 0
                        AS judged,
                    CASE WHEN r.rate_key IS NOT NULL THEN 2 WHEN r.concurrency_key IS NOT NULL THEN 1 ELSE 0 END AS keyed
                FROM cronograph.run_open r
                WHERE r.state IN ('stuck', 'waiting')
                  --if by_job
                  AND r.failures >= 0
                  AND (r.job_name, r.group_name, r.state, r.priority) >= (j.name, g.name, l.state, l.priority)
                  AND (r.job_name, r.group_name, r.state, r.priority, r.available_at)
                      <= (j.name, g.name, l.state, l.priority, l.until)
                  --else
                  AND r.group_name = g.name AND r.state = l.state AND r.priority = l.priority
                  AND r.available_at <= l.until AND r.job_name = ANY(CAST(:jobs AS text[]))
                  --end
                  AND (r.signature IS NULL OR r.signature <> ALL(CAST(:foreign AS text[])))
                  AND (NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
                      SELECT FROM cronograph.run_open b
                      WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ('running', 'scheduled')))
                --if by_job
                ORDER BY r.job_name, r.group_name, r.state, r.priority, r.available_at, r.id LIMIT :lane
                --else
                ORDER BY r.available_at, r.id LIMIT :lane
                --end
                ) r) r
        WHERE (l.state, l.priority) >= (g.state, g.priority) AND r.runs IS NOT NULL AND q.paused_at IS NULL
          AND (q.next_token_at IS NULL OR q.next_token_at <= (SELECT at FROM moment))) c
    WHERE c.runs IS NOT NULL
    LIMIT :depth) p
