-- The examples of contrib_docs/uncertainty.md.
\set QUIET on
\i test/data/baseball/load.sql
\set ON_ERROR_STOP off

CREATE VIEW player AS
SELECT playerid, weight, height, birthyear, birthcountry, bats, throws, ('x' || left(md5(playerid), 4))::bit(16)::int % 10 AS part
FROM baseball.people WHERE weight IS NOT NULL;

CREATE TABLE models AS SELECT 'weight' AS name, btml.boost_fit($$
    SELECT weight, height, birthyear, birthcountry, bats, throws, part > 4 AS held_out FROM player WHERE part < 8 $$,
    'weight', holdout => 'held_out') AS model;

SELECT p.playerid, p.height, p.birthyear, p.weight, round(btml.predict(model, p)) AS predicted, round(b.lower) AS lower,
    round(b.upper) AS upper
FROM models, player p, LATERAL btml.predict_interval(model, p, level => 0.9) b
    WHERE playerid IN ('ruthba01', 'troutmi01', 'judgeaa01', 'gaedeed01') ORDER BY birthyear;

SELECT level, count(*) AS players, round(avg((weight BETWEEN b.lower AND b.upper)::int), 3) AS share
FROM models, unnest('{0.5, 0.8, 0.9, 0.95, 0.99}'::float8[]) level, player p, LATERAL btml.predict_interval(model, p, level) b
WHERE part >= 8 GROUP BY level ORDER BY level;

SELECT btml.summary(model)#>>'{calibration,method}' AS method, btml.summary(model)#>>'{calibration,rows}' AS rows FROM models;

INSERT INTO models SELECT 'deviations', btml.boost_fit($$
    SELECT weight, height, birthyear, birthcountry, bats, throws, part > 4 AS held_out FROM player WHERE part < 8 $$,
    'weight', holdout => 'held_out', deviation => 'learned');

SELECT born, name, round(avg(b.upper - b.lower)) AS width, round(avg((weight BETWEEN b.lower AND b.upper)::int), 2) AS share
FROM (SELECT *, CASE WHEN birthyear < 1950 THEN 'before 1950' WHEN birthyear < 1980 THEN '1950 to 1979' ELSE 'from 1980' END AS born
    FROM player WHERE part >= 8) p,
     models, LATERAL btml.predict_interval(model, p, level => 0.9) b
WHERE birthyear IS NOT NULL AND name IN ('weight', 'deviations') GROUP BY born, name ORDER BY min(birthyear), name DESC;

SELECT p.height, round(n.mean) AS mean, round(n.sd) AS sd
FROM models, (VALUES (66, 1990, 'USA', 'R', 'R'), (72, 1990, 'USA', 'R', 'R'), (78, 1990, 'USA', 'R', 'R')) p(height, birthyear,
    birthcountry, bats, throws), LATERAL btml.predict_normal(model, p) n
WHERE name = 'deviations';

SELECT p.height, round(btml.predict_quantile(model, p, 0.1)) AS "10 %", round(btml.predict_quantile(model, p, 0.5)) AS "50 %",
    round(btml.predict_quantile(model, p, 0.9)) AS "90 %"
FROM models, (VALUES (66, 1990, 'USA', 'R', 'R'), (72, 1990, 'USA', 'R', 'R'), (78, 1990, 'USA', 'R', 'R')) p(height, birthyear,
    birthcountry, bats, throws) WHERE name = 'weight';

SELECT round(btml.nll_student_t(weight, d.location, d.scale, d.df)::numeric, 3) AS nll_student_t, round(avg(d.df)::numeric, 1) AS df
FROM models, player p, LATERAL btml.predict_distribution(model, p) d WHERE name = 'weight' AND part >= 8;

INSERT INTO models SELECT 'gp', btml.gp_fit('SELECT weight, height, birthyear FROM player WHERE part < 2', 'weight', combine => 'mixture',
    evaluations => 500);

SELECT btml.summary(model)#>>'{calibration,method}' AS method, count(*) AS players,
    round(avg((weight BETWEEN b.lower AND b.upper)::int), 3) AS share
FROM models, player p, LATERAL btml.predict_interval(model, p, level => 0.8) b WHERE name = 'gp' AND part >= 8 GROUP BY model;

\set QUIET on
DROP TABLE models;
DROP SCHEMA baseball CASCADE;
