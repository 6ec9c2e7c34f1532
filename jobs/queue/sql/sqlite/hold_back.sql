-- Holds runs back that wait for a slot or a token of their key: no claim looks at them until they are let go.
--
-- Parameters:
--   ids: the runs, a JSON array
--   never: when they become available
-- Index: rowid of run
-- Called by: admission.hold_back
UPDATE cronograph.run AS r SET due_at = r.available_at, available_at = :never
WHERE r.id IN (SELECT value FROM json_each(:ids)) AND r.state || '' IN ('stuck', 'waiting') AND r.due_at IS NULL
