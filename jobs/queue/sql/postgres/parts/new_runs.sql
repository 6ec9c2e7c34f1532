WITH decided AS MATERIALIZED (
    SELECT kind, job_name, task_id, task_name, trigger, scheduled_for, exclusive, unique_key,
        concurrency_key, max_concurrent, rate_key, cap_key, keeps_place, retried_from, submitter,
        submitter_id, description, k.signature, flow_id, awaits, expires_at, ttl, n.at,
        coalesce(k.available_at, n.at) AS available_at,
        coalesce(k.group_name, j.d->>'group', 'default') AS group_name,
        coalesce(k.priority, j.d->>'priority', 'low') AS priority,
        coalesce(k.retries, CAST(j.d->>'retries' AS int), 2) AS retries,
        coalesce(k.retry_delay, CAST(j.d->>'retry_delay' AS float8), 60) AS retry_delay,
        CASE WHEN k.own_timeout THEN k.timeout ELSE coalesce(k.timeout, CAST(j.d->>'timeout' AS float8)) END AS timeout,
        CASE WHEN k.own_max_duration THEN k.max_duration
            ELSE coalesce(k.max_duration, CAST(j.d->>'max_duration' AS float8)) END AS max_duration,
        NOT k.own_key AND j.d->'unique_key'->'arguments' IS NOT NULL
        OR NOT k.own_limits AND j.d->'limits' IS NOT NULL
        OR NOT k.settled AND j.d->'per_run' IS DISTINCT FROM k.per_run
        OR k.published IS DISTINCT FROM j.signature AND k.published IS NOT NULL
        OR CAST(:with_event AS bool) AND EXISTS (
            SELECT FROM cronograph.queue_group g
            WHERE g.cap IS NOT NULL AND g.name = coalesce(k.group_name, j.d->>'group', 'default')) AS lacking
    FROM json_to_recordset(CAST(:kinds AS json)) AS k(
            kind int, job_name text, task_id int8, task_name text, trigger text, scheduled_for timestamptz,
            available_at timestamptz, exclusive bool, unique_key text, retried_from int8, submitter text,
            submitter_id int8, description text, signature text, group_name text, priority text, retries int,
            retry_delay float8, timeout float8, concurrency_key text, max_concurrent int, rate_key text, cap_key text,
            keeps_place bool, flow_id int8, awaits text, expires_at timestamptz, ttl float8, own_timeout bool,
            own_key bool, own_limits bool, settled bool, max_duration float8, own_max_duration bool, per_run jsonb,
            published text)
        LEFT JOIN (SELECT name, signature, defaults AS d FROM cronograph.job) j ON j.name = k.job_name
        CROSS JOIN (SELECT coalesce(CAST(:now AS timestamptz), statement_timestamp()) AS at) n),
inserted AS (
    INSERT INTO cronograph.run (job_name, flow_id, awaits, task_id, task_name, trigger, scheduled_for, submitted_at,
        available_at, exclusive, unique_key, retried_from, submitter, submitter_id, description, signature, group_name,
        priority, retries, retry_delay, timeout, max_duration, concurrency_key, max_concurrent, rate_key, cap_key,
        keeps_place, expires_at, state, attempt, failures, args, carried, labels)
    SELECT job_name, flow_id, CAST(awaits AS jsonb), task_id, task_name, trigger, scheduled_for, at,
        available_at, exclusive, unique_key, retried_from, submitter, submitter_id, description,
        signature, group_name, priority, retries, retry_delay, timeout, max_duration, concurrency_key,
        max_concurrent, rate_key, cap_key, keeps_place,
        CASE WHEN ttl IS NULL THEN expires_at ELSE available_at + make_interval(secs => ttl) END,
        CASE WHEN awaits IS NULL THEN 'waiting' ELSE 'suspended' END, 0, 0,
