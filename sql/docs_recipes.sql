-- The examples of contrib_docs/recipes.md.

\i test/data/shop.sql

CREATE TABLE month AS SELECT d::date AS as_of FROM generate_series(date '2024-07-01', date '2025-02-01', interval '1 month') d;
CREATE VIEW customer_month AS
SELECT c.id, m.as_of, c.city, c.plan, m.as_of - c.joined AS age_days, m.as_of >= date '2025-01-01' AS recent,
       NOT EXISTS (SELECT FROM "order" f WHERE f.customer = c.id AND f.day >= m.as_of AND f.day < m.as_of + 60) AS churned
FROM customer c JOIN month m ON c.joined < m.as_of - 60
WHERE EXISTS (SELECT FROM "order" o WHERE o.customer = c.id AND o.day < m.as_of AND o.day >= m.as_of - 90);

CREATE TABLE features AS
SELECT btml.relational_features('SELECT * FROM customer_month WHERE NOT recent', 'churned', 'as_of',
    relations => '{"plan": {"time": null}}', max_features => 10) AS plan;
SELECT name, definition FROM features, btml.feature_list(plan) LIMIT 4;

SELECT btml.feature_sql(plan, 'customer_month') AS query FROM features \gset
CREATE VIEW customer_features AS :query;
CREATE TABLE training AS SELECT * FROM customer_features;
SELECT recent, count(*), round(avg(churned::int), 3) AS churned FROM training GROUP BY 1 ORDER BY 1;

CREATE TABLE models (name text, made timestamptz DEFAULT now(), role text, model btml.model);
INSERT INTO models (name, role, model)
SELECT 'churn', 'champion', btml.boost_fit('training', 'churned', exclude => '{id,as_of}', holdout => 'recent',
    trees => 300, learning_rate => 0.05, early_stopping => 30, metric => 'auc');
SELECT btml.describe(model) FROM models;

CREATE VIEW scored AS
SELECT t.*, btml.predict((SELECT model FROM models WHERE name = 'churn' AND role = 'champion'), t.*) AS p FROM training t;
SELECT round(btml.auc(churned, p)::numeric, 3) AS auc, round(btml.log_loss(churned, p)::numeric, 3) AS log_loss,
       round(avg(churned::int), 3) AS churned, round(avg(p)::numeric, 3) AS predicted FROM scored WHERE recent;

SELECT i.feature, round(i.importance::numeric, 3) AS importance, round(i.std_error::numeric, 3) AS std_error
FROM models, btml.permutation_importance(model, 'SELECT * FROM training WHERE recent', 'churned', 'auc') i ORDER BY 2 DESC LIMIT 4;

SELECT e.feature, e.value, round(e.contribution::numeric, 2) AS contribution
FROM models, (SELECT * FROM scored WHERE recent ORDER BY p DESC, id, as_of LIMIT 1) s, btml.explain(model, s.*) e LIMIT 4;

SELECT btml.plot($$
    SELECT avg(p) AS x, avg(churned::int) AS y,
    avg(churned::int) - 2 * sqrt(avg(churned::int) * (1 - avg(churned::int)) / count(*)) AS lower,
           avg(churned::int) + 2 * sqrt(avg(churned::int) * (1 - avg(churned::int)) / count(*)) AS upper, 'point' AS mark
    FROM (SELECT p, churned, ntile(10) OVER (ORDER BY p, id, as_of) AS tenth FROM scored WHERE recent) s GROUP BY tenth
    UNION ALL SELECT x, x, NULL, NULL, 'line' FROM (VALUES (0.0), (0.5)) v(x)
    $$, title => 'Churn by prediction', x_label => 'predicted', y_label => 'observed') LIKE '<svg%' AS drawn;

SELECT threshold, count(*) AS called, round(avg(churned::int), 2) AS churned, sum(churned::int * 10 - 2) AS earned
FROM scored, (VALUES (0.0), (0.1), (0.2), (0.3), (0.4)) t(threshold) WHERE recent AND p >= threshold GROUP BY 1 ORDER BY 1;

CREATE TABLE tuned AS
SELECT * FROM btml.tune('SELECT t.*, id % 5 AS part FROM training t WHERE NOT recent', 'churned',
    '{"learning_rate": {"from": 0.02, "to": 0.2, "scale": "log"}, "max_leaves": [4, 8, 16, 31], "min_leaf_rows": [10, 20, 50]}',
    trials => 10, fold => 'part', metric => 'auc', options => '{"exclude": ["as_of", "id", "recent"], "trees": 150}');
SELECT trial, trees, folds, round(score::numeric, 3) AS score, options->>'max_leaves' AS leaves
FROM tuned ORDER BY best DESC, folds DESC, score DESC LIMIT 3;

