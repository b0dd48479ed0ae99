-- The examples of contrib_docs/explanation.md.
SET datestyle = 'ISO';
\set QUIET on
\i test/data/baseball/load.sql
\set ON_ERROR_STOP off

CREATE TABLE models AS SELECT btml.boost_fit($$
    SELECT ln(s.salary) AS log_salary, s.yearid, p.debut, p.birthyear, p.weight, p.bats, t.w AS wins
    FROM baseball.salaries s JOIN baseball.people p USING (playerid) JOIN baseball.teams t USING (yearid, teamid)
    WHERE s.salary > 0 $$, 'log_salary', trees => 50) AS model;
CREATE VIEW player_season AS
SELECT p.namefirst || ' ' || p.namelast AS player, s.salary, s.yearid, p.debut, p.birthyear, p.weight, p.bats, t.w AS wins
FROM baseball.salaries s JOIN baseball.people p USING (playerid) JOIN baseball.teams t USING (yearid, teamid);

SELECT e.feature, e.value, round(e.contribution::numeric, 3) AS contribution, round(exp(e.contribution)::numeric, 2) AS factor
FROM models, player_season s, btml.explain(model, s.*) e WHERE s.player = 'Derek Jeter' AND s.yearid = 2010;

SELECT round(sum(contribution)::numeric, 6) AS total, round(btml.predict(model, s.*)::numeric, 6) AS predicted
FROM models, player_season s, btml.explain(model, s.*) e WHERE s.player = 'Derek Jeter' AND s.yearid = 2010 GROUP BY model, s;

SELECT s.yearid, round(avg(v.values[1])::numeric, 2) AS of_year, round(avg(v.values[2])::numeric, 2) AS of_debut,
    round(avg(v.values[6])::numeric, 2) AS of_wins
FROM models, player_season s, LATERAL (SELECT btml.shap(model, s.*) AS values OFFSET 0) v
WHERE s.yearid IN (1985, 1995, 2005, 2015) GROUP BY s.yearid ORDER BY s.yearid;

SELECT feature, round(mean_absolute::numeric, 4) AS mean_absolute, round(std_error::numeric, 4) AS std_error
FROM models, btml.shap_importance(model, 'player_season', sample_rows => 2000);

SELECT i.feature, i.other, round(2 * i.contribution::numeric, 3) AS together
FROM models, player_season s, btml.shap_interactions(model, s.*) i
WHERE s.player = 'Derek Jeter' AND s.yearid = 2010 AND i.feature < i.other ORDER BY abs(i.contribution) DESC LIMIT 4;

SELECT value, round(exp(mean)::numeric, -3) AS typical, round(exp(p10)::numeric, -3) AS p10, round(exp(p90)::numeric, -3) AS p90
FROM models, btml.partial_dependence(model, 'SELECT * FROM player_season WHERE yearid = 2015', 'debut', points => 5);

SELECT by_value AS bats, value AS wins, round(mean::numeric, 3) AS mean
FROM models, btml.partial_dependence(model, 'player_season', 'wins', points => 2, by => 'bats') ORDER BY 1, number;

CREATE TABLE hands AS SELECT btml.boost_fit($$
    SELECT throws = 'L' AS left_handed, bats, height, weight, birthyear % 5 = 0 AS held_out
    FROM baseball.people $$, 'left_handed', holdout => 'held_out', trees => 30) AS model;
SELECT feature, round(importance::numeric, 4) AS importance, round(std_error::numeric, 4) AS std_error
FROM hands, btml.permutation_importance(model, $$
    SELECT throws = 'L' AS left_handed, bats, height, weight, birthyear % 5 = 0 AS held_out
    FROM baseball.people $$, target => 'left_handed', metric => 'auc', holdout => 'held_out');

\set QUIET on
SET client_min_messages = warning;
DROP SCHEMA baseball CASCADE;
DROP TABLE models, hands;
