-- The examples of contrib_docs/plots.md: each prints its picture, which cmp compares with the one on the page. To draw the
-- pictures anew, from the top of the source tree:
--     sed -E 's/^\\o \| cmp - /\\o /' sql/docs_plots.sql | psql
SET datestyle = 'ISO';
SET timezone = 'UTC';
\set QUIET on
\i test/data/baseball/load.sql
\i test/data/openflights/load.sql
\set ON_ERROR_STOP off
\pset format unaligned
\pset tuples_only on

CREATE TABLE models AS SELECT btml.boost_fit($$
    SELECT ln(s.salary) AS log_salary, s.yearid AS season, s.yearid - extract(year FROM p.debut)::int AS experience,
           s.yearid - p.birthyear AS age, p.weight, t.w AS wins, p.birthyear % 5 = 0 AS held_out
    FROM baseball.salaries s JOIN baseball.people p USING (playerid) JOIN baseball.teams t USING (yearid, teamid)
    WHERE s.salary > 0 $$, 'log_salary', holdout => 'held_out', trees => 200) AS model;
CREATE VIEW player_season AS
SELECT s.playerid, s.salary, s.yearid AS season, s.yearid - extract(year FROM p.debut)::int AS experience,
       s.yearid - p.birthyear AS age, p.weight, t.w AS wins
FROM baseball.salaries s JOIN baseball.people p USING (playerid) JOIN baseball.teams t USING (yearid, teamid);

\o | cmp - contrib_docs/plots/learning_curve.svg
SELECT btml.plot($$
    SELECT iteration AS x, sqrt(holdout_loss) AS y, 'held out' AS series FROM models, btml.training_log(model)
    UNION ALL
    SELECT iteration, sqrt(train_loss), 'training' FROM models, btml.training_log(model) $$,
    title => 'The error as trees are added', x_label => 'trees', y_label => 'RMSE, log dollars');
\o

\o | cmp - contrib_docs/plots/importance.svg
SELECT btml.plot($$
    SELECT feature AS x, mean_absolute AS y, mean_absolute - 2 * std_error AS lower, mean_absolute + 2 * std_error AS upper
    FROM models, btml.shap_importance(model, 'player_season') $$, 'bar',
    title => 'What salaries depend on', y_label => 'mean |SHAP value|, with two standard errors', height => 240);
\o

CREATE TABLE explained AS
SELECT s.playerid, s.season, e.feature, e.value::float8 AS value, e.contribution
FROM models, (SELECT * FROM player_season ORDER BY md5(playerid || season) LIMIT 600) s, btml.explain(model, s.*) e
WHERE e.feature <> '(base)';

\o | cmp - contrib_docs/plots/beeswarm.svg
SELECT btml.plot($$
    SELECT contribution AS x, feature AS y, percent_rank() OVER (PARTITION BY feature ORDER BY value) AS value
    FROM explained ORDER BY avg(abs(contribution)) OVER (PARTITION BY feature) DESC $$, 'point',
    title => 'SHAP values of 600 players, coloured from their lowest to their highest', x_label => 'SHAP value, log dollars');
\o

\o | cmp - contrib_docs/plots/dependence.svg
SELECT btml.plot($$
    SELECT a.value AS x, a.contribution AS y, b.value
    FROM explained a JOIN explained b USING (playerid, season)
    WHERE a.feature = 'experience' AND b.feature = 'season' $$, 'point',
    title => 'What experience adds, coloured by the season', x_label => 'years since the debut', y_label => 'SHAP value');
\o

CREATE TABLE hands AS SELECT btml.boost_fit($$
    SELECT throws = 'L' AS left_handed, bats, height, weight, birthyear, birthyear % 5 = 0 AS held_out
    FROM baseball.people $$, 'left_handed', holdout => 'held_out', trees => 60) AS model;
CREATE TABLE guess AS SELECT p.throws = 'L' AS left_handed, btml.predict(model, p.*) AS probability
FROM hands, baseball.people p WHERE p.birthyear % 5 = 0 AND p.throws IS NOT NULL;

\o | cmp - contrib_docs/plots/calibration.svg
SELECT btml.plot($$
    SELECT avg(probability) AS x, avg(left_handed::int) AS y, avg(left_handed::int) - 2 * sqrt(avg(left_handed::int) *
           (1 - avg(left_handed::int)) / count(*)) AS lower, avg(left_handed::int) + 2 * sqrt(avg(left_handed::int) *
           (1 - avg(left_handed::int)) / count(*)) AS upper, 'held-out people' AS series, 'point' AS mark
    FROM (SELECT *, ntile(12) OVER (ORDER BY probability) AS bin FROM guess) g GROUP BY bin
    UNION ALL
    SELECT p, p, NULL, NULL, 'calibrated', 'line' FROM unnest('{0,0.75}'::float8[]) p $$,
    title => 'Calibration', x_label => 'predicted probability', y_label => 'share of left-handers', width => 440);
\o

\o | cmp - contrib_docs/plots/roc.svg
SELECT btml.plot($$
    SELECT count(*) FILTER (WHERE NOT left_handed) OVER w / (count(*) FILTER (WHERE NOT left_handed) OVER ())::float8 AS x,
           count(*) FILTER (WHERE left_handed) OVER w / (count(*) FILTER (WHERE left_handed) OVER ())::float8 AS y,
           'model' AS series
    FROM guess WINDOW w AS (ORDER BY probability DESC)
    UNION ALL
    SELECT p, p, 'chance' FROM unnest('{0,1}'::float8[]) p $$,
    title => 'ROC', x_label => 'false positives', y_label => 'true positives', width => 440, height => 420);
