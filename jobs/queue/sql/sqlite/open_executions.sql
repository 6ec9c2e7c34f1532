-- Opens the executions of attempts that have begun.
--
-- Parameters:
--   ids: their runs, a JSON array in the order in which the executions are numbered
--   node: the name of the node that executes them
-- Index: rowid of run
-- Called by: starts.start
INSERT INTO cronograph.job_execution (job_name, started_at, run_id, task_id, task_name, attempt, node_id, node, trigger,
    scheduled_for, submitted_at, log_lines, log_cut)
SELECT r.job_name, r.started_at, r.id, r.task_id, r.task_name, r.attempt, r.node_id, CAST(:node AS text), r.trigger,
    r.scheduled_for, r.submitted_at, 0, 0
FROM json_each(:ids) w JOIN cronograph.run r ON r.id = w.value ORDER BY w.key
RETURNING run_id, id AS execution_id
