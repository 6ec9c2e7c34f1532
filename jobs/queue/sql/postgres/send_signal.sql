-- Sends a signal to a locked unfinished run: to the wait that takes it, and the run is woken, or else into its box.
--
-- A wait takes it at once only while its run is suspended, and nothing that it would take first lies in the box. So the
-- next attempt finds what it waits for among its steps. The number of a signal is that of the box, also where it never
-- lies there.
--
-- Parameters:
--   run_id: the run
--   name: the signal
--   payload, rejects: what it brings along, the text of a JSON value or null; why it says no, or null
--   sender, rank: who sends it, and the rank of their role
--   now: the time
--   with_event: whether to write the event here
-- Index: pk_run, pk_run_step, ix_run_signal_run
-- Called by: waits.send
WITH waiting AS MATERIALIZED (
    SELECT s.step, EXISTS (SELECT FROM cronograph.run_signal g
                           WHERE g.run_id = s.run_id AND g.name = s.signal AND g.rank >= s.rank) AS is_behind
    FROM cronograph.run_step s
        CROSS JOIN LATERAL (SELECT FROM cronograph.run r
                            WHERE r.id = s.run_id AND r.state || '' = 'suspended') r
    WHERE s.run_id = :run_id AND s.signal = CAST(:name AS text) AND s.state = 'waiting' AND s.rank <= :rank
    ORDER BY s.started_at, s.step LIMIT 1),
numbered AS MATERIALIZED (SELECT nextval('cronograph.run_signal_id_seq') AS id),
boxed AS (
    INSERT INTO cronograph.run_signal (id, run_id, name, payload, rejects, sender, rank, sent_at)
    OVERRIDING SYSTEM VALUE
    SELECT n.id, :run_id, CAST(:name AS text), CAST(CAST(:payload AS text) AS jsonb), CAST(:rejects AS text),
        CAST(:sender AS text), :rank, CAST(:now AS timestamptz)
    FROM numbered n WHERE NOT EXISTS (SELECT FROM waiting WHERE NOT is_behind)),
taken AS (
    UPDATE cronograph.run_step s
    SET state = CASE WHEN CAST(:rejects AS text) IS NULL THEN 'done' ELSE 'rejected' END,
        value = CAST(:payload AS json), error = CAST(:rejects AS text),
        finished_at = CAST(:now AS timestamptz), signal_id = n.id
    FROM waiting w, numbered n
    WHERE s.run_id = :run_id AND s.step = w.step AND s.failure = 0 AND NOT w.is_behind
    RETURNING s.step, s.state),
woken AS (
    UPDATE cronograph.run r
    SET state = 'waiting', available_at = CAST(:now AS timestamptz), awaits = NULL, wake_at = NULL
    WHERE r.id = :run_id AND r.finished_at IS NULL AND EXISTS (SELECT FROM waiting)
    RETURNING r.id, r.task_id, r.task_name, r.job_name, r.group_name, r.flow_id),
{event_written}
    SELECT CAST(:now AS timestamptz), coalesce((
            SELECT jsonb_build_array(jsonb_build_object('steps', jsonb_build_array(jsonb_build_array(
                w.id, w.job_name, w.group_name, w.task_id, w.task_name, t.step, t.state)))) FROM taken t), '[]')
        || jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
            'kind', 'run_updated', 'task_id', w.task_id, 'task_name', w.task_name, 'run_id', w.id, 'job_name', w.job_name,
            'group', w.group_name, 'state', 'waiting', 'flow_id', w.flow_id)))
    FROM woken w WHERE CAST(:with_event AS boolean))
SELECT n.id, (SELECT t.step FROM taken t) AS step, (SELECT t.state FROM taken t) AS state,
    EXISTS (SELECT FROM woken) AS woken
FROM numbered n
