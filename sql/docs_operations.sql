-- The examples of contrib_docs/operations.md.

CREATE TABLE customers (id int PRIMARY KEY, city text, age int, spend float8, churned boolean);
INSERT INTO customers SELECT i, (ARRAY['Bergen', 'Oslo', 'Tromsø'])[1 + i % 3], 18 + i * 7 % 60, i * 37 % 1000, i * 37 % 1000 < 300
    AND i % 3 > 0
FROM generate_series(1, 3000) i;
CREATE TABLE models (name text PRIMARY KEY, made timestamptz DEFAULT now(), model btml.model);
INSERT INTO models (name, model) SELECT 'churn', btml.boost_fit('customers', 'churned', exclude => '{id}', trees => 20);

CREATE ROLE btml_scorer;
CREATE ROLE btml_trainer;
GRANT SELECT ON models TO btml_scorer;
GRANT SELECT, INSERT, UPDATE ON models TO btml_trainer;
GRANT SELECT (city, age, spend, churned) ON customers TO btml_trainer;
SET ROLE btml_scorer;
SELECT round(btml.predict(model, x)::numeric, 3) AS p FROM models, (SELECT 'Oslo' AS city, 44 AS age, 120.0::float8 AS spend) x;
SELECT btml.boost_fit('SELECT city, churned FROM customers', 'churned');
RESET ROLE;

ALTER ROLE btml_trainer SET btml.memory_limit = '4GB';
ALTER ROLE btml_trainer SET statement_timeout = '30min';
ALTER ROLE btml_scorer SET btml.threads = 1;

CREATE VIEW churn AS SELECT c.id, btml.predict((SELECT model FROM models WHERE name = 'churn'), c.*) AS p FROM customers c;
CREATE ROLE btml_reader;
GRANT SELECT ON churn TO btml_reader;
SET ROLE btml_reader;
SELECT id, round(p::numeric, 3) AS p FROM churn ORDER BY id LIMIT 2;
SELECT btml.describe(model) FROM models;
RESET ROLE;

CREATE TABLE elsewhere (name text, bytes bytea);
INSERT INTO elsewhere SELECT name, model::bytea FROM models;
SELECT name, bytes::btml.model OPERATOR(btml.=) (SELECT model FROM models) AS same FROM elsewhere;

SET client_min_messages = warning;
DROP VIEW churn;
DROP TABLE customers, models, elsewhere;
DROP ROLE btml_scorer, btml_trainer, btml_reader;
