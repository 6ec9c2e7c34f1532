-- Begins attempts of runs that wait or are stuck, or of those that were reserved for this node, and opens executions.
--
-- In ascending order, so that those who wait for each other do so in one order; each run is found by its key. A join of
-- the parts of a statement would compare each run with each other one. What others have locked is passed over, and so is
-- a run whose group was paused since. If a reserved run is this node's still after that, `disown` gives it back.
--
-- Parameters:
--   ids: the runs, in the order in which their executions are numbered
--   node_id, node: the node that executes them
--   now: when the attempts begin; null: when this statement sees that they may
--   reserved: whether they were reserved for this node
--   unjudged: true: leave out runs that the tolerance of their task may keep from starting
-- Index: pk_run
-- Called by: starts.start
WITH locked AS MATERIALIZED (
    SELECT r.id, w.place
    FROM (SELECT id, place FROM unnest(CAST(:ids AS bigint[])) WITH ORDINALITY AS u(id, place) ORDER BY id) w
    CROSS JOIN LATERAL (
        SELECT r.id FROM cronograph.run_open r
        WHERE r.id = w.id
          AND CASE WHEN CAST(:reserved AS boolean) THEN r.state || '' = 'scheduled' AND r.node_id + 0 = :node_id
              ELSE r.state || '' IN ('stuck', 'waiting') END
          AND NOT EXISTS (
              SELECT FROM cronograph.queue_group q WHERE q.name = r.group_name AND q.paused_at IS NOT NULL)
          AND NOT (CAST(:unjudged AS boolean) AND r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
              SELECT FROM cronograph.periodic_task t
              WHERE t.id = r.task_id AND t.schedule_syntax = 'interval'))
        FOR UPDATE SKIP LOCKED) r),
chosen AS MATERIALIZED (
    SELECT l.id, nextval('cronograph.job_execution_id_seq') AS execution_id
    FROM (SELECT id FROM locked ORDER BY place) l),
moment AS MATERIALIZED (SELECT coalesce(CAST(:now AS timestamptz), clock_timestamp()) AS at),
begun AS (
    UPDATE cronograph.run_open r
    SET state = 'running', node_id = :node_id, attempt = r.attempt + 1, started_at = m.at, progress = NULL,
        deadline_at = CASE WHEN r.attempt = 0 THEN m.at + make_interval(secs => r.max_duration) ELSE r.deadline_at END
    FROM chosen c, moment m
    WHERE r.id = c.id AND (r.expires_at IS NULL OR r.attempt > 0 OR r.expires_at > m.at)
    RETURNING c.execution_id, r.id, r.attempt, r.job_name, r.args, r.group_name, r.task_id, r.task_name,
        r.scheduled_for, r.failures, r.retries, r.retry_delay, r.timeout, r.submitter, r.submitter_id, r.description,
        r.signature, r.carried, r.flow_id, r.labels, r.available_at, r.started_at, r.node_id, r.trigger, r.submitted_at,
        r.checkpoint, r.concurrency_key, r.rate_key, r.deadline_at),
opened AS (
    INSERT INTO cronograph.job_execution_open (id, job_name, started_at, run_id, task_id, task_name, attempt, node_id, node,
        trigger, scheduled_for, submitted_at, log_lines, log_cut)
    OVERRIDING SYSTEM VALUE
    SELECT b.execution_id, b.job_name, b.started_at, b.id, b.task_id, b.task_name, b.attempt, b.node_id,
        CAST(:node AS text), b.trigger, b.scheduled_for, b.submitted_at, 0, 0
    FROM begun b)
SELECT b.execution_id, b.id, b.attempt, b.job_name, b.args, b.group_name, b.task_id, b.task_name, b.scheduled_for,
    b.failures, b.retries, b.retry_delay, b.timeout, b.submitter, b.submitter_id, b.description, b.signature, b.carried,
    b.flow_id, b.labels, b.available_at, b.started_at, b.trigger, b.checkpoint, b.concurrency_key, b.rate_key,
    b.deadline_at
FROM begun b
