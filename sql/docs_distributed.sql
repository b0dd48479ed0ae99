-- The examples of contrib_docs/distributed.md. The worker is this database.
SET client_min_messages = warning;

CREATE SCHEMA on_worker;
CREATE TABLE on_worker.sale_0 (id int, shop int, item int, price float8, kind text, rating float8);
CREATE TABLE on_worker.sale_1 (LIKE on_worker.sale_0);

CREATE EXTENSION postgres_fdw;
CREATE SERVER worker FOREIGN DATA WRAPPER postgres_fdw OPTIONS (extensions 'btml');
CREATE USER MAPPING FOR CURRENT_USER SERVER worker;
DO $$ BEGIN
    EXECUTE format('ALTER SERVER worker OPTIONS (host %L, port %L, dbname %L)',
        split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database());
END $$;

CREATE TABLE sale (id int, shop int, item int, price float8, kind text, rating float8) PARTITION BY HASH (shop);
CREATE FOREIGN TABLE sale_0 PARTITION OF sale FOR VALUES WITH (MODULUS 2, REMAINDER 0) SERVER worker OPTIONS (schema_name 'on_worker');
CREATE FOREIGN TABLE sale_1 PARTITION OF sale FOR VALUES WITH (MODULUS 2, REMAINDER 1) SERVER worker OPTIONS (schema_name 'on_worker');

CREATE TABLE local_sale AS
SELECT i AS id, i % 40 AS shop, i * 7 % 31 AS item, 3 * cos(i) AS price, 'kind ' || i % 4 AS kind,
       sin(i % 40) + i * 7 % 31 / 9.0 + cos(i) + i % 4 AS rating FROM generate_series(1, 4000) i;
INSERT INTO sale SELECT * FROM local_sale;
CREATE TABLE shop AS SELECT i AS shop, i % 17 AS area FROM generate_series(0, 39) i;

CREATE FUNCTION differs(call text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE local_result text; result text;
BEGIN
    EXECUTE format('SELECT %s::text', replace(call, 'SALE', 'local_sale')) INTO local_result;
    EXECUTE format('SELECT %s::text', replace(call, 'SALE', 'sale')) INTO result;
    RETURN result <> local_result;
END $$;
SELECT differs(call), call FROM unnest(ARRAY[
    $c$ btml.boost_fit('SELECT price, item, kind, area, rating FROM SALE JOIN shop USING (shop)', 'rating', trees => 20) $c$,
    $c$ btml.boost_fit('SELECT price, kind, area, rating > 3 AS good FROM SALE JOIN shop USING (shop)', 'good', trees => 20) $c$,
    $c$ btml.tree_fit('SELECT price, item, rating FROM SALE', 'rating') $c$,
    $c$ btml.gp_fit('SELECT price, item, rating FROM SALE', 'rating', evaluations => 20) $c$,
    $c$ btml.sumprod('SELECT price, area, rating FROM SALE JOIN shop USING (shop)') $c$,
    $c$ (SELECT array_agg(k ORDER BY id) FROM btml.kernel_sum('SELECT price, rating FROM SALE', 'SELECT 1 AS price, 3 AS rating', 0.5) k) $c$]) call;

CREATE TABLE trained AS
SELECT btml.boost_fit('SELECT price, item, kind, shop, rating FROM sale', 'rating', trees => 20, strategy => 'distributed') AS model;

SELECT btml.summary(model) ->> 'strategy_reason' AS reason,
       (SELECT array_agg(t ORDER BY tree, node) FROM btml.trees(model) t) =
       (SELECT array_agg(t ORDER BY tree, node)
       FROM btml.trees(btml.boost_fit('SELECT price, item, kind, shop, rating FROM local_sale', 'rating', trees => 20)) t) AS same_trees
FROM trained;

SET enable_partitionwise_aggregate = on;
CREATE FUNCTION remote_sql(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS off) ' || query LOOP
        IF line ~ 'Remote SQL.*sale_0' THEN RETURN NEXT substring(line FROM 'SELECT.*'); END IF;
    END LOOP;
END $$;
SELECT remote_sql(query) FROM unnest(ARRAY[
    $$ SELECT shop, btml.exact_sum(price), btml.rmse(rating, price) FROM sale GROUP BY shop $$,
    $$ SELECT shop, btml.boost_fit_agg(rating, ARRAY[price, item]) FROM sale GROUP BY shop $$,
    $$ SELECT shop, btml.exemplars_agg(id, ARRAY[price, rating], 3) FROM sale GROUP BY shop $$,
    $$ SELECT shop, btml.kernel_sum_agg(ARRAY[price, rating], 1, '{0,0,1,3}', 0.5) FROM sale GROUP BY shop $$,
    $$ SELECT btml.exact_sum(price) FROM sale $$]) query;

SELECT query, btml.exact_sum(value)::numeric(9, 6) AS kernel_sum
FROM (SELECT shop, btml.kernel_sum_agg(ARRAY[price, rating], 1, '{0,0,1,3}', 0.5) AS sums FROM sale GROUP BY shop) s,
     unnest(sums) WITH ORDINALITY u(value, query) GROUP BY query ORDER BY query;

CREATE TABLE models AS SELECT btml.boost_fit('SELECT price, item, rating FROM sale', 'rating', trees => 20) AS model;
SELECT btml.predict(model, ROW(0.5, 3)) FROM models;

CREATE TYPE offer AS (price float8, item int);
SELECT btml.feature_names(model) AS features, btml.predict(model, ROW(0.5, 3)::offer) = btml.predict(model, ARRAY[0.5, 3]) AS same
    FROM models;

DROP TABLE models, trained, shop, local_sale, sale;
DROP TYPE offer;
DROP FUNCTION differs, remote_sql;
DROP SCHEMA on_worker CASCADE;
DROP EXTENSION postgres_fdw CASCADE;
