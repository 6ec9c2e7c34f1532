-- Reads by what some runs are limited, and keeps others from judging the same keys until the commit.
--
-- Who gets no lock leaves the runs of that key alone, all of them: nobody waits here, so that two claims never wait for
-- each other. A key is locked by a number that follows from its text, once for each of its runs. Nothing is joined: each
-- run would be compared with each key.
--
-- Parameters:
--   ids: the runs, in the order in which they are judged
-- Index: pk_run
-- Called by: admission.limited_runs
WITH asked AS MATERIALIZED (
    SELECT u.place, r.id, r.concurrency_key, r.max_concurrent, r.job_name, r.rate_key,
        coalesce(r.keeps_place AND r.attempt > 0, false) AS has_place,
        r.concurrency_key IS NULL
        OR pg_try_advisory_xact_lock(hashtextextended('cronograph slots ' || r.concurrency_key, 0)) AS slots,
        r.rate_key IS NULL OR pg_try_advisory_xact_lock(
            hashtextextended('cronograph tokens ' || r.job_name || ' ' || r.rate_key, 0)) AS tokens
    FROM unnest(CAST(:ids AS bigint[])) WITH ORDINALITY AS u(id, place)
    CROSS JOIN LATERAL (SELECT * FROM cronograph.run_open r WHERE r.id = u.id) r)
SELECT a.id, a.concurrency_key, a.max_concurrent, a.job_name, a.rate_key, a.has_place,
    bool_and(a.slots) OVER (PARTITION BY a.concurrency_key)
    AND bool_and(a.tokens) OVER (PARTITION BY a.job_name, a.rate_key) AS ours
FROM asked a ORDER BY a.place
