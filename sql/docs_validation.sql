-- The examples of contrib_docs/validation.md.
SET datestyle = 'ISO';
\set QUIET on
\i test/data/baseball/load.sql
\set ON_ERROR_STOP off

CREATE VIEW paid AS
SELECT ln(s.salary) AS log_salary, s.playerid, s.yearid, p.debut, p.birthyear, p.weight, p.height, p.bats, t.w AS wins,
    ('x' || left(md5(s.playerid), 4))::bit(16)::int % 5 AS players
FROM baseball.salaries s JOIN baseball.people p USING (playerid) JOIN baseball.teams t USING (yearid, teamid)
WHERE s.salary > 0;

SELECT fold, rows, metric, round(value::numeric, 3) AS value, trees
FROM btml.cross_validate('paid', 'log_salary', options => '{"exclude": ["playerid", "players"], "trees": 80}');

SELECT fold, rows, metric, round(value::numeric, 3) AS value, trees
FROM btml.cross_validate('paid', 'log_salary', fold => 'players', options => '{"exclude": ["playerid"], "trees": 80}');

SELECT fold, rows, metric, round(value::numeric, 3) AS value, trees
FROM btml.cross_validate('paid', 'log_salary', folds => 4, order_by => 'yearid',
    options => '{"exclude": ["playerid", "players"], "trees": 80}');

CREATE VIEW aged AS
SELECT log_salary, yearid, yearid - birthyear AS age, yearid - extract(year FROM debut)::int AS since_debut, weight, height, bats, wins
FROM paid;
SELECT fold, rows, metric, round(value::numeric, 3) AS value, trees
FROM btml.cross_validate('aged', 'log_salary', folds => 4, order_by => 'yearid', gap => '1', options => '{"trees": 80}');

SELECT fold, rows, metric, round(value::numeric, 3) AS value, trees
FROM btml.cross_validate('paid', 'log_salary', group_by => 'playerid', options => '{"exclude": ["players"], "trees": 80}');

SELECT btml.describe(btml.boost_fit('aged', 'log_salary', trees => 1000, early_stopping => 20, holdout_fraction => 0.2,
    order_by => 'yearid'));

CREATE TABLE tuned AS
SELECT * FROM btml.tune($$ SELECT *, md5(playerid) >= 'e' AS unseen FROM paid $$, 'log_salary',
    '{"learning_rate": {"from": 0.03, "to": 0.3, "scale": "log"}, "max_leaves": [7, 15, 31, 63], "l2": {"from": 0, "to": 20}}',
    trials => 9, fold => 'players', options => '{"exclude": ["playerid"], "trees": 80}', holdout => 'unseen');

SELECT trial, options->>'learning_rate' AS rate, options->>'max_leaves' AS leaves, options->>'l2' AS l2, trees, folds,
    round(score::numeric, 3) AS score, round(std_error::numeric, 3) AS std_error, round(holdout_score::numeric, 3) AS holdout_score, best
FROM tuned ORDER BY best DESC, folds DESC, score;

SELECT btml.describe(btml.boost_fit($$ SELECT *, md5(playerid) >= 'e' AS unseen FROM paid $$, 'log_salary', options => options))
FROM tuned WHERE best;

\set QUIET on
SET client_min_messages = warning;
DROP TABLE tuned;
DROP VIEW aged, paid;
DROP SCHEMA baseball CASCADE;
