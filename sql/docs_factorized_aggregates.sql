-- The examples of contrib_docs/factorized_aggregates.md.
\set QUIET on
\i test/data/baseball/load.sql
\set ON_ERROR_STOP off
SET max_parallel_workers_per_gather = 0;

SELECT btml.version() IS NOT NULL AS loaded;  -- loads the module into this session
SET btml.factorize_aggregates = exact;

SELECT p.birthcountry, count(*) AS pairs, round(avg(other.salary)) AS others_earn
FROM baseball.people p
JOIN baseball.salaries own USING (playerid)
JOIN baseball.salaries other USING (teamid)
GROUP BY p.birthcountry ORDER BY pairs DESC LIMIT 5;

EXPLAIN (COSTS off) SELECT p.birthcountry, count(*), avg(other.salary)
FROM baseball.people p JOIN baseball.salaries own USING (playerid) JOIN baseball.salaries other USING (teamid)
GROUP BY p.birthcountry;

SET btml.factorize_aggregates = off;
EXPLAIN (COSTS off) SELECT p.birthcountry, count(*), avg(other.salary)
FROM baseball.people p JOIN baseball.salaries own USING (playerid) JOIN baseball.salaries other USING (teamid)
GROUP BY p.birthcountry;
SET btml.factorize_aggregates = exact;

SELECT * FROM btml.explain_factorized($$
    SELECT p.playerid, other.yearid, count(*), avg(other.salary)
    FROM baseball.people p JOIN baseball.salaries own USING (playerid) JOIN baseball.salaries other USING (teamid)
    GROUP BY p.playerid, other.yearid $$);

SET work_mem = '64MB';
SELECT * FROM btml.explain_factorized($$
    SELECT p.playerid, other.yearid, count(*), avg(other.salary)
    FROM baseball.people p JOIN baseball.salaries own USING (playerid) JOIN baseball.salaries other USING (teamid)
    GROUP BY p.playerid, other.yearid $$);
RESET work_mem;

SELECT * FROM btml.explain_factorized($$
    SELECT p.birthcountry, string_agg(DISTINCT other.teamid, ' ')
    FROM baseball.people p JOIN baseball.salaries own USING (playerid) JOIN baseball.salaries other USING (teamid)
    GROUP BY p.birthcountry $$);

EXPLAIN (ANALYZE, COSTS off, BUFFERS off, TIMING off, SUMMARY off) SELECT p.birthcountry, own.teamid, count(*), max(other.salary)
FROM baseball.people p JOIN baseball.salaries own USING (playerid)
    LEFT JOIN baseball.salaries other ON other.teamid = own.teamid AND other.salary > 20000000
GROUP BY p.birthcountry, own.teamid;

SELECT * FROM btml.explain_factorized($$
    SELECT t.lgid, count(*), avg(own.salary)
    FROM baseball.teams t JOIN baseball.salaries own USING (teamid) JOIN baseball.salaries other USING (teamid)
    WHERE own.yearid < t.yearid GROUP BY t.lgid $$);

\set QUIET on
DROP SCHEMA baseball CASCADE;
