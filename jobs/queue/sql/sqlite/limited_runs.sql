-- Reads by what some runs are limited. Only one transaction writes, so nothing needs to be locked.
--
-- Parameters:
--   ids: the runs, in the order in which they are judged, a JSON array
-- Index: rowid of run
-- Called by: admission.limited_runs
SELECT r.id, r.concurrency_key, r.max_concurrent, r.job_name, r.rate_key,
    coalesce(r.keeps_place AND r.attempt > 0, false) AS has_place, true AS ours
FROM json_each(:ids) u CROSS JOIN cronograph.run r WHERE r.id = u.value ORDER BY u.key
