-- Intervals, quantiles and distributions of what models predict: how often they are right, on generated and real data.
CREATE SCHEMA uncertainty;
SET search_path = uncertainty, public;
\set VERBOSITY terse
\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught
SET extra_float_digits = 0;
SET client_min_messages = warning;

-- A number from 0 to 1 for each i and stream.
CREATE FUNCTION unit(i int, stream text) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT (('x' || substr(md5(i || stream), 1, 8))::bit(32)::bigint + 0.5) / 4294967296 $$;
CREATE FUNCTION normal(i int, stream text) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT sqrt(-2 * ln(unit(i, stream))) * cos(2 * pi() * unit(i, stream || '*')) $$;
-- Targets whose deviation grows with a, whose tails are heavy (Student t of 2 degrees of freedom), that are tied, counts.
CREATE TABLE drawn AS
SELECT i, a, b, kind, f + (0.2 + a) * normal(i, 'n') AS wide, f + normal(i, 'n') / sqrt(-ln(unit(i, 's'))) AS heavy,
    round(f + normal(i, 'n')) AS tied, floor(exp(f / 4) * 3 * unit(i, 'n')) AS visits, unit(i, 'split') < 0.4 AS held_out, i <= 4000 AS seen
FROM (SELECT i, a, b, kind, sin(a) * 3 + b + length(kind) AS f
      FROM generate_series(1, 12000) i,
      LATERAL (SELECT 4 * unit(i, 'a') AS a, unit(i, 'b') AS b, (ARRAY['x', 'yy', 'zzz'])[1 + i % 3] AS kind) x) d;

