-- Hands waiting and stuck runs to a node ahead of a free slot; no attempt begins.
--
-- What others are taking is passed over, and so is a run whose group was paused since it was chosen.
--
-- Parameters:
--   ids: the runs
--   node_id: the node
-- Index: pk_run
-- Called by: starts.reserve
WITH locked AS MATERIALIZED (
    SELECT r.id
    FROM (SELECT id FROM unnest(CAST(:ids AS bigint[])) AS u(id) ORDER BY id) w
    CROSS JOIN LATERAL (
        SELECT r.id FROM cronograph.run_open r
        WHERE r.id = w.id AND r.state || '' IN ('stuck', 'waiting')
          AND NOT EXISTS (
              SELECT FROM cronograph.queue_group q WHERE q.name = r.group_name AND q.paused_at IS NOT NULL)
        FOR UPDATE SKIP LOCKED) r)
UPDATE cronograph.run_open r SET state = 'scheduled', node_id = :node_id FROM locked l WHERE r.id = l.id
RETURNING r.id, r.task_id, r.task_name, r.job_name, r.group_name, r.flow_id
