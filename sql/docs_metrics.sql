-- The examples of contrib_docs/metrics.md.
\set QUIET on
\i test/data/baseball/load.sql
\set ON_ERROR_STOP off

CREATE TABLE salary AS
WITH fit AS (
    SELECT btml.boost_fit($$
        SELECT ln(s.salary) AS log_salary, s.yearid, p.debut, p.birthyear, p.weight, s.teamid, p.birthyear % 5 = 0 AS held_out
        FROM baseball.salaries s JOIN baseball.people p USING (playerid) WHERE s.salary > 0 $$,
        target => 'log_salary', holdout => 'held_out', trees => 50) AS model)
SELECT ln(s.salary) AS y, btml.predict(model, x.*) AS prediction
FROM fit, baseball.salaries s JOIN baseball.people p USING (playerid),
     LATERAL (SELECT s.yearid, p.debut, p.birthyear, p.weight, s.teamid) x
WHERE s.salary > 0 AND p.birthyear % 5 = 0;

SELECT forecast, round(btml.rmse(y, prediction)::numeric, 3) AS rmse, round(btml.mae(y, prediction)::numeric, 3) AS mae,
       round(btml.r2(y, prediction)::numeric, 3) AS r2
FROM (SELECT 'trees' AS forecast, y, prediction FROM salary
      UNION ALL SELECT 'mean', y, avg(y) OVER () FROM salary) f
GROUP BY forecast ORDER BY forecast;

CREATE TABLE weight AS
SELECT p.weight AS y, n.mean, n.sd
FROM (SELECT btml.gp_fit('SELECT weight, height FROM baseball.people WHERE birthyear > 1970 AND birthyear % 5 > 0',
                         'weight') AS model) fit,
     baseball.people p, LATERAL btml.predict_normal(fit.model, p) n
WHERE p.birthyear > 1970 AND p.birthyear % 5 = 0;

SELECT round(btml.coverage(y, mean - 1.645 * sd, mean + 1.645 * sd)::numeric, 2) AS within_90_percent,
       round(btml.nll_normal(y, mean, sd)::numeric, 2) AS nll, round(btml.crps_normal(y, mean, sd)::numeric, 1) AS crps
FROM weight;

CREATE TABLE season AS
SELECT CASE t.yearid % 3 WHEN 1 THEN 'calibrate' ELSE 'test' END AS part, t.lgid, t.w > t.l AS y,
       btml.predict(fit.model, x) AS p
FROM (SELECT btml.boost_fit('SELECT w > l AS y, r::float8 / g AS r, hr::float8 / g AS hr, era
                             FROM baseball.teams WHERE yearid % 3 = 0', 'y') AS model) fit,
     baseball.teams t, LATERAL (SELECT t.r::float8 / t.g AS r, t.hr::float8 / t.g AS hr, t.era) x
WHERE t.yearid % 3 > 0;

SELECT part, count(*) AS seasons, round(btml.log_loss(y, p)::numeric, 3) AS log_loss, round(btml.brier(y, p)::numeric, 3) AS brier,
       round(btml.accuracy(y, p > 0.5)::numeric, 3) AS accuracy, round(btml.auc(y, p)::numeric, 3) AS auc,
       round(btml.average_precision(y, p)::numeric, 3) AS average_precision
FROM season GROUP BY part ORDER BY part;

SELECT width_bucket(p, 0, 1, 5) AS bin, count(*) AS seasons, round(avg(p)::numeric, 3) AS predicted, round(avg(y::int), 3) AS observed
FROM season WHERE part = 'calibrate' GROUP BY bin ORDER BY bin;

CREATE TABLE calibration AS
WITH bin AS (
    SELECT width_bucket(p, 0, 1, 20) AS bin, count(*) + 2 AS seasons, count(*) FILTER (WHERE y) + 1 AS won
    FROM season WHERE part = 'calibrate' GROUP BY 1),
least AS (
    SELECT at.bin, low.bin AS low, min(mean) AS mean
    FROM bin at JOIN bin low ON low.bin <= at.bin JOIN bin high ON high.bin >= at.bin,
         LATERAL (SELECT sum(won) / sum(seasons) AS mean FROM bin WHERE bin BETWEEN low.bin AND high.bin) pool
    GROUP BY at.bin, low.bin)
SELECT bin, max(mean)::float8 AS p FROM least GROUP BY bin;

SELECT count(*) AS seasons, round(btml.log_loss(y, s.p)::numeric, 3) AS log_loss, round(btml.log_loss(y, c.p)::numeric, 3) AS recalibrated,
       round(btml.brier(y, s.p)::numeric, 3) AS brier, round(btml.brier(y, c.p)::numeric, 3) AS recalibrated_brier
FROM season s JOIN calibration c ON c.bin = width_bucket(s.p, 0, 1, 20) WHERE part = 'test';

SELECT round(btml.log_loss(p[label])::numeric, 3) AS log_loss, btml.accuracy(label, likeliest) AS accuracy
FROM (VALUES (1, ARRAY[0.7, 0.2, 0.1]), (2, ARRAY[0.3, 0.6, 0.1]), (3, ARRAY[0.5, 0.3, 0.2]), (1, ARRAY[0.8, 0.1, 0.1])) v(label, p),
     LATERAL (SELECT i AS likeliest FROM generate_subscripts(p, 1) i ORDER BY p[i] DESC, i LIMIT 1) l;

SELECT round(btml.poisson_deviance(hr, rate * ab)::numeric, 3) AS by_at_bats,
    round(btml.poisson_deviance(hr, mean)::numeric, 3) AS of_the_mean
FROM baseball.battingpost, (SELECT sum(hr)::float8 / sum(ab) AS rate, avg(hr) AS mean FROM baseball.battingpost WHERE ab > 0) overall
WHERE ab > 0;

SELECT round(btml.pinball(weight, q[1], 0.5)::numeric, 2) AS median, round(btml.pinball(weight, q[2], 0.5)::numeric, 2) AS ninth_decile,
       round(btml.pinball(weight, q[1], 0.9)::numeric, 2) AS median_90,
       round(btml.pinball(weight, q[2], 0.9)::numeric, 2) AS ninth_decile_90
FROM baseball.people, (SELECT percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY weight) AS q FROM baseball.people) quantile;

SELECT decade, round(avg(ndcg)::numeric, 3) AS ndcg, count(*) AS divisions
FROM (SELECT yearid / 10 * 10 AS decade, btml.ndcg(greatest(0, 4 - rank), r::float8 / g - era, 3) AS ndcg
      FROM baseball.teams WHERE yearid >= 1980 GROUP BY yearid, lgid, divid) division
GROUP BY decade ORDER BY decade;

SELECT sum(x) AS sum, btml.exact_sum(x) AS exact_sum FROM (VALUES (1e308::float8), (1), (-1e308)) v(x);

DROP TABLE salary, weight, season, calibration;
\set QUIET on
DROP SCHEMA baseball CASCADE;
