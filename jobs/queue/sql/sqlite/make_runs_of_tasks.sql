-- Makes a run of each due occurrence that nobody has made before.
--
-- What a run copies of its task never leaves the database. SQLite needs a WHERE between a SELECT and ON CONFLICT to tell
-- it from a join's ON. A run carries the time zone of its schedule for `ctx.scheduled_local`, and the
-- resources of its task.
--
-- Parameters:
--   now: the time
--   occurrences: a JSON array of objects with the fields of `Occurrence`, each for all tasks that follow one another and
--     have them in common, with these tasks and their place
-- Index: rowid of periodic_task, uq_run_occurrence, uq_run_unique_key
-- Called by: due_tasks.write
INSERT INTO cronograph.run (task_id, task_name, job_name, args, group_name, priority, retries, retry_delay, submitter,
    submitter_id, description, signature, state, trigger, scheduled_for, submitted_at, available_at, finished_at,
    attempt, failures, timeout, exclusive, unique_key, concurrency_key, max_concurrent, rate_key, cap_key, keeps_place, labels,
    expires_at, key_until, key_until_start, error, max_duration, carried)
WITH alike AS MATERIALIZED (
    SELECT json_extract(value, '$.scheduled_for') AS scheduled_for, json_extract(value, '$.timeout') AS timeout,
        json_extract(value, '$.exclusive') AS exclusive, json_extract(value, '$.replaced') AS replaced,
        json_extract(value, '$.unique_key') AS unique_key, json_extract(value, '$.concurrency_key') AS concurrency_key,
        json_extract(value, '$.max_concurrent') AS max_concurrent, json_extract(value, '$.rate_key') AS rate_key,
        json_extract(value, '$.cap_key') AS cap_key, json_extract(value, '$.keeps_place') AS keeps_place,
        json_extract(value, '$.labels') AS labels,
        json_extract(value, '$.expires_at') AS expires_at, json_extract(value, '$.key_until') AS key_until,
        json_extract(value, '$.key_until_start') AS key_until_start, json_extract(value, '$.place') AS place,
        json_extract(value, '$.task_ids') AS task_ids
    FROM json_each(:occurrences))
SELECT t.id, t.name, t.job_name, t.args, t.group_name, t.priority, t.retries, t.retry_delay, t.submitter,
    t.submitter_id, t.description, t.signature, CASE WHEN o.replaced THEN 'cancelled' ELSE 'waiting' END, 'schedule',
    o.scheduled_for, :now, :now, CASE WHEN o.replaced THEN :now END, 0, 0, o.timeout, o.exclusive,
    o.unique_key, o.concurrency_key, o.max_concurrent, o.rate_key, o.cap_key, o.keeps_place,
    coalesce(o.labels, nullif(t.labels, '{}')),
    o.expires_at, o.key_until, o.key_until_start,
    CASE WHEN o.replaced THEN 'replaced by a newer occurrence of its task' END, t.max_duration,
    CASE WHEN t.timezone <> 'UTC' OR t.resources IS NOT NULL THEN json_patch('{}',
        json_object('schedule_timezone', nullif(t.timezone, 'UTC'), 'resources', json(t.resources))) END
FROM alike o CROSS JOIN json_each(o.task_ids) w CROSS JOIN cronograph.periodic_task t
WHERE t.id = w.value
ORDER BY o.place, w.key
ON CONFLICT DO NOTHING
RETURNING id, task_id, state, labels
