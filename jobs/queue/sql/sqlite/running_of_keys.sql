-- Counts the runs that nodes hold, for each of some concurrency keys.
--
-- Parameters:
--   keys: the keys, a JSON array
-- Index: ix_run_concurrent
-- Called by: admission.running_of_keys
SELECT k.value AS key, (
    SELECT count(*) FROM cronograph.run r
    WHERE r.concurrency_key = k.value AND r.state IN ('running', 'scheduled')) AS running
FROM json_each(:keys) k