INSERT INTO models (name, role, model)
SELECT 'churn', 'challenger', btml.boost_fit('SELECT t.*, id % 5 AS part FROM training t WHERE NOT recent', 'churned', options => options)
FROM tuned WHERE best;
CREATE VIEW duel AS
WITH loss AS (
    SELECT t.id, m.role, avg(-ln(CASE WHEN t.churned THEN p ELSE 1 - p END)) AS loss
    FROM models m, training t, LATERAL (SELECT btml.predict(m.model, t.*) AS p) q WHERE t.recent AND m.name = 'churn' GROUP BY 1, 2)
SELECT avg(a.loss - b.loss) AS gain, stddev(a.loss - b.loss) / sqrt(count(*)) AS std_error
FROM loss a JOIN loss b USING (id) WHERE a.role = 'champion' AND b.role = 'challenger';
SELECT round(gain::numeric, 3) AS gain, round(std_error::numeric, 3) AS std_error, gain > 2 * std_error AS better FROM duel;

CREATE PROCEDURE retrain_churn() LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE training;
    INSERT INTO training SELECT * FROM customer_features;
    DELETE FROM models WHERE name = 'churn' AND role = 'challenger';
    INSERT INTO models (name, role, model)
    SELECT 'churn', 'challenger', btml.boost_fit('SELECT t.*, id % 5 AS part FROM training t WHERE NOT recent', 'churned',
    options => options)
    FROM tuned WHERE best;
    IF (SELECT gain > 2 * std_error FROM duel) THEN
        UPDATE models SET role = CASE role WHEN 'champion' THEN 'retired ' || now()::date ELSE 'champion' END
        WHERE name = 'churn' AND role IN ('champion', 'challenger');
    END IF;
END $$;
CALL retrain_churn();
SELECT split_part(role, ' ', 1) AS role, btml.summary(model)->'rows' AS rows FROM models ORDER BY 1;

CREATE TABLE at_risk AS SELECT *, NULL::float8 AS p FROM training WITH NO DATA;
CREATE FUNCTION score_churn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.p := btml.predict((SELECT model FROM models WHERE name = 'churn' AND role = 'champion'), NEW);
    RETURN NEW;
END $$;
CREATE TRIGGER score BEFORE INSERT OR UPDATE ON at_risk FOR EACH ROW EXECUTE FUNCTION score_churn();
INSERT INTO at_risk SELECT * FROM customer_features WHERE as_of = date '2025-02-01';
SELECT count(*), count(*) FILTER (WHERE p >= 0.2) AS to_call FROM at_risk;

WITH border AS (
    SELECT percentile_disc(ARRAY[.1, .2, .3, .4, .5, .6, .7, .8, .9]) WITHIN GROUP (ORDER BY p) AS b FROM scored WHERE NOT recent
), share AS (
    SELECT recent, width_bucket(p, b) AS tenth, count(*) / sum(count(*)) OVER (PARTITION BY recent) AS share FROM scored, border
    GROUP BY 1, 2)
SELECT round(sum((q.share - p.share) * ln(q.share / p.share)), 3) AS stability_index
FROM share p JOIN share q USING (tenth) WHERE NOT p.recent AND q.recent;

CREATE TABLE letter AS
SELECT i AS id, (SELECT array_agg((sin(i * k * 0.37 + k) / k + sin(i * 1.7) * cos(k))::real ORDER BY k) FROM generate_series(1, 50) k) AS embedding,
    i * 7 % 24 AS hour, 20 + 10 * sin(i * 1.7) + 8 * sin(i * 0.37 + 1) + i * 7 % 24 / 4.0 + 2 * sin(i * 91.7) AS minutes
FROM generate_series(1, 2000) i;

SELECT method, round(avg(value)::numeric, 2) AS rmse
FROM (VALUES ('linear', '{"penalty": 0.01}'), ('boost', '{"trees": 100, "max_leaves": 7}')) m(method, options),
    btml.cross_validate('SELECT embedding, hour, minutes FROM letter', 'minutes', method => method, options => options::btml.json,
        metric => 'rmse', folds => 3)
GROUP BY 1 ORDER BY 2;

CREATE TABLE answer AS
SELECT btml.linear_fit('SELECT embedding, hour, minutes FROM letter', 'minutes', penalty => 0.01) AS ridge,
    btml.boost_fit('SELECT embedding, hour, minutes FROM letter', 'minutes', max_leaves => 7) AS trees;
SELECT feature, round(p.importance::numeric, 1) AS of_ridge, round(t.importance::numeric, 1) AS of_trees
FROM answer, btml.permutation_importance(ridge, 'letter', 'minutes') p
    JOIN LATERAL btml.permutation_importance(trees, 'letter', 'minutes') t USING (feature) ORDER BY 2 DESC;

SELECT feature, round(gain::numeric) AS gain FROM answer, btml.feature_importance(trees, elements => true) LIMIT 3;

SET client_min_messages = warning;
DROP TABLE letter, answer;
DROP VIEW scored, duel, customer_features, customer_month;
DROP TABLE at_risk, features, models, tuned, training, month, ticket, visit, "order", customer, plan;
DROP FUNCTION score_churn(), u(text);
DROP PROCEDURE retrain_churn();
