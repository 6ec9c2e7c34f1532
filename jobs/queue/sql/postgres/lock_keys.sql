-- Waits for those who judge these concurrency keys, in one order, and keeps others from judging them until the commit.
--
-- Parameters:
--   keys: the keys
-- Index: pk_run
-- Called by: admission.lock_keys
SELECT pg_advisory_xact_lock(hashtextextended('cronograph slots ' || k.key, 0))
FROM (SELECT key FROM unnest(CAST(:keys AS text[])) AS u(key) ORDER BY hashtextextended('cronograph slots ' || key, 0)
      OFFSET 0) k