-- Whether the share of the unseen rows whose target is in its interval is the level, for five levels: within 2 points
-- and what chance does to as many rows as calibrated; of tied targets an interval may have more.
CREATE FUNCTION coverage(model btml.model, target text, may_have_more boolean DEFAULT false,
    rows_to_ask text DEFAULT 'SELECT * FROM drawn WHERE NOT seen',
    OUT covers boolean) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format($sql$
        SELECT bool_and(share > level - tolerance AND (share < level + tolerance OR $2))
        FROM (SELECT level, avg((%1$I BETWEEN b.lower AND b.upper)::int) AS share,
        0.02 + 2 * sqrt(level * (1 - level) / (btml.summary($1)#>>'{calibration,rows}')::float8) AS tolerance
              FROM unnest('{0.5, 0.8, 0.9, 0.95, 0.99}'::float8[]) level, (%2$s) r, LATERAL btml.predict_interval($1, r, level) b
              GROUP BY level) s $sql$,
        target, rows_to_ask) INTO covers USING model, may_have_more;
END $$;
CREATE TABLE model (name text PRIMARY KEY, target text, model btml.model);
INSERT INTO model SELECT 'trees, ' || target, target,
    btml.boost_fit(format('SELECT a, b, kind, %I, held_out FROM drawn WHERE seen', target), target, holdout => 'held_out', trees => 30)
    FROM unnest('{wide,heavy,tied}'::text[]) target;
INSERT INTO model SELECT 'trees stopped early, ' || target, target,
    btml.boost_fit(format('SELECT a, b, kind, %I, held_out FROM drawn WHERE seen', target), target, holdout => 'held_out', trees => 300,
    learning_rate => 0.3, early_stopping => 5)
FROM unnest('{wide,heavy,tied}'::text[]) target;
INSERT INTO model SELECT objective, target, btml.boost_fit(format('SELECT a, b, kind, %I, held_out FROM drawn WHERE seen', target), target,
    holdout => 'held_out', objective => objective, trees => 30)
FROM (VALUES ('absolute', 'heavy'), ('huber', 'heavy'), ('quantile', 'wide'), ('poisson', 'visits'), ('tweedie', 'visits')) o(objective,
    target);
INSERT INTO model SELECT 'trees with deviations, ' || target || CASE WHEN stopped > 0 THEN ', stopped' ELSE '' END, target,
    btml.boost_fit(format('SELECT a, b, kind, %I, held_out FROM drawn WHERE seen', target), target, holdout => 'held_out', trees => 60,
    early_stopping => stopped, deviation => 'learned')
FROM unnest('{wide,heavy,tied,visits}'::text[]) target, unnest('{0,5}'::int[]) stopped WHERE stopped = 0 OR target = 'wide';
INSERT INTO model SELECT 'trees with deviations, no holdout, ' || target, target,
    btml.boost_fit(format('SELECT a, b, kind, %I FROM drawn WHERE seen', target), target, trees => 60, deviation => 'learned')
    FROM unnest('{wide,heavy}'::text[]) target;
INSERT INTO model SELECT 'process, ' || target, target,
    btml.gp_fit(format('SELECT a, b, kind, %I, held_out FROM drawn WHERE i <= 2500', target), target, holdout => 'held_out',
    combine => 'mixture', evaluations => 200) FROM unnest('{wide,heavy,tied}'::text[]) target;
INSERT INTO model SELECT 'process left out, ' || target, target,
    btml.gp_fit(format('SELECT a, b, kind, %I FROM drawn WHERE i <= 2500', target), target, combine => combine, evaluations => evaluations)
FROM (VALUES ('wide', 'mixture', 200), ('heavy', 'kernel_sum', 10000), ('tied', 'mixture', 1000)) o(target, combine, evaluations);
INSERT INTO model SELECT 'smooth process, ' || target, target,
    btml.gp_fit(format('SELECT a, b, kind, %I FROM drawn WHERE i <= 2500', target), target, kernel => kernel, exemplars => 40)
FROM (VALUES ('wide', 'matern32'), ('heavy', 'squared_exponential'), ('tied', 'matern52')) o(target, kernel);
INSERT INTO model SELECT 'smooth process, held out, ' || target, target,
    btml.gp_fit(format('SELECT a, b, kind, %I, held_out FROM drawn WHERE i <= 4000', target), target, holdout => 'held_out',
    kernel => 'matern52', exemplars => 40) FROM unnest('{wide,tied}'::text[]) target;
INSERT INTO model SELECT 'process, noise varies, ' || target, target,
    btml.gp_fit(format('SELECT a, b, kind, %I FROM drawn WHERE i <= 2500', target), target, combine => 'mixture', evaluations => 200,
    varying_noise => true) FROM unnest('{wide,tied}'::text[]) target;
INSERT INTO model SELECT 'process over trees, ' || target, target,
    btml.gp_fit(format('SELECT a, b, kind, %I FROM drawn WHERE i <= 2500', target), target, combine => 'mixture', evaluations => 200,
    mean => 'boosted') FROM unnest('{wide,heavy,tied}'::text[]) target;
INSERT INTO model SELECT 'process by default, ' || target, target,
    btml.gp_fit(format('SELECT a, b, kind, %I, held_out FROM drawn WHERE i <= 2500', target), target, holdout => 'held_out')
    FROM unnest('{wide,heavy}'::text[]) target;
SELECT name, c->>'method' AS method, c->'rows' AS rows, coverage(model, target, target = 'tied' OR target = 'visits') AS covers
FROM model, LATERAL (SELECT btml.summary(model)->'calibration' AS c) s ORDER BY name;

-- Real salaries, of which many are the least that was allowed, in dollars and in their logarithms.
\set ECHO none
DROP SCHEMA IF EXISTS baseball CASCADE;
\i test/data/baseball/load.sql
\unset ON_ERROR_STOP
\set ECHO all
CREATE TABLE salary AS
SELECT s.playerid, s.yearid, s.teamid, p.height, p.weight, p.birthyear, p.birthcountry, p.bats, s.yearid - extract(year
    FROM p.debut)::int AS season, s.salary::float8 AS dollars,
    ln(s.salary) AS logarithm, unit(row_number() OVER (ORDER BY s.yearid, s.teamid, s.playerid)::int, 'split') AS split
FROM baseball.salaries s JOIN baseball.people p USING (playerid) WHERE s.salary > 0;
SELECT target, coverage(model, target, true, 'SELECT * FROM salary WHERE split > 0.6') AS covers
FROM unnest('{dollars,logarithm}'::text[]) target, LATERAL (SELECT btml.boost_fit(format(
    'SELECT yearid, teamid, height, weight, birthyear, birthcountry, bats, season, %I, split < 0.3 AS held_out FROM salary
    WHERE split < 0.6', target), target, holdout => 'held_out', early_stopping => 10) AS model) m ORDER BY target;
CREATE TABLE part AS SELECT *, split < 0.1 AS held_out FROM salary WHERE split < 0.2;
SELECT name, coverage(model, 'logarithm', false, 'SELECT * FROM salary WHERE split > 0.6') AS covers
FROM (SELECT 'process' AS name,
    btml.gp_fit('SELECT yearid, teamid, height, weight, birthyear, birthcountry, bats, season, logarithm, held_out FROM part', 'logarithm',
    holdout => 'held_out') AS model
      UNION ALL SELECT 'smooth process',
      btml.gp_fit('SELECT yearid, teamid, height, weight, birthyear, birthcountry, bats, season, logarithm FROM part', 'logarithm',
      kernel => 'matern52', exemplars => 60)) m ORDER BY name;
-- Learned deviations are near the true ones, 0.2 + a; they make intervals narrower, and the distribution likelier.
SELECT name, bool_and(ratio BETWEEN 0.6 AND 1.6) AS near FROM (
    SELECT name, floor(2 * a) AS part, avg(n.sd) / avg(0.2 + a) AS ratio FROM model, drawn d, LATERAL btml.predict_normal(model, d) n
    WHERE NOT seen AND name LIKE 'trees with deviations,%wide%' GROUP BY name, part HAVING floor(2 * a) > 0) r GROUP BY name ORDER BY name;
SELECT w.deviations < w.none * 0.9 AS narrower, l.deviations < l.none - 0.1 AS likelier
FROM (SELECT avg(b.upper - b.lower) FILTER (WHERE name = 'trees, wide') AS none,
    avg(b.upper - b.lower) FILTER (WHERE name LIKE 'trees with%') AS deviations
      FROM model, drawn d, LATERAL btml.predict_interval(model, d) b
      WHERE NOT seen AND name IN ('trees, wide', 'trees with deviations, wide')) w,
     (SELECT btml.nll_student_t(wide, t.location, t.scale, t.df) FILTER (WHERE name = 'trees, wide') AS none,
     btml.nll_student_t(wide, t.location, t.scale, t.df) FILTER (WHERE name LIKE 'trees with%') AS deviations
      FROM model, drawn d, LATERAL btml.predict_distribution(model, d) t
      WHERE NOT seen AND name IN ('trees, wide', 'trees with deviations, wide')) l;
-- The predictions are those without.
SELECT bool_and(btml.predict(m.model, d) = btml.predict(o.model, d)) AS same_predictions,
    bool_and(n.model::text = m.model::text) AS same_bytes
FROM model m, (SELECT btml.boost_fit('SELECT a, b, kind, wide, held_out FROM drawn WHERE seen', 'wide', holdout => 'held_out',
    trees => 60) AS model) o,
    (SELECT btml.boost_fit('SELECT a, b, kind, wide, held_out FROM drawn WHERE seen', 'wide', holdout => 'held_out', trees => 60,
    deviation => 'learned') AS model) n, drawn d
WHERE m.name = 'trees with deviations, wide' AND i % 100 = 0;
-- Validation scores predictions, which are the same; other forms write them alone.
SELECT bool_and(a.value = b.value) AS same_scores
    FROM btml.cross_validate('SELECT a, b, wide FROM drawn WHERE seen', 'wide', options => '{"trees": 10}') a
JOIN btml.cross_validate('SELECT a, b, wide FROM drawn WHERE seen', 'wide',
    options => '{"trees": 10, "deviation": "learned"}') b USING (fold);
SELECT btml.to_sql(m.model) = btml.to_sql(o.model) AS sql, md5(btml.to_lightgbm(m.model)) = md5(btml.to_lightgbm(o.model)) AS lightgbm,
    btml.describe(m.model) = btml.describe(o.model) AS described, btml.summary(m.model)#>>'{params,deviation}' AS deviation
FROM model m, (SELECT btml.boost_fit('SELECT a, b, kind, wide, held_out FROM drawn WHERE seen', 'wide', holdout => 'held_out',
    trees => 60) AS model) o WHERE m.name = 'trees with deviations, wide';
-- A quantile is an end of the interval; what half of the targets are below lies between them.
SELECT name, count(*) AS rows,
    bool_and(btml.predict_quantile(model, d, 0.05) = b.lower AND btml.predict_quantile(model, d, 0.95) = b.upper) AS ends,
    bool_and(btml.predict_quantile(model, d, 0.5) BETWEEN b.lower AND b.upper) AS middle, bool_and(b.lower >= 0) AS positive
FROM model, drawn d, LATERAL btml.predict_interval(model, d) b WHERE NOT seen AND i % 100 = 0 GROUP BY name ORDER BY name;
-- By position as by name.
SELECT bool_and(btml.predict_interval(model, ARRAY[a, b, array_position('{x,yy,zzz}', kind) - 1], 0.8)
    = btml.predict_interval(model, d, 0.8)) AS intervals,
    bool_and(btml.predict_quantile(model, ARRAY[a, b, array_position('{x,yy,zzz}', kind) - 1], 0.3)
    = btml.predict_quantile(model, d, 0.3)) AS quantiles,
    bool_and(btml.predict_distribution(model, ARRAY[a, b, array_position('{x,yy,zzz}', kind) - 1]) = btml.predict_distribution(model,
    d)) AS distributions
FROM model, drawn d WHERE i % 1000 = 0;
-- Means of a Gaussian process have the intervals of its function, which are narrower.
SELECT count(*) > 0 AS some, bool_and(abs(m.lower - (l.mean - 1.2815515655446004 * l.sd)) <= 1e-8 * l.sd
    AND abs(m.upper - (l.mean + 1.2815515655446004 * l.sd)) <= 1e-8 * l.sd) AS means,
    avg((m.upper - m.lower < o.upper - o.lower)::int) > 0.9 AS narrower
FROM model, drawn d, btml.predict_latent(model, d) l, btml.predict_interval(model, d, 0.8, of => 'mean') m,
    btml.predict_interval(model, d, 0.8) o WHERE i % 1000 = 0 AND name LIKE '%process%';
-- The Student t is no worse than the normal of the same errors, and much better where tails are heavy.
SELECT name, round(avg(abs(location - btml.predict(model, d)))::numeric, 12) AS off, min(df) >= 1 AS has_df, min(scale) > 0 AS has_scale,
    btml.nll_student_t(CASE target WHEN 'wide' THEN wide WHEN 'heavy' THEN heavy ELSE tied END, location, scale, df)
        < btml.nll_normal(CASE target WHEN 'wide' THEN wide WHEN 'heavy' THEN heavy ELSE tied END, n.mean, n.sd) + 0.01 AS better
FROM model, drawn d, LATERAL btml.predict_distribution(model, d) t, LATERAL btml.predict_normal(model, d) n
    WHERE NOT seen AND name LIKE '%process%' GROUP BY name ORDER BY name;
SELECT name, l.mean_nll_student_t = (btml.summary(model)#>>'{metrics,leave_one_out,mean_nll_student_t}')::float8 AS in_summary,
    l.mean_nll_student_t < l.mean_nll + 0.02 AS better FROM model, btml.gp_leave_one_out(model) l WHERE name LIKE '%process%' ORDER BY name;

-- Without early stopping all held-out rows calibrate, with it every second one, and what is held out is the same.
SELECT name, s->'holdout_rows' AS held_out, s->'calibration'->'rows' AS calibrate FROM model, btml.summary(model) s
    WHERE name LIKE 'trees%wide' ORDER BY name;
-- The text of a model keeps it, and it is the same in any order of rows.
SELECT count(*) AS models, bool_and(btml.predict_interval(model::text::btml.model, d) = btml.predict_interval(model, d)) AS kept
    FROM model, drawn d WHERE i = 7;
SELECT count(DISTINCT btml.boost_fit(source, 'wide', holdout => 'held_out', early_stopping => 3, trees => 20)::text) AS models
FROM unnest('{i,a,"b DESC"}'::text[]) key,
    LATERAL (SELECT 'SELECT a, b, wide, held_out FROM (SELECT * FROM uncertainty.drawn WHERE seen ORDER BY ' || key
    || ' OFFSET 0) d' AS source) s;

-- Targets that many rows have in common, at ends that rounding moves; held-out rows that are copies of each other, of
-- which each half has some.
CREATE TABLE tie AS SELECT n % 3 + 0.1::float8 AS y, 1.0::float8 AS g, n % 7 AS seven, n % 2 = 0 AS held_out FROM generate_series(1, 600) n;
SELECT name, bool_and(b.lower <= 0.1 AND b.upper >= 2.1::float8) AS holds
    FROM (SELECT 'trees' AS name, btml.boost_fit('tie', 'y', features => '{g,seven}', holdout => 'held_out') AS model
    UNION ALL SELECT 'process', btml.gp_fit('tie', 'y', features => '{g,seven}', holdout => 'held_out', evaluations => 20)
    UNION ALL SELECT 'smooth process', btml.gp_fit('tie', 'y', features => '{seven}', holdout => 'held_out', kernel => 'matern52',
    exemplars => 7)) m, tie, LATERAL btml.predict_interval(model, tie, 0.95) b GROUP BY name ORDER BY name;
-- Where nothing tells rows apart but their targets, a half without copies of one of them misses a third of new rows.
SELECT bool_and(b.lower <= 0.1 AND b.upper >= 2.1::float8) AS holds
    FROM (SELECT btml.boost_fit('tie', 'y', features => '{g}', holdout => 'held_out') AS model
    UNION ALL SELECT btml.gp_fit('tie', 'y', features => '{g}', holdout => 'held_out', mean => 'zero', evaluations => 20, seed => seed)
    FROM generate_series(1, 8) seed) m, LATERAL btml.predict_interval(model, ARRAY[1.0]::float8[], 0.95) b;
-- Few rows: an end is infinite, which is said once.
SET client_min_messages = notice;
CREATE TABLE few AS SELECT btml.boost_fit('SELECT a, b, wide, i % 100 = 0 AS held_out FROM drawn WHERE i <= 1900', 'wide',
    holdout => 'held_out', trees => 5) AS model;
SELECT level, isfinite.lower, isfinite.upper FROM few, unnest('{0.5,0.9,0.91}'::float8[]) level, drawn d,
    LATERAL (SELECT abs(b.lower) < 'Infinity' AS lower, abs(b.upper) < 'Infinity' AS upper
    FROM btml.predict_interval(model, d, level) b) isfinite WHERE i IN (1, 2) ORDER BY level, i;
SELECT q, btml.predict_quantile(model, d, q) FROM few, unnest('{0.001,0.999}'::float8[]) q, drawn d WHERE i = 1;
SELECT count((btml.predict_distribution(model, d)).scale) FROM few, drawn d WHERE i < 9;
SET client_min_messages = warning;

-- What is NULL gives NULL.
SELECT btml.predict_interval(NULL, d) IS NULL AS model, btml.predict_interval(model, d, NULL) IS NULL AS level,
    btml.predict_quantile(model, d, NULL) IS NULL AS q,
    btml.predict_interval(model, NULL::float8[]) IS NULL AS features, btml.predict_distribution(model, NULL::float8[]) IS NULL AS features,
    btml.predict_distribution(NULL, d) IS NULL AS model
FROM few, drawn d WHERE i = 1;
-- Errors.
SELECT caught(format('SELECT btml.%s FROM few, drawn d WHERE i = 1', call))
    FROM unnest(ARRAY['predict_interval(model, d, 0)', 'predict_interval(model, d, 1)', 'predict_interval(model, d, 90)',
    'predict_interval(model, d, ''NaN'')', 'predict_quantile(model, d, -0.1)', 'predict_quantile(model, d, 1)',
    'predict_interval(model, ROW(1, 2))', 'predict_interval(model, ARRAY[1.0])',
    'predict_distribution(model, ARRAY[1.0, 2.0, 3.0])']) call;
\set shown 'SELECT caught(format(''SELECT btml.predict_interval(%s, d) FROM drawn d WHERE i = 1'', fit)) FROM unnest(ARRAY'
:shown[
    $$btml.boost_fit('SELECT a, b, wide FROM drawn', 'wide', trees => 1)$$,
    $$btml.boost_fit('SELECT a, b, wide, held_out FROM drawn', 'wide', trees => 1, holdout => 'held_out', strategy => 'factorize')$$,
    $$btml.boost_fit('SELECT a, b, held_out, wide > 3 AS high FROM drawn', 'high', trees => 1, holdout => 'held_out')$$,
    $$btml.boost_fit('SELECT a, b, held_out, kind FROM drawn', 'kind', trees => 1, holdout => 'held_out')$$,
    $$btml.boost_fit('SELECT a, b, held_out, i / 10 AS query, visits FROM drawn', 'visits', trees => 1, holdout => 'held_out',
    objective => 'rank', query => 'query')$$]) fit;
SELECT caught('SELECT btml.predict_interval(btml.boost_fit_agg(wide, ARRAY[a, b]), ARRAY[1.0, 1.0]) FROM drawn');
SELECT caught(format('SELECT btml.%s', call)) FROM unnest(ARRAY['predict_normal(model, ARRAY[1.0, 1.0]) FROM few',
    $$boost_fit('drawn', 'wide', deviation => 'learnt')$$, $$boost_fit('SELECT a, wide > 1 AS w FROM drawn', 'w', deviation => 'learned')$$,
    $$boost_fit('SELECT a, wide, i AS q FROM drawn', 'wide', deviation => 'learned', objective => 'rank', query => 'q')$$,
    $$boost_fit('SELECT a, wide FROM drawn', 'wide', deviation => 'learned', strategy => 'factorize')$$,
    $$boost_fit('SELECT a, wide FROM drawn', 'wide', deviation => 'learned', strategy => 'distributed')$$,
    $$boost_fit('SELECT a, b, wide FROM drawn', 'wide', deviation => 'learned', start => model) FROM few$$,
    $$boost_fit('SELECT a, wide FROM drawn WHERE i = 1', 'wide', deviation => 'learned')$$,
    $$boost_fit_agg(wide, ARRAY[a], '{"deviation": "learned"}') FROM drawn$$]) call;
\set lightgbm `cat "${PG_ABS_SRCDIR:-.}/test/data/models/imported_lightgbm-1.txt"`
SELECT caught(format('SELECT btml.predict_quantile(m, array_fill(0.0::float8, ARRAY[cardinality(btml.feature_names(m))]), 0.5)
    FROM (SELECT %L::btml.model) s(m)', :'lightgbm'));

-- A model that observations were added to keeps the calibration of its fit, and counts them.
SELECT btml.summary(updated)#>'{calibration,updates_since}' AS updates,
    btml.summary(updated)#>'{calibration,rows}' = btml.summary(model)#>'{calibration,rows}' AS kept
FROM model, LATERAL (SELECT btml.gp_downdate(btml.gp_update(btml.gp_update(model, '{1,1,0}'::float8[], 5), '{2,1,0}'::float8[], 5),
    '{1,1,0}'::float8[], 5) AS updated) u WHERE name = 'process left out, wide';
-- A far target spoils the predictions of few other rows: the deviations of the rest are as without it.
CREATE TEMP TABLE far_target AS SELECT i AS id, x, CASE WHEN i = 7 AND far <> 0 THEN far
    ELSE sin(12 * x) + 0.05 * (i * 7919 % 101 / 50.0 - 1) END AS y, far
    FROM generate_series(1, 2000) i, LATERAL (SELECT (i * 0.6180339887498949 % 1)::float8 AS x) s, unnest(ARRAY[0, 1e10, 1e20]) far;
SELECT far, min_leaf_rows, percentile_cont(0.5) WITHIN GROUP (ORDER BY n.sd) < 0.1 AS sure
    FROM unnest(ARRAY[0, 1e10, 1e20]) far, unnest(ARRAY[1, 20]) min_leaf_rows,
    LATERAL (SELECT btml.boost_fit(format('SELECT x, y FROM far_target WHERE far = %s', far), 'y', deviation => 'learned',
    min_leaf_rows => min_leaf_rows) AS model OFFSET 0) f, generate_series(0, 99) i, btml.predict_normal(model, ARRAY[i / 100.0]) n
    GROUP BY far, min_leaf_rows ORDER BY far, min_leaf_rows;
SET client_min_messages = error;
DROP SCHEMA baseball, uncertainty CASCADE;
