-- Moves tasks on, of which no occurrence becomes a run.
--
-- Parameters:
--   tasks: a JSON array of objects with the fields of `Moved`
-- Index: pk_periodic_task
-- Called by: due_tasks.move
UPDATE cronograph.periodic_task AS t
SET next_nominal = v.next_nominal, next_execution = v.next_execution,
    last_due_at = coalesce(v.last_due_at, t.last_due_at), counter = t.counter + v.made
FROM json_to_recordset(CAST(:tasks AS json)) AS v(
    task_id bigint, next_nominal timestamptz, next_execution timestamptz, last_due_at timestamptz, made bigint)
WHERE t.id = v.task_id
