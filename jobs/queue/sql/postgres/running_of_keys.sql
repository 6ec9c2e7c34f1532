-- Counts the runs that have a place of each of some concurrency keys: nodes hold them, or they keep it until they are
-- finished.
--
-- A statement of its own: it sees what was committed before its keys were locked.
--
-- Parameters:
--   keys: the keys
-- Index: ix_run_concurrent
-- Called by: admission.running_of_keys
SELECT k.key, (
    SELECT count(*) FROM cronograph.run_open r
    WHERE r.concurrency_key = k.key AND {has_place}) AS running
FROM unnest(CAST(:keys AS text[])) AS k(key)
