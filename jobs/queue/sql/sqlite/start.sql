-- Begins attempts of runs that wait or are stuck, or of those that were reserved for this node; not of a paused group.
--
-- Parameters:
--   ids: the runs, a JSON array
--   node_id: the node that executes them
--   now: when the attempts begin
--   reserved: whether they were reserved for this node
--   unjudged: true: leave out runs that the tolerance of their task may keep from starting
-- Index: rowid of run
-- Called by: starts.start
UPDATE cronograph.run AS r
SET state = 'running', node_id = :node_id, attempt = r.attempt + 1, started_at = :now, progress = NULL,
    -- As long as the times that are stored, so that comparing text compares times.
    deadline_at = CASE WHEN r.attempt = 0
        THEN strftime('%Y-%m-%dT%H:%M:%f', :now, r.max_duration || ' seconds') || '000Z' ELSE r.deadline_at END
WHERE r.id IN (SELECT value FROM json_each(:ids))
  AND CASE WHEN :reserved THEN r.state || '' = 'scheduled' AND r.node_id + 0 = :node_id
      ELSE r.state || '' IN ('stuck', 'waiting') END
  AND NOT EXISTS (
      SELECT 1 FROM cronograph.queue_group q WHERE q.name = r.group_name AND q.paused_at IS NOT NULL)
  AND NOT (:unjudged AND r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
      SELECT 1 FROM cronograph.periodic_task t WHERE t.id = r.task_id AND t.schedule_syntax = 'interval'))
  AND (r.expires_at IS NULL OR r.attempt > 0 OR r.expires_at > :now)
RETURNING id, attempt, job_name, args, group_name, task_id, task_name, scheduled_for, failures, retries, retry_delay,
    timeout, submitter, submitter_id, description, signature, carried, flow_id, labels, available_at, started_at,
    trigger, checkpoint, concurrency_key, rate_key, deadline_at
