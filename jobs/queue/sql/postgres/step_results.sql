-- Reads what runs have stored of their steps: results, and the waits that they began.
--
-- Parameters:
--   run_ids: the runs
-- Index: pk_run_step
-- Called by: steps.results_of
SELECT s.run_id, s.step, s.attempt, s.value, s.kind, s.state, s.wake_at, s.error, s.flow_id
FROM cronograph.run_step s
WHERE s.run_id = ANY(CAST(:run_ids AS bigint[])) AND s.failure = 0
