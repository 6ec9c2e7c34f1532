-- Inserts new runs, one to some thousands, with their event and the notification of the nodes.
--
-- What several runs have in common travels once, as their kind. Of what each has by itself there is a list, or, where
-- all have the same value, that value and no list: the shorter lists are filled up with nulls, and the last one numbers
-- the runs. JSON objects travel as one JSON array, which costs the driver a tenth of what a list of texts does. What a
-- run takes from its job is found out once for each kind. What follows from the arguments is no matter of this statement:
-- if a run lacks its keys or its labels, nothing is inserted.
--
-- Parameters:
--   kinds: a JSON array of objects with the columns of each kind; a policy that is null is as its job says, unless
--     own_timeout (own_max_duration) is true; own_key, own_limits: whether a unique key, or the keys of its limits, that are null mean that
--     the run has none; settled: whether its labels are all that it has
--   kind, args, carried, labels: of each run the number of its kind, its arguments, what it carries, and its labels;
--     null: all have the same
--   each_kind, each_args, each_carried, each_labels: what all have
--   runs: how many
--   now: the time; null: the database's own
--   with_event, wakes: whether to write their event here and notify the nodes, and of what; then nobody has judged them
--     by the caps of their groups: if one has a cap, nothing is inserted
-- Index: pk_job, uq_run_unique_key, ix_queue_group_cap
-- Called by: new_runs.insert
WITH moment AS MATERIALIZED (SELECT coalesce(CAST(:now AS timestamptz), statement_timestamp()) AS at),
settled AS MATERIALIZED (
    SELECT k.kind, k.job_name, k.task_id, k.task_name, k.trigger, k.scheduled_for, k.available_at, k.exclusive,
        k.unique_key, k.concurrency_key, k.max_concurrent, k.rate_key, k.cap_key, k.retried_from, k.submitter, k.submitter_id,
        k.description, k.signature, k.flow_id, k.awaits,
        coalesce(k.group_name, j.defaults->>'group', 'default') AS group_name,
        coalesce(k.priority, j.defaults->>'priority', 'low') AS priority,
        coalesce(k.retries, CAST(j.defaults->>'retries' AS int), 2) AS retries,
        coalesce(k.retry_delay, CAST(j.defaults->>'retry_delay' AS float8), 60) AS retry_delay,
        CASE WHEN k.own_timeout THEN k.timeout ELSE coalesce(k.timeout, CAST(j.defaults->>'timeout' AS float8)) END
            AS timeout, k.expires_at, k.ttl,
        CASE WHEN k.own_max_duration THEN k.max_duration
            ELSE coalesce(k.max_duration, CAST(j.defaults->>'max_duration' AS float8)) END AS max_duration,
        NOT k.own_key AND j.defaults->'unique_key'->'arguments' IS NOT NULL
        OR NOT k.own_limits AND j.defaults->'limits' IS NOT NULL
        OR NOT k.settled AND j.defaults->'per_run' IS NOT NULL
        OR CAST(:with_event AS boolean) AND EXISTS (
            SELECT FROM cronograph.queue_group g
            WHERE g.cap IS NOT NULL AND g.name = coalesce(k.group_name, j.defaults->>'group', 'default')) AS lacking
    FROM json_to_recordset(CAST(:kinds AS json)) AS k(
            kind int, job_name text, task_id bigint, task_name text, trigger text, scheduled_for timestamptz,
            available_at timestamptz, exclusive boolean, unique_key text, retried_from bigint, submitter text,
            submitter_id bigint, description text, signature text, group_name text, priority text, retries int,
            retry_delay float8, timeout float8, concurrency_key text, max_concurrent int, rate_key text, cap_key text, flow_id bigint,
            awaits text, expires_at timestamptz, ttl float8, own_timeout boolean, own_key boolean, own_limits boolean, settled boolean,
            max_duration float8, own_max_duration boolean)
        LEFT JOIN cronograph.job j ON j.name = k.job_name),
inserted AS (
    INSERT INTO cronograph.run (job_name, args, carried, flow_id, awaits, task_id, task_name, trigger,
        scheduled_for, submitted_at,
        available_at, exclusive, unique_key, retried_from, submitter, submitter_id, description, signature, group_name,
        priority, retries, retry_delay, timeout, concurrency_key, max_concurrent, rate_key, cap_key, labels, expires_at, state,
        attempt, failures, max_duration)
    SELECT s.job_name, CAST(coalesce(CAST(l.args AS text), :each_args) AS jsonb),
        CAST(nullif(coalesce(CAST(l.carried AS text), :each_carried), 'null') AS jsonb), s.flow_id,
        CAST(s.awaits AS jsonb), s.task_id, s.task_name,
        s.trigger, s.scheduled_for, m.at, coalesce(s.available_at, m.at), s.exclusive, s.unique_key, s.retried_from,
        s.submitter, s.submitter_id, s.description, s.signature, s.group_name, s.priority, s.retries, s.retry_delay,
        s.timeout, s.concurrency_key, s.max_concurrent, s.rate_key, s.cap_key,
        CAST(nullif(coalesce(CAST(l.labels AS text), :each_labels), 'null') AS jsonb),
        CASE WHEN s.ttl IS NULL THEN s.expires_at ELSE coalesce(s.available_at, m.at) + make_interval(secs => s.ttl) END,
        CASE WHEN s.awaits IS NULL THEN 'waiting' ELSE 'suspended' END, 0, 0, s.max_duration
    FROM ROWS FROM (
            unnest(CAST(:kind AS int[])), json_array_elements(CAST(:args AS json)),
            json_array_elements(CAST(:carried AS json)), json_array_elements(CAST(:labels AS json)),
            generate_series(1, CAST(:runs AS int)))
            AS l(kind, args, carried, labels, place)
        JOIN settled s ON s.kind = coalesce(l.kind, CAST(:each_kind AS int))
        CROSS JOIN moment m
    WHERE NOT EXISTS (SELECT FROM settled WHERE lacking)
    ORDER BY l.place
    ON CONFLICT DO NOTHING
    RETURNING id, job_name, group_name, labels),
labelled AS (
    INSERT INTO cronograph.run_label (key, value, run_id)
    SELECT e.key, e.value, i.id FROM inserted i CROSS JOIN LATERAL jsonb_each_text(i.labels) e
    WHERE i.labels IS NOT NULL ORDER BY e.key, e.value, i.id),
{event_written}
    SELECT m.at, jsonb_build_array(jsonb_build_object('created', (
        SELECT jsonb_agg(jsonb_build_array(ids, job_name, group_name) ORDER BY first)
        FROM (SELECT array_agg(id ORDER BY id) AS ids, min(id) AS first, job_name, group_name
              FROM inserted GROUP BY job_name, group_name) AS alike)))
    FROM moment m WHERE CAST(:with_event AS boolean) AND EXISTS (SELECT FROM inserted))
SELECT (SELECT array_agg(id ORDER BY id) FROM inserted) AS ids, m.at AS submitted_at,
    CAST((SELECT json_agg(json_build_object('group', s.group_name, 'priority', s.priority, 'retries', s.retries,
        'retry_delay', s.retry_delay, 'timeout', s.timeout, 'max_duration', s.max_duration) ORDER BY s.kind) FROM settled s) AS text) AS decided,
    CASE WHEN CAST(:with_event AS boolean) AND EXISTS (SELECT FROM inserted)
        THEN pg_notify('cronograph', CAST(:wakes AS text)) END AS notified
FROM moment m
