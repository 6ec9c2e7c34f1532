-- Which flows are closed and have no unfinished run, and have not ended yet.
--
-- Parameters:
--   ids: the flows, a JSON array
-- Index: rowid of flow, ix_run_flow_open
-- Called by: flow_ends.end_if_over
SELECT f.id FROM cronograph.flow f
WHERE f.id IN (SELECT value FROM json_each(:ids)) AND f.closed_at IS NOT NULL AND f.finished_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM cronograph.run r WHERE r.flow_id = f.id AND r.flow_id IS NOT NULL AND r.finished_at IS NULL)
ORDER BY f.id
