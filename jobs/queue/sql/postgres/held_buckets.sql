-- Buckets for whose tokens runs wait: one step along the index each.
--
-- Parameters:
--   job_name, rate_key: the bucket after which to begin
--   at_most: how many buckets
-- Index: ix_run_held_rate
-- Called by: admission.look_for_forgotten
WITH RECURSIVE held(job_name, rate_key, place) AS (
    SELECT CAST(:job_name AS text) COLLATE "C", CAST(:rate_key AS text) COLLATE "C", 0
    UNION ALL
    SELECT n.job_name, n.rate_key, h.place + 1
    FROM held h CROSS JOIN LATERAL (
        SELECT r.job_name, r.rate_key FROM cronograph.run_open r
        WHERE (r.job_name, r.rate_key) > (h.job_name, h.rate_key)
          AND r.due_at IS NOT NULL AND r.rate_key IS NOT NULL AND r.state IN ('stuck', 'waiting')
        ORDER BY r.job_name, r.rate_key LIMIT 1) n
    WHERE h.place < :at_most)
SELECT job_name, rate_key FROM held WHERE place > 0 ORDER BY place
