-- Inserts new runs, one to some thousands, with their event and the notification of the nodes.
--
-- What several runs have in common travels once, as their kind. Of what each has by itself there is a list, or, where
-- all have the same value, that value and no list: the shorter lists are filled up with nulls. JSON objects travel as one
-- JSON array, which costs the driver a tenth of what a list of texts does, and PostgreSQL no new plan for another number
-- of runs. What a run takes from its job is found out once for each kind. What follows from the arguments is no matter of
-- this statement: if a run lacks its keys or its labels, or its job is not as the caller knew it, nothing is inserted.
--
-- Parameters:
--   kinds: a JSON array of objects with the columns of each kind; a policy that is null is as its job says, unless
--     own_timeout (own_max_duration) is true; own_key, own_limits: whether a unique key, or the keys of its limits, that are null mean that
--     the run has none; settled: whether its labels are all that it has; per_run: else what the caller knew that its job
--     says of them; published: the signature that the job must have, null: any
--   kind: a JSON array, of each run the number of its kind
--   args, carried, labels: of each run its arguments, what it carries, and its labels; null: all have the same
--   each_args, each_carried, each_labels: what all have
--   now: the time; null: the database's own
--   with_event, wakes: whether to write their event here and notify the nodes, and of what; then nobody has judged them
--     by the caps of their groups: if one has a cap, nothing is inserted
-- Index: pk_job, uq_run_unique_key, ix_queue_group_cap
-- Called by: new_runs.insert_by
{new_runs}
        CAST(coalesce(CAST(l.args AS text), :each_args) AS jsonb),
        CAST(nullif(coalesce(CAST(l.carried AS text), :each_carried), 'null') AS jsonb),
        CAST(nullif(coalesce(CAST(l.labels AS text), :each_labels), 'null') AS jsonb)
    FROM ROWS FROM (
            json_array_elements_text(CAST(:kind AS json)), json_array_elements(CAST(:args AS json)),
            json_array_elements(CAST(:carried AS json)), json_array_elements(CAST(:labels AS json)))
            WITH ORDINALITY AS l(kind, args, carried, labels, place)
        JOIN decided d ON d.kind = CAST(l.kind AS int)
    WHERE NOT EXISTS (SELECT FROM decided WHERE lacking)
    ORDER BY l.place
    ON CONFLICT DO NOTHING
    RETURNING id, job_name, group_name, labels),
labelled AS (
    INSERT INTO cronograph.run_label (key, value, run_id)
    SELECT e.key, e.value, i.id FROM inserted i CROSS JOIN LATERAL jsonb_each_text(i.labels) e
    WHERE i.labels IS NOT NULL ORDER BY e.key, e.value, i.id),
{event_written}
    SELECT coalesce(CAST(:now AS timestamptz), statement_timestamp()),
        jsonb_build_array(jsonb_build_object('created', jsonb_agg(alike.created)))
    FROM (SELECT jsonb_build_array(CASE WHEN count(*) = 1 THEN to_jsonb(min(id)) ELSE to_jsonb(array_agg(id ORDER BY id)) END,
              job_name, group_name) AS created
          FROM inserted GROUP BY job_name, group_name ORDER BY min(id)) AS alike
    HAVING CAST(:with_event AS boolean) AND count(*) > 0)
SELECT array_agg(id) AS ids, coalesce(CAST(:now AS timestamptz), statement_timestamp()) AS submitted_at,
    CAST((SELECT json_agg(json_build_array(d.group_name, d.priority, d.retries, d.retry_delay, d.timeout, d.max_duration)
        ORDER BY d.kind) FROM decided d) AS text) AS decided,
    CASE WHEN CAST(:with_event AS boolean) AND count(*) > 0
        THEN pg_notify('cronograph', CAST(:wakes AS text)) END AS notified
FROM inserted
