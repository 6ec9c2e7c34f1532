-- Reads by what some runs are limited, and keeps others from judging the same keys until the commit.
--
-- Who gets no lock leaves the runs of that key alone: nobody waits here, so that two claims never wait for each other.
-- A key is locked by a number that follows from its text.
--
-- Parameters:
--   ids: the runs, in the order in which they are judged
-- Index: pk_run
-- Called by: admission.limited_runs
WITH asked AS MATERIALIZED (
    SELECT u.place, r.id, r.concurrency_key, r.max_concurrent, r.job_name, r.rate_key,
        coalesce(r.keeps_place AND r.attempt > 0, false) AS has_place
    FROM unnest(CAST(:ids AS bigint[])) WITH ORDINALITY AS u(id, place)
    CROSS JOIN LATERAL (SELECT * FROM cronograph.run_open r WHERE r.id = u.id) r),
locks AS MATERIALIZED (
    SELECT d.name, pg_try_advisory_xact_lock(hashtextextended(d.name, 0)) AS held
    FROM (
        SELECT 'cronograph slots ' || concurrency_key AS name FROM asked WHERE concurrency_key IS NOT NULL
        UNION
        SELECT 'cronograph tokens ' || job_name || ' ' || rate_key FROM asked WHERE rate_key IS NOT NULL) d)
SELECT a.id, a.concurrency_key, a.max_concurrent, a.job_name, a.rate_key, a.has_place,
    coalesce((SELECT bool_and(l.held) FROM locks l
              WHERE l.name IN ('cronograph slots ' || a.concurrency_key,
                               'cronograph tokens ' || a.job_name || ' ' || a.rate_key)), true) AS ours
FROM asked a ORDER BY a.place
