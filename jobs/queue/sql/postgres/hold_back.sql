-- Holds runs back that wait for a slot or a token of their key: no claim looks at them until they are let go.
--
-- What others have locked is passed over: it is looked at again.
--
-- Parameters:
--   ids: the runs
--   never: when they become available
-- Index: pk_run
-- Called by: admission.hold_back
UPDATE cronograph.run_open r SET due_at = r.available_at, available_at = CAST(:never AS timestamptz)
FROM (
    SELECT l.id FROM unnest(CAST(:ids AS bigint[])) AS u(id)
    CROSS JOIN LATERAL (
        SELECT r.id FROM cronograph.run_open r
        WHERE r.id = u.id AND r.state || '' IN ('stuck', 'waiting') AND r.due_at IS NULL
        FOR UPDATE SKIP LOCKED) l
    OFFSET 0) held
WHERE r.id = held.id
