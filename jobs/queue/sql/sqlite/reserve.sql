-- Hands waiting and stuck runs to a node ahead of a free slot; no attempt begins.
--
-- Parameters:
--   ids: the runs, a JSON array
--   node_id: the node
-- Index: rowid of run
-- Called by: starts.reserve
UPDATE cronograph.run AS r SET state = 'scheduled', node_id = :node_id
WHERE r.id IN (SELECT value FROM json_each(:ids)) AND r.state || '' IN ('stuck', 'waiting')
  AND NOT EXISTS (
      SELECT 1 FROM cronograph.queue_group q WHERE q.name = r.group_name AND q.paused_at IS NOT NULL)
RETURNING id, task_id, task_name, job_name, group_name, flow_id
