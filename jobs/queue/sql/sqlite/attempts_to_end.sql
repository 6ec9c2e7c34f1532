-- The runs whose attempts are to end, as they are. The single writer needs no locks: what is read holds until it is written.
--
-- Parameters:
--   ids: the runs, a JSON array
-- Index: rowid of run
-- Called by: finish.end_attempts
SELECT r.id, r.state, r.attempt, r.node_id, r.cancel_requested_at IS NOT NULL AS cancel_requested
FROM cronograph.run r WHERE r.id IN (SELECT value FROM json_each(:ids))
