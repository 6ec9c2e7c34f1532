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
--   with_event: whether to write their event here; a transaction writes those of all that it changes, in their order
-- Index: pk_run
-- Called by: starts.start
WITH accepting AS MATERIALIZED (
    SELECT n.id FROM cronograph.node n
    WHERE n.id = :node_id AND n.state IN ('active', 'stalled', 'starting') FOR KEY SHARE),
locked AS MATERIALIZED (
    SELECT r.id, w.place
    FROM (
        SELECT id, place FROM unnest(CAST(:ids AS bigint[])) WITH ORDINALITY AS u(id, place)
        WHERE EXISTS (SELECT FROM accepting) ORDER BY id) w
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
start AS MATERIALIZED (
    SELECT coalesce(CAST(:now AS timestamptz), clock_timestamp()) AS at, CAST(:with_event AS boolean) AS with_event),
{begin}
SELECT
{begun}
FROM begun b, start s
