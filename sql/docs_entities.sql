-- The examples of contrib_docs/entities.md.
SET datestyle = 'ISO';
\set QUIET on
CREATE SCHEMA energy;
SET search_path = energy, public;
\i test/data/energy.sql
RESET client_min_messages;
\set ON_ERROR_STOP off

SELECT * FROM task WHERE customer_id = 4 ORDER BY as_of LIMIT 3;

SELECT as_of >= '2024-03-01' AS later, count(*), count(*) FILTER (WHERE churned) AS churned FROM task GROUP BY 1 ORDER BY 1;

CREATE TABLE plan AS SELECT btml.relational_features($$ SELECT * FROM task WHERE as_of < '2024-03-01' $$,
    target => 'churned', as_of => 'as_of') AS features;

SELECT name, definition, round(gain::numeric) AS gain FROM plan, btml.feature_list(features) LIMIT 8;

CREATE TABLE model AS SELECT btml.boost_fit(btml.feature_sql(features, $$ SELECT * FROM task WHERE as_of < '2024-03-01' $$), 'churned',
    exclude => '{customer_id,as_of}', holdout_fraction => 0.2, order_by => 'as_of', trees => 500, learning_rate => 0.05,
    early_stopping => 30) AS model
FROM plan;
SELECT btml.describe(model) FROM model;

SELECT btml.feature_sql(features, $$ SELECT * FROM task WHERE as_of >= '2024-03-01' $$) AS later FROM plan \gset
SELECT round(btml.auc(churned, btml.predict(model, t.*))::numeric, 3) AS auc, count(*), avg(churned::int)::numeric(4, 3) AS churned,
    avg(btml.predict(model, t.*))::numeric(4, 3) AS predicted FROM (:later) t, model;

SELECT btml.feature_sql(features, $$
    SELECT customer_id, date '2024-12-01' AS as_of FROM customer c WHERE joined < '2024-12-01'
        AND NOT EXISTS (SELECT FROM task t WHERE t.customer_id = c.customer_id AND churned) $$) AS tomorrow FROM plan \gset
CREATE VIEW tomorrow AS :tomorrow;
CREATE TABLE risk AS SELECT customer_id, btml.predict(model, t.*) AS p FROM tomorrow t, model;
SELECT customer_id, round(p::numeric, 3) AS p FROM risk ORDER BY risk.p DESC LIMIT 3;

SELECT coalesce(l.definition, e.feature) AS feature, left(e.value, 6) AS value, round(e.contribution::numeric, 2) AS contribution
FROM plan, tomorrow t, model, LATERAL btml.explain(model, t.*) WITH ORDINALITY e
LEFT JOIN btml.feature_list(features) l ON l.name = e.feature
WHERE customer_id = (SELECT customer_id FROM risk ORDER BY p DESC LIMIT 1) ORDER BY e.ordinality LIMIT 5;

CREATE VIEW use AS
SELECT meter_id, kind, month, (month - interval '1 year')::date AS as_of, extract(month FROM month) AS season, sum(kwh) AS kwh
FROM reading JOIN meter USING (meter_id), LATERAL (SELECT date_trunc('month', read_on)::date) AS m(month) GROUP BY 1, 2, 3;
CREATE TABLE use_plan AS SELECT btml.relational_features($$ SELECT * FROM use WHERE month BETWEEN '2023-07-01' AND '2024-08-01' $$,
    target => 'kwh', as_of => 'as_of', windows => '{2 months,6 months,1 year,NULL}', max_features => 20,
    relations => '{"reading": {"table": "reading", "key": {"meter_id": "meter_id"}, "time": "read_on", "columns": ["kwh"]}}') AS features;
CREATE TABLE use_model AS SELECT btml.boost_fit(btml.feature_sql(features,
    $$ SELECT * FROM use WHERE month BETWEEN '2023-07-01' AND '2024-08-01' $$), 'kwh', exclude => '{meter_id,month,as_of}',
    holdout_fraction => 0.3, group_by => 'meter_id', early_stopping => 30) AS model FROM use_plan;

SELECT btml.feature_sql(features, $$ SELECT * FROM use WHERE month > '2024-08-01' $$) AS autumn FROM use_plan \gset
SELECT round(btml.mae(kwh::float8, btml.predict(model, t.*))::numeric) AS mae,
    round(btml.mae(kwh::float8, reading_kwh_mean_1y)::numeric) AS of_the_mean,
    round(btml.coverage(kwh::float8, (i).lower, (i).upper)::numeric, 2) AS within_80_percent
FROM (:autumn) t, use_model, LATERAL btml.predict_interval(model, t.*, 0.8) i;

SELECT btml.feature_sql(features, $$ SELECT meter_id, kind, month::date, (month - interval '1 year')::date AS as_of,
    extract(month FROM month) AS season FROM meter, generate_series(timestamp '2025-10-01', '2025-12-01', '1 month') month
    WHERE meter_id = 10 $$) AS ahead FROM use_plan \gset
SELECT month, kind, round(btml.predict(model, t.*)) AS kwh, round((i).lower) AS lower, round((i).upper) AS upper
FROM (:ahead) t, use_model, LATERAL btml.predict_interval(model, t.*, 0.8) i ORDER BY month;

SELECT DISTINCT path FROM btml.feature_list(btml.relational_features('SELECT customer_id, as_of FROM task', as_of => 'as_of')) ORDER BY path;
