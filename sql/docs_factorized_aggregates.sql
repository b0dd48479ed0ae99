-- The examples of contrib_docs/factorized_aggregates.md.
\set QUIET on
\i test/data/baseball/load.sql
\set ON_ERROR_STOP off
SET max_parallel_workers_per_gather = 0;
SET datestyle = iso;

SELECT btml.version() IS NOT NULL AS loaded;  -- loads the module into this session
SET btml.factorize_aggregates = exact;

SELECT CAST(date_trunc('year', p.debut) AS date) AS debut, p.birthcountry, count(*) AS pairs,
    count(DISTINCT p.playerid) AS players, round(avg(other.salary)) AS teams_pay
FROM baseball.people p
JOIN baseball.salaries own USING (playerid)
JOIN baseball.salaries other USING (teamid)
GROUP BY 1, 2 ORDER BY pairs DESC LIMIT 5;

EXPLAIN (COSTS off) SELECT CAST(date_trunc('year', p.debut) AS date) AS debut, p.birthcountry, count(*) AS pairs,
    count(DISTINCT p.playerid) AS players, round(avg(other.salary)) AS teams_pay
FROM baseball.people p JOIN baseball.salaries own USING (playerid) JOIN baseball.salaries other USING (teamid)
GROUP BY 1, 2 ORDER BY pairs DESC LIMIT 5;

SELECT * FROM btml.explain_factorized($$
    SELECT t.lgid, avg(own.salary) FILTER (WHERE own.yearid <= t.yearid)
    FROM baseball.teams t JOIN baseball.salaries own USING (teamid) JOIN baseball.salaries other USING (teamid)
    GROUP BY t.lgid $$);

SELECT t.name, t.yearid, count(*) AS salaries, sum(s.salary) AS paid, max(s.salary) AS highest
FROM baseball.teams t JOIN baseball.salaries s ON s.teamid = t.teamid AND s.yearid <= t.yearid
WHERE t.yearid <= 2016 GROUP BY t.teamid, t.yearid ORDER BY paid DESC LIMIT 3;

EXPLAIN (COSTS off) SELECT t.teamid, t.yearid, sum(s.salary)
FROM baseball.teams t JOIN baseball.salaries s ON s.teamid = t.teamid AND s.yearid <= t.yearid
GROUP BY t.teamid, t.yearid;

EXPLAIN (COSTS off) SELECT p.birthcountry, count(*), avg(other.salary)
FROM baseball.people p JOIN baseball.salaries own USING (playerid) JOIN baseball.salaries other USING (teamid)
WHERE other.playerid <> own.playerid GROUP BY p.birthcountry;

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

EXPLAIN (ANALYZE, COSTS off, BUFFERS off, TIMING off, SUMMARY off) SELECT p.birthcountry, own.teamid, count(*), max(other.salary)
FROM baseball.people p JOIN baseball.salaries own USING (playerid)
    LEFT JOIN baseball.salaries other ON other.teamid = own.teamid AND other.salary > 20000000
GROUP BY p.birthcountry, own.teamid;

\set QUIET on
DROP SCHEMA baseball CASCADE;
