-- The runs of steps that ended, as far as the attempt and the node that bring them still have them.
--
-- Parameters:
--   node_id: the node that executes the runs
--   steps: a JSON array of objects with the fields of `StepRow`
-- Index: rowid of run
-- Called by: steps.rows_to_store
SELECT json_extract(g.value, '$.place') AS place, r.id, r.job_name, r.group_name, r.task_id, r.task_name
FROM json_each(:steps) g JOIN cronograph.run r ON r.id = json_extract(g.value, '$.run_id')
WHERE r.attempt = json_extract(g.value, '$.attempt') AND r.node_id = :node_id AND r.state = 'running'
ORDER BY g.key
