-- The examples of contrib_docs/linear.md.
CREATE TABLE flat AS
SELECT n AS flat_id, n % 40 AS street, 30 + n * 7919 % 90 AS area, n * 104729 % 6 AS floor, nullif(n * 15485 % 11, 0) * 10 AS age,
       (ARRAY['centre', 'north', 'south', 'centre'])[1 + n * 31 % 4] AS district
FROM generate_series(1, 2000) n;
CREATE TABLE offer AS
SELECT flat_id, 250 + 9 * area + 15 * floor + CASE district WHEN 'centre' THEN 180 WHEN 'north' THEN 40 ELSE 0 END
           - coalesce(age, 40) * 1.5 + (flat_id * 10473 % 211 + flat_id * 8117 % 197 - 203) / 3.0 AS rent,
       flat_id * 6689 % 101 + area + 20 * (flat_id % 3) < 150 AS let_in_a_week, floor(area / 40 + flat_id * 53 % 4)::int AS calls
FROM flat;

CREATE TABLE models (name text PRIMARY KEY, model btml.model);

INSERT INTO models SELECT 'rent', btml.linear_fit('SELECT rent, area, floor, age, district FROM offer JOIN flat USING (flat_id)', 'rent');

SELECT feature, category, missing, round(estimate::numeric, 2) AS estimate, round(std_error::numeric, 2) AS std_error,
       round(p_value::numeric, 3) AS p_value, round(lower::numeric, 2) AS lower, round(upper::numeric, 2) AS upper
FROM models, btml.coefficients(model) WHERE name = 'rent';

SELECT btml.describe(model), btml.summary(model)#>>'{features,3,reference}' AS reference FROM models WHERE name = 'rent';

SELECT of, round(btml.predict(model, f)::numeric) AS rent, round((i).lower::numeric) AS lower, round((i).upper::numeric) AS upper
FROM models, (VALUES (60, 2, 30, 'north')) f(area, floor, age, district), unnest('{observation,mean}'::text[]) of,
     btml.predict_interval(model, f, 0.9, of) i WHERE name = 'rent';

SELECT feature, value, round(contribution::numeric, 1) AS contribution
FROM models, (VALUES (60, 2, 30, 'north')) f(area, floor, age, district), btml.explain(model, f) WHERE name = 'rent';

INSERT INTO models
SELECT 'let', btml.linear_fit('SELECT let_in_a_week, area, district FROM offer JOIN flat USING (flat_id)', 'let_in_a_week') UNION ALL
SELECT 'calls', btml.linear_fit('SELECT calls, area FROM offer JOIN flat USING (flat_id)', 'calls', family => 'poisson');

SELECT name, feature, category, round(estimate::numeric, 4) AS estimate, round(exp(estimate)::numeric, 3) AS factor,
       round(p_value::numeric, 3) AS p_value
FROM models, btml.coefficients(model) WHERE name IN ('let', 'calls');

INSERT INTO models
SELECT 'rate', btml.linear_fit($$ SELECT calls * days AS calls, area, ln(days) AS log_days
    FROM (SELECT *, 1 + flat_id % 10 AS days FROM offer) o JOIN flat USING (flat_id) $$, 'calls',
    family => 'poisson', "offset" => 'log_days');
SELECT days, round(btml.predict(model, f)::numeric, 1) AS calls
FROM models, unnest('{1,5,30}'::int[]) days, LATERAL (SELECT 80 AS area, ln(days) AS log_days) f WHERE name = 'rate';
SELECT feature, missing, round(estimate::numeric, 3) AS estimate, round(std_error::numeric, 3) AS std_error
FROM btml.coefficients(btml.linear_fit('SELECT rent, area, age, street FROM offer JOIN flat USING (flat_id)', 'rent',
    std_error => 'robust', group_by => 'street'));

SELECT l1_ratio, feature, round(estimate::numeric, 2) AS estimate
FROM (VALUES (0), (1)) v(l1_ratio),
     btml.coefficients(btml.linear_fit('SELECT rent, area, floor FROM offer JOIN flat USING (flat_id)', 'rent',
         penalty => 5, l1_ratio => l1_ratio));

SELECT fold, rows, metric, round(value::numeric, 3) AS value
FROM btml.cross_validate('SELECT let_in_a_week, area, district FROM offer JOIN flat USING (flat_id)', 'let_in_a_week',
    folds => 3, method => 'linear', metric => 'auc');

SELECT trial, options, round(score::numeric, 3) AS score, best
FROM btml.tune('SELECT rent, area, floor, age, district FROM offer JOIN flat USING (flat_id)', 'rent',
    '{"penalty": [0, 0.1, 1], "l1_ratio": [0, 1]}', method => 'linear') ORDER BY score LIMIT 3;

SELECT district, round(estimate::numeric, 2) AS rent_per_square_metre
FROM (SELECT district, btml.linear_fit_agg(rent, ARRAY[area]) AS model FROM offer JOIN flat USING (flat_id) GROUP BY district) m,
     btml.coefficients(model) WHERE feature = 'x1' ORDER BY 1;

CREATE TABLE district_model AS
SELECT district, btml.linear_fit('SELECT rent, area, floor, age FROM offer JOIN flat USING (flat_id) WHERE district = $1', 'rent',
           args => ARRAY[district]) AS model
FROM (SELECT DISTINCT district FROM flat) d;
SELECT district, round(btml.predict(fit.model, f)::numeric) AS by_fit, round(btml.predict(agg.model, ARRAY[area])::numeric) AS by_aggregate
FROM (VALUES ('north', 60, 2, 30), ('south', 60, 2, 30)) f(district, area, floor, age) JOIN district_model fit USING (district)
     JOIN (SELECT district, btml.linear_fit_agg(rent, ARRAY[area]) AS model FROM offer JOIN flat USING (flat_id) GROUP BY district) agg
         USING (district) ORDER BY 1;

WITH fitted AS (
    SELECT btml.linear_fit('SELECT rent, f.area, f.floor, n.age AS age_next_door, n.district AS next_door
                            FROM offer JOIN flat f USING (flat_id) JOIN flat n USING (street)', 'rent') AS model)
SELECT btml.summary(model) ->> 'strategy' AS strategy, btml.summary(model) ->> 'strategy_reason' AS reason FROM fitted;
DROP TABLE flat, offer, models, district_model;
