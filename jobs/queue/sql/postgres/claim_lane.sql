-- Begins runs of the only lane there is: the usual claim, in one statement.
--
-- A lane is the due runs of one group and one priority. Where only one group has runs pending, nothing stuck is due, the
-- group is neither paused nor limited, and all that is due has one priority, the fair order is the order of the lane.
-- Otherwise nothing is taken, and `found` says why; so it is where runs are pending of jobs that the node does not know,
-- since they may stand in front of its own. Nothing is joined but lists of keys with primary keys. What is the
-- same for all rows and costs the node more than a number to read comes with the first row alone.
--
-- Parameters:
--   node_id, node: the node that takes the runs
--   jobs: the names of the jobs that it can run
--   slots: how many runs it takes at most
--   group, high, available_at, run_id: where the last claim of this lane ended, to go on behind that run; all null: look
--     at the lane from its beginning. A look behind a run does not look for jobs that the node does not know.
-- Index: ix_run_claimable, ix_run_claimable_job, ix_run_stuck, ix_run_available, uq_run_exclusive
-- Called by: lane.claim_lane
WITH RECURSIVE moment AS MATERIALIZED (SELECT statement_timestamp() AS at),
accepting AS MATERIALIZED (
    SELECT n.id FROM cronograph.node n
    WHERE n.id = :node_id AND n.state IN ('active', 'stalled', 'starting') FOR KEY SHARE),
pending_job(name) AS (
    SELECT (SELECT r.job_name FROM cronograph.run_open r WHERE r.state IN ('stuck', 'waiting') AND r.failures >= 0
            ORDER BY r.job_name, r.group_name LIMIT 1)
    UNION ALL
    SELECT (SELECT r.job_name FROM cronograph.run_open r
            WHERE r.state IN ('stuck', 'waiting') AND r.failures >= 0 AND r.job_name > p.name
            ORDER BY r.job_name, r.group_name LIMIT 1)
    FROM pending_job p WHERE p.name = ANY(CAST(:jobs AS text[]))),
whole AS MATERIALIZED (
    SELECT (SELECT r.group_name FROM cronograph.run_open r
         WHERE r.state IN ('stuck', 'waiting') ORDER BY r.group_name LIMIT 1) AS lowest,
        (SELECT r.group_name FROM cronograph.run_open r
         WHERE r.state IN ('stuck', 'waiting') ORDER BY r.group_name DESC LIMIT 1) AS highest,
        EXISTS (SELECT FROM pending_job p WHERE p.name <> ALL(CAST(:jobs AS text[]))) AS shared
    WHERE CAST(:group AS text) IS NULL),
ends AS MATERIALIZED (
    SELECT lowest, highest, shared FROM whole
    UNION ALL
    SELECT CAST(:group AS text) COLLATE "C",
        CASE WHEN NOT EXISTS (SELECT FROM cronograph.run_open r
                              WHERE r.state IN ('stuck', 'waiting') AND r.group_name < CAST(:group AS text))
              AND NOT EXISTS (SELECT FROM cronograph.run_open r
                              WHERE r.state IN ('stuck', 'waiting') AND r.group_name > CAST(:group AS text))
             THEN CAST(:group AS text) END COLLATE "C",
        false
    WHERE CAST(:group AS text) IS NOT NULL),
classes AS MATERIALIZED (
    SELECT e.lowest AS name, m.at, EXISTS (SELECT FROM accepting) AS accepts,
        e.shared OR e.lowest IS DISTINCT FROM e.highest
        OR EXISTS (SELECT FROM cronograph.queue_group q
                   WHERE q.name = e.lowest
                     AND (q.paused_at IS NOT NULL OR q.max_running IS NOT NULL OR q.rate IS NOT NULL))
        OR EXISTS (SELECT FROM cronograph.run_open r
                   WHERE r.group_name = e.lowest AND r.state = 'stuck' AND r.available_at < m.at) AS mixed,
        CAST(:high AS boolean) IS TRUE
        OR EXISTS (SELECT FROM cronograph.run_open r
                   WHERE r.group_name = e.lowest AND r.state = 'waiting' AND r.priority = 'high'
                     AND r.available_at <= m.at) AS high,
        CAST(:high AS boolean) IS FALSE
        OR EXISTS (SELECT FROM cronograph.run_open r
                   WHERE r.group_name = e.lowest AND r.state = 'waiting' AND r.priority = 'low'
                     AND r.available_at <= m.at) AS low
    FROM ends e, moment m),
