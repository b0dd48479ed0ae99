-- Rows that are trained on before those that are scored, and groups that stay together; holdouts as a fraction.
CREATE SCHEMA validation_time;
SET search_path = validation_time;
\set uniform `echo "${PG_ABS_SRCDIR:-.}/sql/include/uniform.sql"`
\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :uniform
\i :caught

-- Visits of customers in a year, more and more of them; a time for each visit, of the calendar a month.
CREATE TABLE customer AS SELECT c AS customer, floor(uniform(c, 1) * 6)::int AS size, (ARRAY['north', 'south', 'east'])[1 + c % 3] AS region
FROM generate_series(1, 60) c;
CREATE TABLE calendar AS SELECT m AS month, (date '2022-12-01' + make_interval(months => m))::date AS starts FROM generate_series(1, 12) m;
CREATE TABLE visit AS SELECT n AS id, customer, extract(month FROM day)::int AS month, day AT TIME ZONE 'UTC' AS at, goods,
    size * goods + extract(month FROM day)::int * 0.5 + uniform(n, 5) AS spent, size + goods + 3 * uniform(n, 6) > 5 AS large
FROM generate_series(1, 2000) n, LATERAL (SELECT 1 + floor(uniform(n, 2) * 60)::int AS customer, floor(uniform(n, 4) * 5)::int AS goods,
    timestamp '2023-01-01' + make_interval(days => floor(sqrt(uniform(n, 3)) * 365)::int) AS day) d JOIN customer USING (customer);
CREATE VIEW visits AS SELECT id, customer, month, at, goods, size, region, starts, spent, large
FROM visit JOIN customer USING (customer) JOIN calendar USING (month);
CREATE TABLE flat AS SELECT * FROM visits;
CREATE VIEW few AS SELECT at, month, customer, goods, size, region, starts, spent, large FROM visits;

