-- A snowflake with 20 features: 8 on the fact table and 4 on each of three dimensions of 1,000, 20,000 and 100,000 rows.
-- psql variables: rows (of training), held_out (rows).
\set ON_ERROR_STOP on
CREATE SCHEMA bench;
SET search_path = bench;
SET synchronize_seqscans = off;
SELECT setseed(0.25);

CREATE TABLE store AS
SELECT i AS store_id, (random() * 100)::int AS s1, random() AS s2, random() AS s3, round(random()::numeric, 2)::float8 AS s4
FROM generate_series(1, 1000) i;
CREATE TABLE item AS
SELECT i AS item_id, random() AS i1, random() AS i2, (random() * 20)::int AS i3, random() AS i4 FROM generate_series(1, 20000) i;
CREATE TABLE customer AS
SELECT i AS customer_id, random() AS c1, (random() * 60)::int AS c2, random() AS c3, random() AS c4 FROM generate_series(1, 100000) i;
ALTER TABLE store ADD PRIMARY KEY (store_id);
ALTER TABLE item ADD PRIMARY KEY (item_id);
ALTER TABLE customer ADD PRIMARY KEY (customer_id);

CREATE TABLE sale AS
WITH drawn AS MATERIALIZED (
    SELECT n > :rows AS holdout, 1 + floor(random() * 1000)::int AS store_id, 1 + floor(random() * 20000)::int AS item_id,
           1 + floor(random() * 100000)::int AS customer_id, random() AS f1, random() AS f2, random() AS f3, random() AS f4,
           (random() * 50)::int AS f5, (random() * 12)::int AS f6, random() AS f7, random() AS f8, random() + random() - 1 AS noise,
           random() AS luck
    FROM generate_series(1, :rows + :held_out) n),
signal AS (
    SELECT d.*, 10 * sin(pi() * f1 * i1) + 5 * f2 * s1 / 100 + 20 * (c1 - 0.5) ^ 2 + (f5 > 25)::int * 4 * i2 + c2 / 15.0 * s2
           + (f6 % 3) * c3 + noise AS y
    FROM drawn d JOIN store USING (store_id) JOIN item USING (item_id) JOIN customer USING (customer_id))
-- Further targets: 0 or 1, a count, one of seven labels.
SELECT s.*, (luck < 1 / (1 + exp((18 - y) / 3)))::int AS bought, floor(-ln(1 - luck) * exp(y / 10 - 1))::int AS visits,
       least(6, greatest(0, floor(y / 5 + 2 * luck - 1)))::int AS kind
FROM signal s;

CREATE VIEW joined AS
SELECT y, bought, visits, kind, f1, f2, f3, f4, f5, f6, f7, f8, s1, s2, s3, s4, i1, i2, i3, i4, c1, c2, c3, c4, holdout
FROM sale JOIN store USING (store_id) JOIN item USING (item_id) JOIN customer USING (customer_id);
-- Predictions are made on a table, so that no join is in the time.
CREATE TABLE held AS SELECT * FROM joined WHERE holdout;
-- For each objective what it trains on and what it is measured on, with its target as y.
SELECT format('CREATE VIEW %s_%s AS SELECT %s AS y, f1, f2, f3, f4, f5, f6, f7, f8, s1, s2, s3, s4, i1, i2, i3, i4, '
              'c1, c2, c3, c4 FROM %s', part, objective, target, source)
FROM (VALUES ('train', 'joined WHERE NOT holdout'), ('test', 'held')) parts (part, source),
     (VALUES ('squared', 'y'), ('binary', 'bought'), ('poisson', 'visits'), ('multiclass', 'kind')) targets (objective, target)
\gexec
CREATE TABLE model (objective text, threads int, fit btml.model);
VACUUM (ANALYZE, FREEZE) sale, store, item, customer, held;
CHECKPOINT;