\o

\o | cmp - contrib_docs/plots/histogram.svg
SELECT btml.plot($$
    SELECT 10.2 + 0.2 * width_bucket(ln(salary), 10.3, 17.7, 37) AS x, count(*) AS y
    FROM baseball.salaries WHERE salary > 0 GROUP BY x $$, 'bar',
    title => 'Salaries', x_label => 'log dollars', y_label => 'players and seasons');
\o

CREATE TABLE era AS SELECT yearid AS season, avg(era) AS era FROM baseball.teams GROUP BY yearid;

\o | cmp - contrib_docs/plots/gp.svg
SELECT btml.plot($$
    SELECT season AS x, mean AS y, mean - 2 * sd AS lower, mean + 2 * sd AS upper, 'mean ± 2 sd' AS series, 'line' AS mark
    FROM (SELECT btml.gp_fit('SELECT era, season FROM era WHERE season % 3 = 0', 'era') AS model) fit,
         (SELECT 1871 + i / 4.0 AS season FROM generate_series(0, 600) i) at, btml.predict_normal(fit.model, at)
    UNION ALL
    SELECT season, era, NULL, NULL, CASE season % 3 WHEN 0 THEN 'seen' ELSE 'not seen' END, 'point' FROM era $$,
    title => 'Earned runs, by a Gaussian process of every third season', x_label => 'season', y_label => 'earned run average');
\o

CREATE TABLE grid AS
SELECT inches || '/' || pounds AS id, inches, pounds
FROM generate_series(64, 81, 0.5) inches, generate_series(130, 280, 5) pounds;

\o | cmp - contrib_docs/plots/density.svg
SELECT btml.plot($$
    SELECT inches AS x, pounds AS y, value
    FROM grid JOIN btml.density('SELECT height AS inches, weight AS pounds FROM baseball.people WHERE height * weight > 0',
                                'grid', bandwidth => 0.3, scale => 'sd') d USING (id) $$, 'heatmap',
    title => 'The density of 19,000 players', x_label => 'height, inches', y_label => 'weight, pounds');
\o

CREATE TABLE sky AS
SELECT lon || '/' || lat AS id, lon, lat, lon * 0.6 AS east, lat AS north
FROM generate_series(-12, 42) lon, generate_series(34, 72, 0.5) lat;

\o | cmp - contrib_docs/plots/airports.svg
SELECT btml.plot($$
    SELECT lon AS x, lat AS y, value, 'heatmap' AS mark
    FROM sky JOIN btml.density('SELECT lon * 0.6 AS east, lat AS north FROM openflights.airports',
                               'SELECT id, east, north FROM sky', bandwidth => 0.8) d USING (id)
    WHERE value > 0.0001
    UNION ALL
    SELECT lon, lat, NULL, 'point' FROM openflights.airports $$,
    title => 'The density of 1,632 airports', x_label => 'degrees east', y_label => 'degrees north',
    width => 480, height => 560);
\o

\o | cmp - contrib_docs/plots/destinations.svg
SELECT btml.plot($$
    SELECT lon AS x, lat AS y, destinations AS size, CASE WHEN destinations > 200 THEN destinations || ' destinations' END AS label
    FROM openflights.airports WHERE destinations > 0 AND lat < 60 $$, 'point',
    title => 'Destinations without a stop', x_label => 'degrees east', y_label => 'degrees north',
    width => 480, height => 480);
\o

\o | cmp - contrib_docs/plots/bandwidth.svg
SELECT btml.plot($$
    WITH curve AS (SELECT * FROM btml.select_bandwidth(
        'SELECT height, birthyear, weight AS pounds FROM baseball.people WHERE height * weight * birthyear > 0', 'kr', 'pounds',
        lower => 0.03, upper => 10, steps => 21, scale => 'sd', method => 'sampled'))
    SELECT bandwidth AS x, score AS y, score - 2 * std_error AS lower, score + 2 * std_error AS upper,
           CASE WHEN best THEN 'the best' END AS label, 'point' AS mark FROM curve
    UNION ALL
    SELECT bandwidth, score, NULL, NULL, NULL, 'line' FROM curve $$,
    title => 'The score of a bandwidth, with two standard errors', x_label => 'bandwidth', y_label => 'squared error',
    x_scale => 'log');
\o

\o | cmp - contrib_docs/plots/exemplars.svg
SELECT btml.plot($$
    WITH team AS (SELECT yearid || ' ' || name AS id, r / g::float8 AS scored, era FROM baseball.teams WHERE yearid >= 1950)
    SELECT era AS x, scored AS y, NULL AS series, NULL AS label FROM team
    UNION ALL
    SELECT t.era, t.scored, 'exemplar', t.id
    FROM btml.exemplars('SELECT yearid || '' '' || name AS id, r / g::float8 AS scored, era FROM baseball.teams WHERE yearid >= 1950', 8) e
    JOIN team t USING (id) $$, 'point',
    title => 'Eight teams that stand for all since 1950', x_label => 'earned run average', y_label => 'runs scored a game');
\o

\o | cmp - contrib_docs/plots/boxes.svg
SELECT btml.plot($$
    SELECT date_trunc('year', p.debut)::date AS x, p.weight AS y FROM baseball.people p WHERE p.debut >= '1990-01-01' $$, 'box',
    title => 'Weights of players by the year of their debut', y_label => 'pounds');
\o

\pset format aligned
\pset tuples_only off
SET client_min_messages = warning;
DROP SCHEMA baseball CASCADE;
DROP TABLE models, explained, hands, guess, era, grid;