-- Each fold scores what boost_fit scores on these rows held out, trained on what is before less the gap.
CREATE FUNCTION of_fold(since date, until date, train_end date) RETURNS float8[] LANGUAGE sql AS $$
    SELECT array_agg(holdout_metric ORDER BY iteration)
    FROM btml.training_log(btml.boost_fit(format('SELECT goods, size, region, spent, starts >= %L AS held FROM visits
        WHERE starts < %L OR starts >= %L AND starts < %L', since, train_end, since, until), 'spent', holdout => 'held',
    metric => 'rmse', trees => 12, max_bins => 0))
$$;
CREATE TABLE month_rows AS SELECT starts, count(*) AS rows, sum(count(*)) OVER (ORDER BY starts) AS up_to FROM visits GROUP BY starts;
SELECT gap, fold, rows, value = (of_fold(since, until, (since - coalesce(gap, '0'))::date))[trees] AS same
FROM (VALUES (NULL::interval), ('0'), ('1 month'), ('2 months')) g(gap),
    LATERAL (SELECT fold, v.rows, value, trees, m.starts AS since, lead(m.starts, 1, 'infinity') OVER (ORDER BY fold) AS until
    FROM (SELECT *, sum(rows) OVER (ORDER BY fold DESC) AS from_here FROM btml.cross_validate('visits', 'spent', 4, order_by => 'starts',
    gap => gap, options => '{"trees": 12, "max_bins": 0, "features": ["goods", "size", "region"]}')) v
    JOIN month_rows m ON v.from_here = 2000 - m.up_to + m.rows) f
ORDER BY gap NULLS FIRST, fold;
-- Of Gaussian processes as well.
CREATE FUNCTION gp_of_fold(since date, until date) RETURNS float8 LANGUAGE sql AS $$
    SELECT sqrt(avg((btml.predict((SELECT btml.gp_fit(format('SELECT goods, size, spent FROM visits WHERE starts < %L AND id < 400', since),
    'spent', members => 1, evaluations => 30, combine => 'mixture', mean => 'zero')), v.*) - v.spent)^2))
    FROM visits v WHERE starts >= since AND starts < until AND id < 400
$$;
SELECT fold, f.rows, abs(value - gp_of_fold(since, until)) < 1e-9 * value AS same
FROM (SELECT v.*, m.starts AS since, lead(m.starts, 1, 'infinity') OVER (ORDER BY fold) AS until
    FROM (SELECT *, sum(rows) OVER (ORDER BY fold DESC) AS from_here
    FROM btml.cross_validate('SELECT * FROM visits WHERE id < 400', 'spent', 3, order_by => 'starts', method => 'gp',
    options => '{"members": 1, "evaluations": 30, "combine": "mixture", "mean": "zero", "features": ["goods", "size"]}')) v
    JOIN (SELECT starts, sum(count(*)) OVER (ORDER BY starts DESC) AS to_end FROM visits WHERE id < 400 GROUP BY starts) m
    ON to_end = from_here) f;

-- One order by numbers, dates and timestamps, in whatever table; the order of rows, threads, TimeZone and DateStyle have no say.
CREATE FUNCTION scores(source text, order_by name, gap interval DEFAULT NULL, more jsonb DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
    SELECT md5(string_agg(concat_ws(' ', fold, rows, value, trees), E'\n' ORDER BY fold))
    FROM btml.cross_validate(source, 'spent', 3, order_by => order_by, gap => gap,
    options => '{"trees": 8, "features": ["goods", "size", "region"]}' || more)
$$;
CREATE TABLE first AS SELECT scores('visits', 'starts') AS month, scores('visits', 'at', '10 days 12:00') AS at;
SELECT scores('visits', 'month') = month AS numbers, scores('flat', 'starts') = month AS one_table,
    scores('SELECT *, starts::timestamp AS s FROM visits', 's') = month AS timestamps,
    scores('SELECT *, month::numeric / 8 AS s FROM visits', 's') = month AS numerics,
    scores('SELECT * FROM flat ORDER BY md5(id::text)', 'starts') = month AS shuffled,
    scores('visits', 'month', '1') = scores('visits', 'starts', '1 month') AS gap_of_numbers,
    scores('SELECT *, starts::timestamp AS s FROM visits', 's', '0.000001') = month AS least_gap,
    scores('visits', 'at', '10 days 12:00', '{"strategy": "enumerate"}') = at AS enumerated
FROM first;
SET btml.threads = 1;
SELECT scores('visits', 'starts') = month AS one_thread FROM first;
SET btml.threads = 4;
SELECT scores('visits', 'starts') = month AS four_threads FROM first;
RESET btml.threads;
SET TimeZone = 'America/New_York';
SET DateStyle = 'SQL, DMY';
SET IntervalStyle = 'iso_8601';
SELECT scores('visits', 'starts') = month AS month, scores('visits', 'at', '10 days 12:00') = at AS at FROM first;
SET TimeZone = 'Asia/Kolkata';
SELECT scores('visits', 'starts') = month AS month, scores('visits', 'at', '10 days 12:00') = at AS at FROM first;
RESET TimeZone;
RESET DateStyle;
RESET IntervalStyle;

-- The column that orders rows is a feature unless it is left out; groups are none.
SELECT btml.feature_names(btml.boost_fit('few', 'spent', trees => 1, holdout_fraction => 0.3, order_by => 'starts',
    exclude => '{at}')) AS ordered,
    btml.feature_names(btml.boost_fit('few', 'spent', trees => 1, holdout_fraction => 0.3, group_by => 'customer',
    exclude => '{at,starts}')) AS grouped;

-- Whole groups, of the target's table or of another, also where they are more than folds may be.
SELECT fold, v.rows, v.rows = count(*) AS whole FROM btml.cross_validate('visits', 'spent', group_by => 'region', folds => 3,
    options => '{"trees": 3, "features": ["goods"]}') v JOIN (SELECT region, count(*) AS rows FROM visits GROUP BY region) r
    ON r.rows = v.rows, visits WHERE visits.region = r.region GROUP BY fold, v.rows ORDER BY fold;
CREATE FUNCTION grouped(source text, seed int DEFAULT 0, by name DEFAULT 'customer') RETURNS text LANGUAGE sql AS $$
    SELECT md5(string_agg(concat_ws(' ', fold, rows, value, trees), E'\n' ORDER BY fold))
    FROM btml.cross_validate(source, 'spent', seed => seed, group_by => by, options => '{"trees": 8, "features": ["goods", "size"]}')
$$;
CREATE TABLE by_customer AS SELECT grouped('visits') AS scores;
SELECT scores = grouped('flat') AS one_table, scores = grouped('SELECT * FROM flat ORDER BY md5(id::text)') AS shuffled,
    scores = grouped('visits', 1) AS other_seed FROM by_customer;
SET btml.threads = 1;
SELECT scores = grouped('visits') AS one_thread FROM by_customer;
RESET btml.threads;
CREATE TABLE by_day AS SELECT grouped('visits', 0, 'starts') AS scores;
SET DateStyle = 'SQL, DMY';
SET TimeZone = 'Asia/Kolkata';
SELECT scores = grouped('visits', 0, 'starts') AS same FROM by_day;
RESET DateStyle;
RESET TimeZone;
SELECT count(*), sum(rows), max(rows) - min(rows) FROM btml.cross_validate('SELECT i % 1500 AS g, i % 7 AS x, i % 11 AS y
    FROM generate_series(1, 3000) i', 'y', group_by => 'g', options => '{"trees": 1}');

-- Tuning: on the same folds; the best's options train, and groups are no feature of it.
SELECT t.options->'exclude' AS exclude, abs(score - (SELECT avg(value) FROM btml.cross_validate('few', 'spent', 3, group_by => 'customer',
    options => t.options))) < 1e-12 AS same, btml.feature_names(btml.boost_fit('few', 'spent', options => t.options)) AS features
FROM btml.tune('few', 'spent', '{"max_leaves": [4, 8, 16]}', 3, 3, options => '{"trees": 9, "exclude": ["at", "month", "starts"]}',
    group_by => 'customer') t WHERE best;
SELECT t.options->'exclude' AS exclude, t.folds, t.holdout_score > 0 AS scored,
    abs(score - (SELECT avg(value) FROM btml.cross_validate('SELECT *, customer % 7 = 0 AS held FROM few', 'spent', 3, order_by => 'at',
    gap => '1 month', options => t.options))) < 1e-12 AS same
FROM btml.tune('SELECT *, customer % 7 = 0 AS held FROM few', 'spent', '{"max_leaves": [4, 8, 16]}', 3, 3, options => '{"trees": 9}',
    order_by => 'at', gap => '1 month', holdout => 'held') t WHERE best;

-- A fit holds out the last rows: as a column does that says so.
CREATE FUNCTION last_rows(source text, fraction float8, strategy text DEFAULT 'enumerate') RETURNS btml.model LANGUAGE sql AS $$
    SELECT btml.boost_fit(source, 'spent', trees => 400, early_stopping => 5, holdout_fraction => fraction, order_by => 'starts',
    features => '{goods,size,region}', strategy => strategy)
$$;
CREATE FUNCTION since(start date, strategy text DEFAULT 'enumerate') RETURNS btml.model LANGUAGE sql AS $$
    SELECT btml.boost_fit(format('SELECT *, starts >= %L AS held FROM visits', start), 'spent', trees => 400, early_stopping => 5,
    holdout => 'held', features => '{goods,size,region}', strategy => strategy)
$$;
SET client_min_messages = warning;
SELECT fraction, m.starts, last_rows('visits', fraction)::text = since(m.starts)::text AS same,
    (btml.summary(last_rows('visits', fraction))->'holdout_rows')::int AS holdout_rows,
    (SELECT count(*) < 400 FROM btml.training_log(last_rows('visits', fraction))) AS stopped
FROM (VALUES (0.2), (0.5), (0.001), (0.999)) f(fraction),
    LATERAL (SELECT starts FROM month_rows WHERE up_to > rows ORDER BY abs(2000 - up_to + rows - fraction * 2000), starts DESC LIMIT 1) m;
RESET client_min_messages;
SELECT last_rows('visits', 0.2, 'factorize')::text = since('2023-12-01', 'factorize')::text AS factorised,
    last_rows('SELECT * FROM flat ORDER BY md5(id::text)', 0.2)::text = last_rows('flat', 0.2)::text AS shuffled;
SELECT btml.tree_fit('visits', 'spent', holdout_fraction => 0.2, order_by => 'starts', features => '{goods,size}')::text
    = btml.tree_fit('SELECT *, starts >= ''2023-12-01'' AS held FROM visits', 'spent', holdout => 'held',
    features => '{goods,size}')::text AS tree,
    btml.gp_fit('SELECT * FROM visits WHERE id < 300', 'spent', holdout_fraction => 0.2, order_by => 'month', features => '{goods,size}',
    evaluations => 50)::text = btml.gp_fit('SELECT *, month >= 12 AS held FROM visits WHERE id < 300', 'spent', holdout => 'held',
    features => '{goods,size}', evaluations => 50)::text AS gp;
-- Rows of weight 0 do not count.
SELECT btml.summary(btml.boost_fit('SELECT *, (month < 7)::int AS w FROM visits', 'spent', trees => 1, holdout_fraction => 0.4,
    order_by => 'month', weight => 'w', features => '{goods}'))->'holdout_rows' AS holdout_rows,
    count(*) FILTER (WHERE month = 6) AS last_month, count(*) FILTER (WHERE month < 7) AS weighed FROM visits;
-- They may have no value by which others are ordered or grouped.
CREATE VIEW unknown AS SELECT *, (id % 7 > 0)::int AS w, CASE WHEN id % 7 > 0 THEN month END AS known_month,
    CASE WHEN id % 7 > 0 THEN customer END AS known_customer FROM visits;
CREATE FUNCTION weighed(ordered name, grouped name) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(concat_ws(' ', fold, rows, value, trees), E'\n' ORDER BY fold)
        || (btml.summary(btml.boost_fit('unknown', 'spent', trees => 1, holdout_fraction => 0.4, order_by => ordered, group_by => grouped,
        weight => 'w', features => '{goods}'))->>'holdout_rows')
    FROM btml.cross_validate('unknown', 'spent', 3, order_by => ordered, group_by => grouped,
    options => '{"trees": 8, "features": ["goods", "size"], "weight": "w"}')
$$;
SELECT weighed('known_month', NULL) = weighed('month', NULL) AS ordered,
    weighed(NULL, 'known_customer') = weighed(NULL, 'customer') AS grouped;

-- Whole groups, and rows by their contents, alike in labels: the same by any plan, in any order, with any threads.
CREATE FUNCTION held(source text, grouped name, strategy text DEFAULT 'enumerate', more jsonb DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(concat_ws(' ', iteration, train_loss::numeric(20, 8), holdout_loss::numeric(20, 8)), E'\n' ORDER BY iteration)
    FROM btml.training_log(btml.boost_fit(source, 'spent', trees => 30, holdout_fraction => 0.2, group_by => grouped,
    features => '{goods,size}', strategy => strategy, options => more))
$$;
CREATE TABLE held_out AS SELECT held('visits', 'customer') AS groups, held('visits', 'region') AS regions, held('visits', NULL) AS rows,
    held('flat', NULL) AS flat_rows;
SELECT held('visits', 'customer', 'factorize') = groups AS groups, held('visits', 'region', 'factorize') = regions AS regions,
    held('visits', NULL, 'factorize') = rows AS rows, held('visits', 'customer', 'sample', '{"sample_rows": 5000}') = groups AS sampled
FROM held_out;
SET btml.threads = 1;
SELECT held('visits', 'customer') = groups AS groups, held('visits', NULL) = rows AS rows FROM held_out;
SET btml.threads = 4;
SELECT held('SELECT * FROM flat ORDER BY md5(id::text)', 'customer') = groups AS groups,
    held('SELECT * FROM flat ORDER BY md5(id::text)', NULL) = flat_rows AS rows,
    held('flat', NULL, 'enumerate', '{"seed": 1}') = flat_rows AS other_seed FROM held_out;
RESET btml.threads;
SELECT strategy, grouped, btml.summary(btml.boost_fit('visits', 'large', trees => 2, holdout_fraction => 0.25, group_by => grouped,
    features => '{goods,size}', strategy => strategy))->'holdout_rows' AS holdout_rows
FROM unnest('{auto,enumerate}'::text[]) strategy, (VALUES (NULL::name), ('region'), ('customer')) g(grouped) ORDER BY 2 NULLS FIRST, 1;
-- Nine rows of one label of 400, and queries as wholes.
SELECT holdout_metric BETWEEN 0 AND 1 AS defined FROM btml.training_log(btml.boost_fit('SELECT i % 13 AS x, i <= 9 AS y
    FROM generate_series(1, 400) i', 'y', trees => 1, metric => 'auc', holdout_fraction => 0.2));
SELECT btml.summary(btml.boost_fit('SELECT i / 10 AS q, i % 7 AS x, i % 10 AS y FROM generate_series(0, 199) i', 'y', objective => 'rank',
    query => 'q', trees => 1, holdout_fraction => 0.2))->'holdout_rows' AS rows;
SELECT btml.summary(btml.boost_fit('SELECT (i / 10)::float8 AS q, i % 7 AS x, i % 10 AS y FROM generate_series(0, 199) i', 'y',
    objective => 'rank', query => 'q', trees => 1, holdout_fraction => 0.2))->'holdout_rows' AS rows;
SELECT btml.summary(btml.boost_fit('visits', 'spent', options => '{"holdout_fraction": 0.2, "order_by": "starts", "trees": 3}',
    exclude => '{id,at,customer}'))->'holdout_rows' AS rows;

\pset format unaligned
\pset tuples_only
CREATE FUNCTION validated(rest text) RETURNS text LANGUAGE sql AS $$
    SELECT caught(format('SELECT * FROM btml.cross_validate(%s)', rest)) $$;
CREATE FUNCTION fitted(rest text, fit text DEFAULT 'boost_fit') RETURNS text LANGUAGE sql AS $$
    SELECT caught(format('SELECT btml.%s(%s)', fit, rest)) $$;
-- One way to divide rows.
SELECT validated($$'few', 'spent', fold => 'region', order_by => 'at'$$);
SELECT validated($$'few', 'spent', fold => 'region', group_by => 'customer'$$);
SELECT validated($$'few', 'spent', group_by => 'region', order_by => 'at'$$);
SELECT fitted($$'few', 'spent', holdout_fraction => 0.2, group_by => 'region', order_by => 'at'$$);
SELECT caught($$SELECT * FROM btml.tune('few', 'spent', '{"l2": [0, 1]}', fold => 'region', order_by => 'at')$$);
-- Columns.
SELECT validated($$'few', 'spent', order_by => 'start'$$);
SELECT validated($$'few', 'spent', group_by => 'costumer'$$);
SELECT validated($$'few', 'spent', order_by => 'region'$$);
SELECT validated($$'few', 'spent', order_by => 'large'$$);
SELECT validated($$'SELECT *, at - ''2023-01-01'' AS since FROM few', 'spent', order_by => 'since'$$);
SELECT validated($$'few', 'spent', order_by => 'spent'$$);
SELECT validated($$'few', 'spent', group_by => 'spent'$$);
SELECT validated($$'few', 'spent', group_by => 'customer', options => '{"features": ["customer", "goods"]}'$$);
SELECT validated($$'SELECT *, true AS held FROM few', 'spent', group_by => 'held', options => '{"holdout": "held"}'$$);
SELECT fitted($$'few', 'spent', holdout_fraction => 0.2, order_by => 'spent'$$);
SELECT fitted($$'few', 'spent', holdout_fraction => 0.2, group_by => 'spent'$$);
SELECT fitted($$'few', 'spent', holdout_fraction => 0.2, order_by => 'region'$$);
SELECT fitted($$'few', 'spent', holdout_fraction => 0.2, group_by => 'costumer'$$);
-- Values: NULL, NaN, infinite, one, too few.
SELECT validated($$'SELECT *, nullif(month, 3) AS m FROM few', 'spent', order_by => 'm'$$);
SELECT validated($$'SELECT *, nullif(customer, 3) AS c FROM few', 'spent', group_by => 'c'$$);
SELECT validated($$'SELECT *, CASE month WHEN 3 THEN ''NaN'' ELSE month::float8 END AS m FROM few', 'spent', order_by => 'm'$$);
SELECT validated($$'SELECT *, CASE month WHEN 3 THEN ''-infinity'' ELSE starts END AS m FROM few', 'spent', order_by => 'm'$$);
SELECT validated($$'SELECT *, 7 AS m FROM few', 'spent', order_by => 'm'$$);
SELECT validated($$'few', 'spent', 12, order_by => 'month'$$);
SELECT validated($$'few', 'spent', 4, group_by => 'region'$$);
SELECT validated($$'SELECT *, ''all'' AS g FROM few', 'spent', 2, group_by => 'g'$$);
SELECT validated($$'few LIMIT 0', 'spent', order_by => 'month'$$);
SELECT validated($$'SELECT * FROM few LIMIT 0', 'spent', order_by => 'month'$$);
SELECT validated($$'SELECT * FROM flat LIMIT 1', 'spent', order_by => 'month'$$);
SELECT fitted($$'SELECT *, nullif(month, 3) AS m FROM few', 'spent', holdout_fraction => 0.2, order_by => 'm'$$);
SELECT fitted($$'SELECT *, nullif(customer, 3) AS c FROM few', 'spent', holdout_fraction => 0.2, group_by => 'c'$$);
SELECT fitted($$'SELECT *, CASE month WHEN 3 THEN ''infinity'' ELSE at END AS m FROM few', 'spent', holdout_fraction => 0.2,
    order_by => 'm'$$);
SELECT fitted($$'SELECT *, 7 AS m FROM few', 'spent', holdout_fraction => 0.2, order_by => 'm'$$);
SELECT fitted($$'SELECT *, 7 AS m FROM few', 'spent', holdout_fraction => 0.2, group_by => 'm'$$);
SELECT fitted($$'SELECT goods, spent FROM flat LIMIT 1', 'spent', holdout_fraction => 0.2$$);
SELECT fitted($$'SELECT goods, spent FROM flat LIMIT 1', 'spent', holdout_fraction => 0.2$$, 'gp_fit');
SELECT fitted($$'SELECT 1 AS q, goods, month FROM flat', 'month', objective => 'rank', query => 'q', holdout_fraction => 0.2$$);
-- A row of the target's table that has several values.
SELECT validated($$'SELECT size, c.region, month FROM customer c JOIN visit USING (customer)', 'size', order_by => 'month'$$);
SELECT validated($$'SELECT size, c.region, month FROM customer c JOIN visit USING (customer)', 'size', group_by => 'month'$$);
SELECT fitted($$'SELECT size, c.region, month FROM customer c JOIN visit USING (customer)', 'size', order_by => 'month',
    holdout_fraction => 0.2$$);
SELECT fitted($$'SELECT size, c.region, month FROM customer c JOIN visit USING (customer)', 'size', group_by => 'month',
    holdout_fraction => 0.2, features => '{region}'$$, 'gp_fit');
-- The gap.
SELECT validated($$'few', 'spent', gap => '1 day'$$);
SELECT scores('visits', 'starts', '90');
SELECT validated($$'few', 'spent', gap => '1 day', group_by => 'region'$$);
SELECT validated($$'few', 'spent', order_by => 'month', gap => '1 day'$$);
SELECT validated($$'few', 'spent', order_by => 'month', gap => '12'$$);
SELECT validated($$'few', 'spent', order_by => 'at', gap => '-1 day'$$);
SELECT validated($$'few', 'spent', order_by => 'at', gap => '1 month -40 days'$$);
SELECT validated($$'few', 'spent', order_by => 'at', gap => '1 year'$$);
SELECT validated($$'few', 'spent', order_by => 'at', gap => '170000000 years'$$);
SELECT validated($$'few', 'spent', order_by => 'at', gap => 'soon'$$);
SELECT validated($$'SELECT *, date ''300000-01-01'' + month AS m FROM few', 'spent', order_by => 'm', gap => '1 day'$$);
-- Labels that come late.
SELECT validated($$'SELECT goods, month, month > 11 AS late FROM few', 'late', 3, order_by => 'month'$$);
SELECT validated($$'SELECT goods, month, month < 7 AND goods > 2 AS early FROM few', 'early', 2, order_by => 'month', metric => 'auc'$$);
SELECT fold FROM btml.cross_validate('SELECT goods, month, CASE WHEN month > 11 THEN ''late'' WHEN month > 10 THEN ''later''
    ELSE (goods > 2)::text END AS class FROM few', 'class', 3, order_by => 'month', options => '{"trees": 1}');
-- Fractions.
SELECT fitted($$'few', 'spent', holdout_fraction => 0$$);
SELECT fitted($$'few', 'spent', holdout_fraction => 1$$);
SELECT fitted($$'few', 'spent', holdout_fraction => 'NaN'$$);
SELECT fitted($$'few', 'spent', holdout_fraction => -0.2$$, 'gp_fit');
SELECT fitted($$'SELECT *, month > 3 AS held FROM few', 'spent', holdout_fraction => 0.2, holdout => 'held'$$);
SELECT fitted($$'SELECT *, month > 3 AS held FROM few', 'spent', holdout_fraction => 0.2, holdout => 'held'$$, 'gp_fit');
SELECT fitted($$'few', 'spent', order_by => 'at'$$);
SELECT fitted($$'few', 'spent', group_by => 'region'$$, 'tree_fit');
SELECT fitted($$'few', 'spent', group_by => 'region'$$, 'gp_fit');
SELECT fitted($$'few', 'spent', early_stopping => 5$$);
SELECT fitted($$'few', 'spent', holdout_fraction => 0.2, strategy => 'distributed'$$);
SELECT fitted($$'few', 'spent', options => '{"test_size": 0.2}'$$);
SELECT validated($$'few', 'spent', options => '{"holdout_fraction": 0.2}'$$);
SELECT validated($$'few', 'spent', options => '{"order_by": "at"}', method => 'gp'$$);
SELECT caught($$SELECT * FROM btml.tune('few', 'spent', '{"l2": [0, 1]}', options => '{"group_by": "region"}')$$);
SELECT caught($$SELECT * FROM btml.tune('few', 'spent', '{"holdout_fraction": [0.1, 0.2]}')$$);
SELECT caught($$SELECT btml.boost_fit_agg(spent, ARRAY[goods], '{"holdout_fraction": 0.2}') FROM flat$$);
SET client_min_messages = warning;
DROP SCHEMA validation_time CASCADE;
