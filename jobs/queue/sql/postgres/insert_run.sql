-- Inserts one new run without labels: `insert_runs` without what only several runs need, which takes PostgreSQL as long again.
--
-- In the form `audited`, with its labels and an entry of the audit log (`audit.linking` has its parameters), nothing is
-- inserted either where there is no entry yet that it could follow. A client that only enqueues sends the plain form,
-- and needs no rights to the log. The plain text is one that psycopg remembers: it has less than 4,096 characters.
--
-- Parameters:
--   kinds, now, with_event, wakes: see `insert_runs`; the columns of the one kind
--   args, carried: its arguments, and what it carries, the text of JSON
-- Index: pk_job, uq_run_unique_key, ix_queue_group_cap
-- Called by: new_runs.insert_by
{new_runs}
        --if audited
        CAST(:args AS jsonb), CAST(:carried AS jsonb), CAST(:labels AS jsonb)
        --else
        CAST(:args AS jsonb), CAST(:carried AS jsonb), NULL
        --end
    FROM decided d
    WHERE NOT d.lacking
    --if audited
    {audit_begun}
    --end
    ON CONFLICT DO NOTHING
    RETURNING id, job_name, group_name, labels),
--if audited
labelled AS (
    INSERT INTO cronograph.run_label (key, value, run_id)
    SELECT e.key, e.value, i.id FROM inserted i CROSS JOIN LATERAL jsonb_each_text(i.labels) e
    WHERE i.labels IS NOT NULL ORDER BY e.key, e.value),
{audited}
--end
{event_written}
    SELECT d.at, jsonb_build_array(jsonb_build_object('created',
        jsonb_build_array(jsonb_build_array(i.id, i.job_name, i.group_name))))
    FROM decided d, inserted i WHERE CAST(:with_event AS bool))
SELECT CASE WHEN i.id IS NOT NULL THEN ARRAY[i.id] END AS ids, d.at AS submitted_at,
    CAST(json_build_array(json_build_array(d.group_name, d.priority, d.retries, d.retry_delay, d.timeout,
        d.max_duration)) AS text) AS decided,
    CASE WHEN CAST(:with_event AS bool) AND i.id IS NOT NULL THEN pg_notify('cronograph', CAST(:wakes AS text)) END
FROM decided d LEFT JOIN inserted i ON true
