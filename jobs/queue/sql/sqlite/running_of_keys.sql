-- Counts the runs that have a place of each of some concurrency keys: nodes hold them, or they keep it until they are
-- finished.
--
-- Parameters:
--   keys: the keys, a JSON array
-- Index: ix_run_concurrent
-- Called by: admission.running_of_keys
SELECT k.value AS key, (
    SELECT count(*) FROM cronograph.run r
    WHERE r.concurrency_key = k.value AND {has_place}) AS running
FROM json_each(:keys) k
