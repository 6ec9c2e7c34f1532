-- Makes a run of each due occurrence that nobody has made before, and moves the tasks on.
--
-- What a run copies of its task never leaves the database: a run for each of thousands of tasks is one statement, as
-- `insert_runs` is for all others. A run carries the time zone of its schedule for `ctx.scheduled_local`,
-- and the resources of its task.
--
-- Parameters:
--   now: the database's time
--   occurrences: a JSON array of objects with the fields of `Occurrence`, each for all tasks that follow one another and
--     have them in common, with these tasks and their place
--   tasks: the same with the fields of `Moved`
--   with_event: true: write their event here, and answer with their number alone
-- Index: pk_periodic_task, uq_run_occurrence, uq_run_unique_key
-- Called by: due_tasks.write
WITH moment AS MATERIALIZED (SELECT CAST(:now AS timestamptz) AS at),
moved AS (
    UPDATE cronograph.periodic_task AS t
    SET next_nominal = v.next_nominal, next_execution = v.next_execution,
        last_due_at = coalesce(v.last_due_at, t.last_due_at), counter = t.counter + v.made
    FROM json_to_recordset(CAST(:tasks AS json)) AS v(
            next_nominal timestamptz, next_execution timestamptz, last_due_at timestamptz, made bigint, task_ids bigint[])
        CROSS JOIN LATERAL unnest(v.task_ids) AS w(task_id)
    WHERE t.id = w.task_id),
made AS (
    INSERT INTO cronograph.run (task_id, task_name, job_name, args, group_name, priority, retries, retry_delay,
        submitter, submitter_id, description, signature, state, trigger, scheduled_for, submitted_at, available_at,
        finished_at, attempt, failures, timeout, exclusive, unique_key, concurrency_key, max_concurrent, rate_key, cap_key, keeps_place, labels,
        expires_at, key_until, key_until_start, error, max_duration, carried)
    SELECT t.id, t.name, t.job_name, t.args, t.group_name, t.priority, t.retries, t.retry_delay, t.submitter,
        t.submitter_id, t.description, t.signature, CASE WHEN o.replaced THEN 'cancelled' ELSE 'waiting' END,
        'schedule', o.scheduled_for, m.at, m.at, CASE WHEN o.replaced THEN m.at END, 0, 0, o.timeout, o.exclusive,
        o.unique_key, o.concurrency_key, o.max_concurrent, o.rate_key, o.cap_key, o.keeps_place,
        coalesce(CAST(o.labels AS jsonb), nullif(t.labels, '{}')), m.at + make_interval(secs => o.ttl),
        o.key_until, o.key_until_start,
        CASE WHEN o.replaced THEN 'replaced by a newer occurrence of its task' END, t.max_duration,
        CASE WHEN t.timezone <> 'UTC' OR t.resources IS NOT NULL THEN jsonb_strip_nulls(
            jsonb_build_object('schedule_timezone', nullif(t.timezone, 'UTC'), 'resources', t.resources)) END
    FROM json_to_recordset(CAST(:occurrences AS json)) AS o(
            scheduled_for timestamptz, timeout float8, exclusive boolean, replaced boolean,
            unique_key text, concurrency_key text, max_concurrent int, rate_key text, cap_key text, keeps_place boolean, labels text, ttl float8,
            key_until timestamptz, key_until_start boolean, task_ids bigint[], place bigint)
        CROSS JOIN LATERAL unnest(o.task_ids) WITH ORDINALITY AS w(task_id, place)
        CROSS JOIN moment m CROSS JOIN cronograph.periodic_task t
    -- The unique index of occurrences is one for each part of the table, and this run may begin in either. It is asked
    -- for each task by itself: as a join, PostgreSQL would compare every task with every run, if it was planned while there were few.
    WHERE t.id = w.task_id AND NOT EXISTS (
        SELECT FROM cronograph.run e
        WHERE e.trigger = 'schedule' AND e.task_id = w.task_id AND e.scheduled_for = o.scheduled_for OFFSET 0)
    ORDER BY o.place, w.place
    ON CONFLICT DO NOTHING
    RETURNING id, task_id, state, job_name, group_name, task_name, labels),
labelled AS (
    INSERT INTO cronograph.run_label (key, value, run_id)
    SELECT e.key, e.value, m.id FROM made m CROSS JOIN LATERAL jsonb_each_text(m.labels) e
    WHERE m.labels IS NOT NULL),
{event_written}
    SELECT m.at, jsonb_build_array(jsonb_build_object('created', (
        SELECT jsonb_agg(jsonb_build_array(id, job_name, group_name, task_id, task_name) ORDER BY id) FROM made)))
    FROM moment m WHERE CAST(:with_event AS boolean) AND EXISTS (SELECT FROM made))
SELECT n.runs, r.id, r.task_id, r.state
FROM (SELECT count(*) AS runs FROM made) n LEFT JOIN made r ON NOT CAST(:with_event AS boolean)
