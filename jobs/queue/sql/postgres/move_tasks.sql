-- Moves tasks on, of which no occurrence becomes a run.
--
-- Parameters:
--   tasks: a JSON array of objects with the fields of `Moved`, each for all tasks that follow one another and have
--     them in common, with these tasks
-- Index: pk_periodic_task
-- Called by: due_tasks.move
UPDATE cronograph.periodic_task AS t
SET next_nominal = v.next_nominal, next_execution = v.next_execution,
    last_due_at = coalesce(v.last_due_at, t.last_due_at), counter = t.counter + v.made
FROM json_to_recordset(CAST(:tasks AS json)) AS v(
        next_nominal timestamptz, next_execution timestamptz, last_due_at timestamptz, made bigint, task_ids bigint[])
    CROSS JOIN LATERAL unnest(v.task_ids) AS w(task_id)
WHERE t.id = w.task_id
