-- Which flows are closed and have no unfinished run, and have not ended yet.
--
-- Parameters:
--   ids: the flows
-- Index: pk_flow, ix_run_flow_open
-- Called by: flow_ends.end_if_over
SELECT f.id FROM cronograph.flow f
WHERE f.id = ANY(CAST(:ids AS bigint[])) AND f.closed_at IS NOT NULL AND f.finished_at IS NULL
  AND NOT EXISTS (SELECT FROM cronograph.run_open r WHERE r.flow_id = f.id AND r.flow_id IS NOT NULL AND r.finished_at IS NULL)
ORDER BY f.id