locked AS MATERIALIZED (
    SELECT r.id, r.available_at, r.judged,
        r.exclusive AND r.task_id IS NOT NULL
        AND row_number() OVER (PARTITION BY r.task_id ORDER BY r.available_at, r.id) > 1 AS blocked
    FROM classes c CROSS JOIN LATERAL (
        SELECT r.id, r.task_id, r.exclusive, r.available_at,
            r.concurrency_key IS NOT NULL OR r.rate_key IS NOT NULL
            OR r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
                SELECT FROM cronograph.periodic_task t
                WHERE t.id = r.task_id AND t.schedule_syntax = 'interval')
            -- A second ahead: what begins here begins a moment later than this is asked.
            OR r.expires_at IS NOT NULL AND r.attempt = 0
               AND r.expires_at <= clock_timestamp() + interval '1 second' AS judged
        FROM cronograph.run_open r
        WHERE r.state = 'waiting' AND r.group_name = c.name AND r.available_at <= c.at
          AND r.priority = CASE WHEN c.high THEN 'high' ELSE 'low' END
          AND r.job_name = ANY(CAST(:jobs AS text[]))
          AND (NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
              SELECT FROM cronograph.run_open b
              WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ('running', 'scheduled')))
          AND (r.available_at, r.id)
              > (coalesce(CAST(:available_at AS timestamptz), '-infinity'), coalesce(CAST(:run_id AS bigint), 0))
        ORDER BY r.available_at, r.id LIMIT :slots FOR UPDATE OF r SKIP LOCKED) r
    WHERE c.accepts AND NOT c.mixed AND NOT (c.high AND c.low)),
chosen AS MATERIALIZED (
    SELECT l.id, nextval('cronograph.job_execution_id_seq') AS execution_id
    FROM (SELECT l.id FROM locked l WHERE NOT l.blocked AND NOT EXISTS (SELECT FROM locked WHERE judged)
          ORDER BY l.available_at, l.id) l),
start AS MATERIALIZED (
    SELECT clock_timestamp() AS at, true AS with_event, count(*) AS runs, min(execution_id) AS first FROM chosen),
{begin}
SELECT s.runs,
    CASE WHEN NOT c.accepts THEN 'not accepting'
        WHEN c.mixed AND c.name IS NOT NULL OR c.high AND c.low OR EXISTS (SELECT FROM locked WHERE judged)
        THEN 'mixed' ELSE 'taken' END AS found,
    (SELECT count(*) FROM locked) = :slots AS is_full,
    CASE WHEN s.runs < :slots THEN CAST(extract(epoch FROM (
        SELECT r.available_at FROM cronograph.run_open r
        WHERE r.state IN ('stuck', 'waiting') AND r.attempt >= 0 AND r.due_at IS NULL
          AND coalesce(r.due_at, r.available_at) > c.at
        ORDER BY coalesce(r.due_at, r.available_at) LIMIT 1) - c.at) AS float8)
    END AS next_in,
    CASE WHEN b.execution_id = s.first THEN s.at END AS started_at,
    CASE WHEN b.execution_id = s.first THEN c.name END AS lane_group,
    CASE WHEN b.execution_id = s.first THEN c.high END AS lane_high,
    CASE WHEN b.execution_id = s.first THEN (SELECT max(l.available_at) FROM locked l) END AS last_available_at,
    b.execution_id,
    coalesce((SELECT t.checkpoint FROM cronograph.periodic_task t WHERE t.id = b.task_id), b.checkpoint) AS checkpoint,
    b.id, b.attempt, b.job_name, b.args, b.group_name, b.task_id, b.task_name, b.scheduled_for, b.failures, b.retries,
    b.retry_delay, b.timeout, b.submitter, b.submitter_id, b.description, b.signature, b.carried, b.flow_id, b.labels,
    b.available_at, b.trigger, b.deadline_at
FROM classes c CROSS JOIN start s LEFT JOIN begun b ON true
ORDER BY b.execution_id
