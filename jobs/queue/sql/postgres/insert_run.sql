-- Inserts one new run with its event and the notification of the nodes.
--
-- As `insert_runs`, which is planned again for each number of runs: that costs more than inserting one.
--
-- Parameters:
--   run: a JSON object with the columns of the run; a policy that is null is as its job says, unless own_timeout (own_max_duration) is true;
--     own_key, own_limits: whether a unique key, or the keys of its limits, that are null mean that the run has none
--     (else its job may say them: nothing is inserted)
--     settled: whether its labels are all that it has (likewise)
--   args, carried, labels: its arguments, what it carries, and its labels
--   now: the time; null: the database's own
--   with_event, wakes: whether to write its event here and notify the nodes, and of what; then nobody has judged it by
--     the cap of its group: if there is one, nothing is inserted
-- Index: pk_job, uq_run_unique_key, ix_queue_group_cap
-- Called by: new_runs.insert_by
WITH inserted AS (
    INSERT INTO cronograph.run (job_name, args, carried, flow_id, awaits, task_id, task_name, trigger,
        scheduled_for, submitted_at,
        available_at, exclusive, unique_key, retried_from, submitter, submitter_id, description, signature, group_name,
        priority, retries, retry_delay, timeout, concurrency_key, max_concurrent, rate_key, cap_key, labels, expires_at, state,
        attempt, failures, max_duration)
    SELECT k.job_name, CAST(:args AS jsonb), CAST(nullif(CAST(:carried AS text), 'null') AS jsonb), k.flow_id,
        CAST(k.awaits AS jsonb), k.task_id,
        k.task_name, k.trigger, k.scheduled_for, coalesce(CAST(:now AS timestamptz), statement_timestamp()),
        coalesce(k.available_at, CAST(:now AS timestamptz), statement_timestamp()), k.exclusive, k.unique_key,
        k.retried_from, k.submitter, k.submitter_id, k.description, k.signature,
        coalesce(k.group_name, j.defaults->>'group', 'default'),
        coalesce(k.priority, j.defaults->>'priority', 'low'),
        coalesce(k.retries, CAST(j.defaults->>'retries' AS int), 2),
        coalesce(k.retry_delay, CAST(j.defaults->>'retry_delay' AS float8), 60),
        CASE WHEN k.own_timeout THEN k.timeout ELSE coalesce(k.timeout, CAST(j.defaults->>'timeout' AS float8)) END,
        k.concurrency_key, k.max_concurrent, k.rate_key, k.cap_key,
        CAST(nullif(CAST(:labels AS text), 'null') AS jsonb),
        CASE WHEN k.ttl IS NULL THEN k.expires_at ELSE coalesce(k.available_at, CAST(:now AS timestamptz), statement_timestamp()) + make_interval(secs => k.ttl) END,
        CASE WHEN k.awaits IS NULL THEN 'waiting' ELSE 'suspended' END, 0, 0,
        CASE WHEN k.own_max_duration THEN k.max_duration
            ELSE coalesce(k.max_duration, CAST(j.defaults->>'max_duration' AS float8)) END
    FROM json_to_record(CAST(:run AS json)) AS k(
            job_name text, task_id bigint, task_name text, trigger text, scheduled_for timestamptz,
            available_at timestamptz, exclusive boolean, unique_key text, retried_from bigint, submitter text,
            submitter_id bigint, description text, signature text, group_name text, priority text, retries int,
            retry_delay float8, timeout float8, concurrency_key text, max_concurrent int, rate_key text, cap_key text, flow_id bigint,
            awaits text, expires_at timestamptz, ttl float8, own_timeout boolean, own_key boolean, own_limits boolean, settled boolean,
            max_duration float8, own_max_duration boolean)
        LEFT JOIN cronograph.job j ON j.name = k.job_name
    WHERE (k.own_key OR j.defaults->'unique_key'->'arguments' IS NULL)
      AND (k.own_limits OR j.defaults->'limits' IS NULL)
      AND (k.settled OR j.defaults->'per_run' IS NULL)
      AND (NOT CAST(:with_event AS boolean) OR NOT EXISTS (
          SELECT FROM cronograph.queue_group g
          WHERE g.cap IS NOT NULL AND g.name = coalesce(k.group_name, j.defaults->>'group', 'default')))
    ON CONFLICT DO NOTHING
    RETURNING id, submitted_at, job_name, group_name, priority, retries, retry_delay, timeout, labels, max_duration),
labelled AS (
    INSERT INTO cronograph.run_label (key, value, run_id)
    SELECT e.key, e.value, i.id FROM inserted i CROSS JOIN LATERAL jsonb_each_text(i.labels) e
    WHERE i.labels IS NOT NULL),
{event_written}
    SELECT submitted_at, jsonb_build_array(jsonb_build_object('created', jsonb_build_array(
        jsonb_build_array(id, job_name, group_name))))
    FROM inserted WHERE CAST(:with_event AS boolean))
SELECT i.id, i.submitted_at, i.group_name AS "group", i.priority, i.retries, i.retry_delay, i.timeout, i.max_duration,
    CASE WHEN CAST(:with_event AS boolean) THEN pg_notify('cronograph', CAST(:wakes AS text)) END AS notified
FROM inserted i
