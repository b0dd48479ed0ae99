-- Features of things from the tables around them.
SET client_min_messages = warning;
SET jit = off;
CREATE SCHEMA things;
SET search_path = things, public;

CREATE TABLE customer (id int PRIMARY KEY, region text, boss int REFERENCES customer, born date, since int);
CREATE TABLE product (id int PRIMARY KEY, kind text, price numeric);
CREATE TABLE orders (id int PRIMARY KEY, customer int REFERENCES customer, at timestamp, channel text);
CREATE TABLE line (orders int REFERENCES orders, product int REFERENCES product, n int, returned int);
CREATE TABLE call (customer int REFERENCES customer, at timestamp, minutes float8, resolved boolean, topic text);
CREATE TABLE bill (customer int REFERENCES customer, at date, amount float8);
CREATE TABLE task (customer int REFERENCES customer, as_of timestamp, y int);

-- A pseudo-random number from 0 to n − 1 that is the same everywhere.
CREATE FUNCTION draw(i int, salt int, n int) RETURNS int LANGUAGE sql IMMUTABLE AS
'SELECT ((hashint4extended($1, $2) % $3 + $3) % $3)::int';

INSERT INTO customer SELECT i, (ARRAY['north', 'south', 'east'])[1 + draw(i, 1, 3)], nullif(i / 5, 0), date '1990-01-01' + 10 * i,
    2000 + i % 20 FROM generate_series(1, 40) i;
INSERT INTO product SELECT i, (ARRAY['toy', 'book'])[1 + i % 2], i * 1.5 FROM generate_series(1, 8) i;
INSERT INTO orders SELECT i, nullif(draw(i, 2, 41), 0), nullif(timestamp '2024-01-01' + draw(i, 3, 400) * interval '1 day',
    '2024-01-01'), (ARRAY['web', 'shop', NULL])[1 + draw(i, 4, 3)] FROM generate_series(1, 600) i;
-- Lines of one order are alike: which of them is the last is nobody's choice.
INSERT INTO line SELECT i, 1 + draw(i, 6, 8), 1 + draw(i, 7, 5), draw(i, 17, 2 + draw(i, 7, 5))
FROM generate_series(1, 600) i, generate_series(1, draw(i, 5, 4));
INSERT INTO call SELECT 1 + draw(i, 8, 40), timestamp '2024-01-01' + draw(i, 9, 400) * interval '1 day',
    CASE draw(i, 10, 9) WHEN 0 THEN NULL WHEN 1 THEN 'NaN'::float8 ELSE draw(i, 11, 50) END, nullif(draw(i, 12, 3), 2)::boolean,
    (ARRAY['bill', 'move', 'Ω "odd" \name'])[1 + draw(i, 13, 3)] FROM generate_series(1, 900) i;
-- Two rows of one time and many that are alike.
INSERT INTO call SELECT 7, '2024-06-01', 5, true, 'bill' FROM generate_series(1, 30);
-- Many of one day, as numbers that can be set beside the mean of their day.
INSERT INTO bill SELECT i, date '2024-01-15' + 30 * n, (ARRAY[NULL, 'NaN', 0, 1e-200])[1 + draw(i, 30 + n, 60)]
FROM generate_series(1, 40) i, generate_series(0, 12) n;
UPDATE bill SET amount = (at - '2024-01-01') + draw(customer, 50 + at - '2024-01-01', 90)
WHERE draw(customer, 30 + (at - '2024-01-15') / 30, 60) > 3;
INSERT INTO task SELECT 1 + draw(i, 14, 45) % 40, timestamp '2024-02-01' + draw(i, 15, 12) * interval '30 days', draw(i, 16, 100)
FROM generate_series(1, 120) i;
INSERT INTO task VALUES (7, '2024-06-01', 1), (NULL, '2024-06-01', 1);

-- Each feature by a query of its own: the aggregates once more, in PostgreSQL's words, over a view of the path.
CREATE VIEW v_call AS SELECT * FROM call;
CREATE VIEW v_orders AS SELECT * FROM orders;
CREATE VIEW v_line AS SELECT l.*, o.customer, o.at FROM line l JOIN orders o ON o.id = l.orders;
CREATE VIEW v_product AS SELECT v.customer, v.at, p.* FROM v_line v LEFT JOIN product p ON p.id = v.product;
CREATE TABLE v_bill AS SELECT customer, at::timestamp AS at, nullif(amount, 'NaN') AS amount, CASE WHEN taken THEN
    amount / nullif(avg(amount) FILTER (WHERE taken) OVER (PARTITION BY at), 0) END AS relative
FROM (SELECT *, amount = 0 OR amount BETWEEN 1e-150 AND 1e150 AS taken FROM bill) b;
CREATE FUNCTION plain(relation text, aggregate text, col text, value text, span text, inclusive boolean, total text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    x text := CASE WHEN value NOT IN ('true', 'false') THEN format('(%I::text = %L)::int', col, value) WHEN col IN ('resolved') THEN col
        || '::int'
        WHEN total IS NOT NULL THEN format('(CASE WHEN %1$I BETWEEN 0 AND %2$I THEN %1$I::float8 / nullif(%2$I, 0) END)', col, total)
        WHEN col = 'minutes' THEN $x$nullif(minutes, 'NaN')$x$ ELSE quote_ident(coalesce(col, 'at')) END;
    days text := 'extract(epoch FROM %s)::float8 / 86400 ';
    rows text := format('FROM %I h WHERE h.customer = t.customer AND h.at %s t.as_of', 'v_' || relation,
        CASE WHEN inclusive THEN '<=' ELSE '<' END) || CASE WHEN span IS NULL THEN '' ELSE format(' AND h.at >= t.as_of - interval %L',
            span) END;
    known text := rows || format(' AND %s IS NOT NULL', x);
    ends text := '(SELECT (array_agg(' || x || ' ORDER BY at %s, array[' || x || '::float8] %1$s))[%s] ' || known || ')';
BEGIN
    RETURN CASE aggregate
        WHEN 'count' THEN '(SELECT count(*) ' || rows || ')'
        WHEN 'since_first' THEN '(SELECT ' || format(days, 't.as_of - min(at)') || rows || ')'
        WHEN 'since_last' THEN '(SELECT ' || format(days, 't.as_of - max(at)') || rows || ')'
        WHEN 'mean_gap' THEN '(SELECT ' || format(days, 'max(at) - min(at)') || ' / nullif(count(*) - 1, 0) ' || rows || ')'
        WHEN 'mean' THEN '(SELECT avg(' || x || ') ' || known || ')'
        WHEN 'share' THEN '(SELECT avg(' || x || ') ' || known || ')'
        WHEN 'sum' THEN '(SELECT sum(' || x || ') ' || known || ')'
        WHEN 'min' THEN '(SELECT min(' || x || ') ' || known || ')'
        WHEN 'max' THEN '(SELECT max(' || x || ') ' || known || ')'
        WHEN 'sd' THEN '(SELECT stddev_samp(' || x || ') ' || known || ')'
        WHEN 'distinct' THEN '(SELECT count(DISTINCT ' || x || ') ' || known || ')'
        WHEN 'slope' THEN '(SELECT regr_slope(' || x || ', ' || format(days, 'at') || ') ' || known || ')'
        WHEN 'matches' THEN '(SELECT count(*) ' || known || CASE WHEN value IN ('true', 'false') THEN format(' AND %I = %L)', col, value)
            ELSE ' AND ' || x || ' = 1)' END
        WHEN 'change' THEN format(ends, 'DESC', 1) || format(' - coalesce((SELECT %1$s FROM %2$I h WHERE h.customer = t.customer AND %1$s '
            'IS NOT NULL AND h.at < t.as_of - interval %3$L ORDER BY at DESC, %1$s DESC LIMIT 1), ', x, 'v_' || relation,
                coalesce(span, '3000 years'))
            || format(ends, 'ASC', 1) || ')'
        WHEN 'growth' THEN format(ends, 'DESC', 1)
            || format(' / nullif(coalesce((SELECT %1$s FROM %2$I h WHERE h.customer = t.customer AND %1$s '
            'IS NOT NULL AND h.at < t.as_of - interval %3$L ORDER BY at DESC, %1$s DESC LIMIT 1), ', x || '::float8', 'v_' || relation,
                coalesce(span, '3000 years'))
            || format(ends, 'ASC', 1) || '), 0)'
        WHEN 'years_since' THEN format('(SELECT extract(year FROM t.as_of) - %I FROM %I WHERE id = t.customer)', col, relation)
        WHEN 'last' THEN format(ends, 'DESC', 1)
        WHEN 'last_text' THEN format('(SELECT %I::text %s ORDER BY at DESC, %1$I::text DESC LIMIT 1)', col, known)
        WHEN 'previous' THEN format(ends, 'DESC', 2)
    END;
END $$;

-- Which features of a plan differ from theirs, and in how many rows.
CREATE FUNCTION differing(plan jsonb) RETURNS TABLE(name text, rows bigint) LANGUAGE plpgsql AS $$
DECLARE f jsonb; q text := btml.feature_sql(plan, 'SELECT row_number() OVER () AS nth, * FROM task');
BEGIN
    EXECUTE 'CREATE TEMP TABLE found AS ' || q;
    FOR f IN SELECT jsonb_array_elements(plan -> 'features') LOOP
        CONTINUE WHEN f ->> 'aggregate' = 'value';
        name := f ->> 'name';
        EXECUTE format('SELECT count(*) FROM found t WHERE %s', CASE WHEN f ->> 'type' = 'text' AND f ->> 'aggregate' = 'last'
            THEN format('%I IS DISTINCT FROM %s', name, plain(f ->> 'relation', 'last_text', f ->> 'column', NULL, NULL,
                (plan ->> 'inclusive')::boolean, NULL))
            ELSE format($q$%1$I IS DISTINCT FROM (%2$s)::float8 AND (abs(%1$I - (%2$s)::float8) < 1e-9 * (1 + abs(%1$I))) IS NOT TRUE$q$,
                name, plain(f ->> 'relation', f ->> 'aggregate', CASE WHEN f ? 'relative' THEN 'relative' ELSE f ->> 'column' END,
                f ->> 'value', f ->> 'window', (plan ->> 'inclusive')::boolean, f ->> 'total')) END) INTO rows;
        IF rows > 0 THEN RETURN NEXT; END IF;
    END LOOP;
    DROP TABLE found;
END $$;

CREATE TABLE plan AS SELECT btml.relational_features('SELECT customer, as_of FROM task', as_of => 'as_of',
    relations => '{"customer": {"time": null}, "customer_by_boss": false, "customer_with_boss": false}') AS p;
SELECT count(*), count(DISTINCT relation) AS relations FROM plan, jsonb_to_recordset(p -> 'features') AS f(relation text);
SELECT name, definition FROM plan, btml.feature_list(p)
WHERE aggregate = 'years_since' OR (definition ~ 'returned /' AND window_length IS NULL);
SELECT name, rows FROM plan, differing(p);
SELECT name, rows FROM btml.relational_features('task', as_of => 'as_of', inclusive => true, windows => '{1 day,2 mons,NULL,00:30:00}',
    relations => '{"customer_by_boss": false, "customer_with_boss": false}') AS p, differing(p);

-- The border: an event moves over the time of a prediction, and one that is ahead of all of them changes nothing.
CREATE FUNCTION digest(p jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text;
BEGIN
    EXECUTE 'SELECT md5(string_agg(f::text, E''\n'' ORDER BY f::text)) FROM (' || btml.feature_sql(p, 'task') || ') f' INTO d;
    RETURN d;
END $$;
CREATE TABLE before AS SELECT digest(p) AS d FROM plan;
INSERT INTO call SELECT customer, as_of, 1e6, true, 'late' FROM task WHERE as_of = (SELECT max(as_of) FROM task);
INSERT INTO call SELECT i, '2030-01-01', 1e6, true, 'late' FROM generate_series(1, 40) i;
INSERT INTO orders SELECT 1000 + i, i, 'infinity', 'late' FROM generate_series(1, 40) i;
SELECT d = digest(p) AS same FROM before, plan;
DELETE FROM call WHERE topic = 'late';
DELETE FROM orders WHERE channel = 'late';
CREATE TABLE moved AS SELECT btml.relational_features('SELECT customer, as_of FROM task', as_of => 'as_of', windows => '{1 day}',
    relations => '{"customer_by_boss": false, "customer_with_boss": false}') AS p;
SELECT btml.feature_sql(p, 'SELECT 7 AS customer, timestamp ''2024-06-01'' + i * interval ''1 second'' AS as_of
    FROM generate_series(-1, 1) i UNION ALL SELECT 7, ''2024-05-31'' UNION ALL SELECT 7, ''2024-05-31 00:00:01''') AS q FROM moved \gset
BEGIN;
TRUNCATE call;
INSERT INTO call VALUES (7, '2024-05-31 00:00', 1, true, 'bill');
SELECT as_of, call_count_1d FROM (:q) f ORDER BY as_of;
ROLLBACK;

-- The same bits in another order of rows, another TimeZone, and with other plans of PostgreSQL.
CREATE TABLE shuffled AS SELECT * FROM call ORDER BY draw(hashtext(call::text), 20, 1000);
BEGIN;
TRUNCATE call;
INSERT INTO call SELECT * FROM shuffled;
SET LOCAL TimeZone = 'Asia/Tokyo';
SET LOCAL DateStyle = 'German';
SET LOCAL IntervalStyle = 'iso_8601';
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SELECT btml.relational_features('SELECT customer, as_of FROM task', as_of => 'as_of',
    relations => '{"customer": {"time": null}, "customer_by_boss": false, "customer_with_boss": false}') = p AS same FROM plan;
RESET DateStyle;
SELECT d = digest(p) AS same FROM before, plan;
ROLLBACK;

-- With a target: what tells it is found, in the same way in any order of rows.
CREATE TABLE learned (customer int REFERENCES customer, as_of timestamp, y float8, yes boolean);
INSERT INTO learned SELECT c.id, m, y, y > 100 FROM customer c, generate_series(timestamp '2024-03-01', '2024-12-01', '10 days') m,
    LATERAL (SELECT coalesce(sum(minutes) FILTER (WHERE minutes <> 'NaN'), 0) AS y FROM call WHERE customer = c.id
        AND at < m AND at >= m - interval '90 days') k;
CREATE TABLE chosen AS SELECT btml.relational_features('SELECT customer, as_of, y FROM learned', target => 'y', as_of => 'as_of',
    relations => '{"customer_by_boss": false, "customer_with_boss": false}', max_features => 5) AS p;
SELECT name, definition, gain > 0 AS gain, path, column_name, aggregate, window_length FROM chosen, btml.feature_list(p) LIMIT 1;
SELECT count(*) FROM chosen, btml.feature_list(p);
SELECT btml.relational_features('SELECT customer, as_of, y FROM learned ORDER BY as_of, y DESC', target => 'y', as_of => 'as_of',
    relations => '{"customer_by_boss": false, "customer_with_boss": false}', max_features => 5) = p AS same FROM chosen;
SELECT name FROM btml.feature_list(btml.relational_features('SELECT customer, as_of, yes, y < 0 AS held FROM learned',
    target => 'yes', as_of => 'as_of', holdout => 'held', max_features => 1,
    relations => '{"customer_by_boss": false, "customer_with_boss": false}'));
-- A source as a view, and the plan in a view and in a fit.
CREATE VIEW source AS SELECT customer, as_of, y FROM learned;
SELECT btml.feature_sql(p, 'source') AS q FROM chosen \gset
CREATE VIEW today AS :q;
SELECT btml.r2(y, btml.predict(m, t.*)) > .9 AS good FROM today t, (SELECT btml.boost_fit('today', 'y') AS m) f;

-- Relations by name: a view, its uniqueness, the last one's rows, columns; and what they are when named wrongly.
CREATE VIEW calls AS SELECT customer AS who, at, minutes, topic FROM call;
SELECT name, definition, path FROM btml.feature_list(btml.relational_features('SELECT customer AS c, as_of FROM task', as_of => 'as_of',
    relations => '{"shop": {"table": "orders", "key": {"customer": "c"}, "time": "at", "columns": []},
        "same day": {"table": "calls", "key": {"at": "at"}, "of": "shop", "last": true, "columns": ["minutes"]},
        "Person": {"table": "things.customer", "key": {"id": "c"}, "columns": ["region"], "time": null}}', windows => '{NULL}')) f
ORDER BY name COLLATE "C" LIMIT 12;
CREATE TABLE named AS SELECT btml.relational_features('SELECT customer AS c, as_of FROM task', as_of => 'as_of', windows => '{NULL}',
    relations => '{"shop": {"table": "orders", "key": {"customer": "c"}, "columns": []},
        "same day": {"table": "calls", "key": {"at": "at"}, "of": "shop", "last": true, "columns": ["minutes"]}}') AS p;
SELECT btml.feature_sql(p, 'SELECT customer AS c, as_of FROM task') AS q FROM named \gset
SELECT count(*), count(*) FILTER (WHERE "same day_minutes_sum" IS DISTINCT FROM (SELECT sum(minutes) FROM call WHERE at = last
    AND at < as_of AND minutes <> 'NaN')) AS differing
FROM (:q) f, LATERAL (SELECT max(at) AS last FROM orders WHERE customer = c AND at < as_of) l;
SELECT btml.relational_features('task', as_of => 'as_of', relations => '{"calls": {"table": "no_such", "key": {"who": "customer"}}}');
SELECT btml.relational_features('task', as_of => 'as_of', relations => '{"calls": {"table": "calls", "key": {"hwo": "customer"}}}');
SELECT btml.relational_features('task', as_of => 'as_of', relations => '{"calls": {"table": "calls", "key": {"who": "custmer"}}}');
SELECT btml.relational_features('task', as_of => 'as_of', relations => '{"calls": {"table": "calls", "key": {"who": "customer"}, "time": '
    '"ta"}}');
SELECT btml.relational_features('task', as_of => 'as_of', relations => '{"calls": {"table": "calls", "key": {"who": "customer"}, "time": '
    '"topic"}}');
SELECT btml.relational_features('task', as_of => 'as_of', relations => '{"calls": {"table": "calls", "key": {"who": "customer"}, '
    '"columns": ["topics"]}}');
SELECT btml.relational_features('task', as_of => 'as_of', relations => '{"calls": {"table": "calls", "key": {"who": "customer"}, "of": '
    '"x"}}');
SELECT btml.relational_features('task', as_of => 'as_of', relations => '{"calls": {"table": "calls"}}');
SELECT btml.relational_features('task', as_of => 'as_of', relations => '{"calls": {"tabel": "calls"}}');
SELECT btml.relational_features('task', as_of => 'as_of', relations => '{"calls": 3}');
SELECT btml.relational_features('task', as_of => 'as_of', relations => '[]');
SELECT btml.relational_features('task', as_of => 'as_of', relations => '{"source": {"table": "calls", "key": {"who": "customer"}}}');
SELECT btml.relational_features('task', as_of => 'as_of', relations => '{"calls": {"table": "calls", "key": {"who": "customer"}, "last": '
    'true}}');

-- Bad input.
SELECT btml.relational_features(NULL);
SELECT btml.relational_features('SELECT id FROM product WHERE false', as_of => 'id');
SELECT btml.relational_features('SELECT customer, as_of FROM task WHERE false', as_of => 'as_of');
SELECT btml.relational_features('SELECT customer, NULL::timestamp AS as_of FROM task', as_of => 'as_of');
SELECT btml.relational_features('SELECT customer, as_of::timestamptz FROM task', as_of => 'as_of');
SELECT btml.relational_features('task', as_of => 'asof');
SELECT btml.relational_features('task', target => 'z', as_of => 'as_of');
SELECT btml.relational_features('task', target => 'y', as_of => 'as_of', holdout => 'y');
SELECT btml.relational_features('SELECT *, false AS h FROM task', target => 'y', as_of => 'as_of', holdout => 'h');
SELECT btml.relational_features('SELECT * FROM task LIMIT 1', target => 'y', as_of => 'as_of');
SELECT btml.relational_features('SELECT customer, as_of, NULL::int AS y FROM task', target => 'y', as_of => 'as_of');
SELECT btml.relational_features('SELECT y FROM task');
SELECT btml.relational_features('SELECT customer, customer FROM task');
SELECT btml.relational_features('task', as_of => 'as_of', windows => '{}');
SELECT btml.relational_features('task', as_of => 'as_of', windows => '{-1 day}');
SELECT btml.relational_features('task', as_of => 'as_of', windows => '{0 day}');
SELECT btml.relational_features('task', windows => '{1 day}');
SELECT btml.relational_features('task', inclusive => true);
SELECT btml.relational_features('task', as_of => 'as_of', max_features => 5);
SELECT btml.relational_features('task', as_of => 'as_of', seed => 1);
SELECT btml.relational_features('SELECT *, y > 50 AS h FROM task', as_of => 'as_of', holdout => 'h');
SELECT btml.relational_features('task', as_of => 'as_of', windows => NULL) = btml.relational_features('task', as_of => 'as_of',
    windows => '{30 days,90 days,1 year,3 years,NULL}') AS same;
SELECT btml.relational_features('task', as_of => 'as_of', windows => '{{1 day},{2 days}}');
SELECT btml.relational_features('task', as_of => 'as_of', max_depth => 9);
SELECT btml.relational_features('task', as_of => 'as_of', max_features => 0);
SELECT btml.relational_features('DELETE FROM task');
SELECT btml.feature_sql(NULL, 'task');
SELECT btml.feature_sql(p, NULL) FROM plan;
SELECT btml.feature_sql(p, 'SELECT 1 AS customer') FROM plan;
SELECT btml.feature_sql(p, 'SELECT 1 AS customer, 2 AS as_of') FROM plan;
SELECT btml.feature_sql(p, 'SELECT as_of FROM task') FROM plan;
SELECT btml.feature_sql(p, 'SELECT *, 1 AS call_count FROM task') FROM plan;
SELECT btml.feature_sql(p, 'SELECT *, 1 AS btml_row FROM task') FROM plan;
SELECT btml.feature_sql(p, 'task; DROP TABLE task') FROM plan;
SELECT btml.feature_sql(p, 'SELECT customer, as_of FROM task; DROP TABLE task') FROM plan;
SELECT * FROM btml.feature_list(NULL);

-- Of rows of one time a column's greatest value is its last, whatever other columns the plan has; keys of many digits are told apart.
CREATE TABLE thing (id bigint PRIMARY KEY);
CREATE TABLE tied (thing bigint REFERENCES thing, a int, b int, item bigint REFERENCES thing, at date);
INSERT INTO thing SELECT 4611686018427387904 + i FROM generate_series(0, 9) i;
INSERT INTO tied SELECT 4611686018427387904, i, 9 - i, 4611686018427387904 + i, '2024-01-01' FROM generate_series(0, 9) i;
CREATE TABLE asked (thing bigint REFERENCES thing, as_of date);
INSERT INTO asked VALUES (4611686018427387904, '2024-02-01'), (4611686018427387904, 'infinity');
CREATE TABLE tied_plan AS SELECT btml.relational_features('asked', as_of => 'as_of', windows => '{NULL}',
    relations => '{"tied": {"table": "tied", "key": {"thing": "thing"}}}') AS p;
SELECT btml.feature_sql(p, 'asked') AS q FROM tied_plan \gset
SELECT as_of, tied_a_last, tied_b_last, tied_b_previous, tied_item_distinct, tied_since_last FROM (:q) f ORDER BY as_of;
SELECT name FROM btml.feature_list(btml.relational_features('SELECT thing FROM asked')) LIMIT 1;

-- A few predictions read the rows of their things alone where the key has an index, a condition on a view of all reads them all.
CREATE TABLE visit (id int PRIMARY KEY, thing bigint REFERENCES thing, at date);
CREATE TABLE item (visit int REFERENCES visit, n int);
INSERT INTO thing SELECT generate_series(1, 500);
INSERT INTO visit SELECT i, 1 + i % 500, date '2024-01-01' + draw(i, 1, 100) FROM generate_series(1, 5000) i;
INSERT INTO item SELECT 1 + i % 5000, i FROM generate_series(1, 10000) i;
INSERT INTO asked SELECT i, '2024-06-01' FROM generate_series(1, 500) i;
CREATE INDEX ON visit (thing);
CREATE INDEX ON item (visit);
ANALYZE thing, visit, item, asked;
CREATE TABLE visit_plan AS SELECT btml.relational_features('asked', as_of => 'as_of', windows => '{NULL}',
    relations => '{"visit": {"table": "visit", "key": {"thing": "thing"}}, "item": {"table": "item", "key": {"visit": "id"},
        "of": "visit"}}') AS p;
CREATE FUNCTION scans(statement text) RETURNS TABLE (scan text) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || statement LOOP
        scan := substring(line FROM '(Seq Scan|Index Scan|Index Only Scan) .*(?:on|using) (?:visit|item)');
        IF scan IS NOT NULL THEN RETURN NEXT; END IF;
    END LOOP;
END $$;
SELECT DISTINCT scan FROM visit_plan, scans(btml.feature_sql(p, 'SELECT * FROM asked WHERE thing IN (3, 4, 5)'));
SELECT DISTINCT scan FROM visit_plan, scans(btml.feature_sql(p, 'SELECT 3 AS thing, date ''2024-06-01'' AS as_of'));
SELECT DISTINCT scan FROM visit_plan, scans('SELECT * FROM (' || btml.feature_sql(p, 'asked') || ') f WHERE thing = 3');

-- Features are chosen by at most 20,000 rows, which are those of the least hashes. The last fifth in time is held out.
CREATE TABLE many AS SELECT t.id AS thing, as_of::date, draw(t.id::int, as_of::date - date '2024-01-01', 40) + as_of::date - last AS y
FROM (SELECT id FROM thing WHERE id <= 500) t, generate_series(date '2024-01-05', '2024-02-22', '1 day') as_of,
    LATERAL (SELECT max(at) AS last FROM visit WHERE thing = t.id AND at < as_of) v WHERE last IS NOT NULL;
CREATE TABLE placed AS SELECT *, row_number() OVER (ORDER BY hash_record_extended(ROW(y, as_of, thing), 0)) AS place FROM many;
CREATE FUNCTION chosen_by(source text, holdout text DEFAULT NULL, seed int DEFAULT 0) RETURNS jsonb LANGUAGE sql AS
$$ SELECT btml.relational_features($1, target => 'y', as_of => 'as_of', holdout => $2, seed => $3, windows => '{NULL}',
    relations => '{"visit": {"table": "visit", "key": {"thing": "thing"}, "columns": []}}') $$;
SELECT count(*) > 20000 AS many, p = chosen_by('SELECT thing, as_of, y FROM placed WHERE place <= 20000') AS same,
    p = chosen_by('SELECT thing, as_of, y FROM placed WHERE place < 20000') AS of_fewer,
    p = chosen_by('many', seed => 1) AS of_another_seed,
    p = chosen_by('SELECT thing, as_of, y, as_of > (SELECT percentile_disc(0.8) WITHIN GROUP (ORDER BY as_of) FROM placed
        WHERE place <= 20000) AS held FROM placed WHERE place <= 20000', 'held') AS of_the_last_fifth
FROM many, chosen_by('many') p GROUP BY p;

-- Columns of other types are no features. A joined row without a time is unknown, and so is what lies behind it.
CREATE TABLE maker (id int PRIMARY KEY, staff int);
CREATE TABLE ware (id int PRIMARY KEY, maker int REFERENCES maker, made date, size int);
CREATE TABLE sale (thing bigint REFERENCES thing, ware int REFERENCES ware, at date, pause interval, code uuid, note json, list int[]);
INSERT INTO maker VALUES (1, 50);
INSERT INTO ware VALUES (1, 1, '2023-01-01', 10), (2, 1, NULL, 20), (3, 1, '2024-05-01', 30);
INSERT INTO sale SELECT i, i, '2024-02-01', '1 day', md5('a')::uuid, '{}', '{1}' FROM generate_series(1, 3) i;
CREATE TABLE sale_plan AS SELECT btml.relational_features('SELECT thing, as_of FROM asked', as_of => 'as_of', windows => '{NULL}',
    relations => '{"visit": false, "tied": false}') AS p;
SELECT string_agg(name, ' ' ORDER BY name COLLATE "C") FROM sale_plan, btml.feature_list(p) WHERE path LIKE '%-> sale';
SELECT btml.feature_sql(p, 'SELECT * FROM asked WHERE thing <= 3') AS q FROM sale_plan \gset
SELECT thing, sale_count, ware_size_sum, maker_staff_sum FROM (:q) f ORDER BY thing;
-- Shares are of the three most frequent texts.
CREATE TABLE toned AS SELECT 1 AS thing, date '2024-01-01' AS at, tone FROM unnest('{a,b,c,d,e}'::text[]) WITH ORDINALITY t(tone, n),
    generate_series(n, 6) i;
SELECT name FROM btml.feature_list(btml.relational_features('asked', as_of => 'as_of', windows => '{NULL}',
    relations => '{"toned": {"table": "toned", "key": {"thing": "thing"}}}')) WHERE aggregate = 'share';
-- What lies behind a relation is left out with it.
SELECT count(*) FROM btml.feature_list(btml.relational_features('asked', as_of => 'as_of', windows => '{NULL}',
    relations => '{"sale": false}')) WHERE path ~ '^source -> thing -> sale';
-- What refers to the thing is reached where the thing itself is left out, or has a time of another kind.
SELECT count(*) FILTER (WHERE path LIKE '%-> customer') AS of_customer,
    count(*) FILTER (WHERE path = 'source -> customer -> call') > 0 AS of_calls
FROM btml.feature_list(btml.relational_features('SELECT customer, as_of FROM task', as_of => 'as_of', relations => '{"customer": false}'));
SELECT btml.relational_features('SELECT customer, as_of FROM task', as_of => 'as_of', relations => '{"call": {"table": "call",
    "key": {"customer": "customer"}}, "cal": false}');
SELECT btml.relational_features('SELECT customer, as_of FROM task', as_of => 'as_of', relations => '{"orders": {"table": "orders",
    "key": {"customer": "customer"}}, "who": {"table": "customer", "key": {"id": "customer"}, "of": "orders", "last": true}}');
-- A row whose part is more than its whole has no share; one of a joined row is its value.
INSERT INTO line SELECT id, 1, 5, 7 FROM orders WHERE id <= 100;
INSERT INTO line SELECT id, 1, 0, 0 FROM orders WHERE id <= 100;
SELECT name, rows FROM plan, differing(p);
DELETE FROM line WHERE returned > n OR n = 0;
CREATE TABLE made (id int PRIMARY KEY, built int, seats float8, taken int, left_over float8);
INSERT INTO made SELECT i, 1900 + i, 4 + i % 3, least(i % 7, 4 + i % 3), i FROM generate_series(1, 50) i;
UPDATE made SET seats = 'NaN' WHERE id = 3;
UPDATE made SET built = 0 WHERE id = 4;
CREATE TABLE made_task (id int REFERENCES made, as_of timestamptz);
INSERT INTO made_task SELECT i, timestamptz '2023-12-31 23:30 UTC' FROM generate_series(1, 50) i;
SELECT btml.feature_sql(btml.relational_features('SELECT * FROM made_task', as_of => 'as_of', relations => '{"made": {"time": null}}'),
    'SELECT * FROM made_task') AS q \gset
SET TimeZone = 'Asia/Tokyo';
SELECT count(*), count(*) FILTER (WHERE made_built_years_since = 2023 - built) AS years,
    count(*) FILTER (WHERE nullif(made_taken_per_seats, 'NaN') IS NOT DISTINCT FROM taken / nullif(seats, 'NaN')) AS shares
FROM (:q) f JOIN made USING (id);
RESET TimeZone;
-- Not years where one in ten is none, no share where a part is ever more, is never all, or is unknown too often.
UPDATE made SET built = 0 WHERE id <= 5;
CREATE FUNCTION found_of_made() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(name, ' ' ORDER BY name) FROM btml.feature_list(btml.relational_features('SELECT * FROM made_task', as_of => 'as_of',
        relations => '{"made": {"time": null}}')) $$;
SELECT found_of_made();
UPDATE made SET taken = seats + 1 WHERE id = 50;
SELECT found_of_made();
UPDATE made SET taken = least(taken, seats - 1) WHERE seats <> 'NaN';
SELECT found_of_made();
UPDATE made SET taken = seats WHERE id = 50;
SELECT found_of_made();
UPDATE made SET seats = NULL WHERE id < 27;
SELECT found_of_made();
-- Rows of one time have no slope, rows at the time 'infinity' neither slope nor gap, keys are told apart whatever their digits are.
CREATE TABLE odd (thing int, t timestamp, v float8, part float8, total float8, id float8);
INSERT INTO odd VALUES (1, '2020-01-01', 5, 1, 1, 0.3), (1, '2020-02-13 07:12', 9.4, 1e-200, 1e200, 0.1::float8 + 0.2),
    (1, '2020-02-13 07:12', 8.7, 0, 5, 'NaN'), (1, '2020-02-13 07:12', 8, 2, 4, 1),
    (2, '2020-01-01', 1, 3, 4, 1), (2, 'infinity', 2, 1, 1, 2);
CREATE TABLE odd_plan AS SELECT btml.relational_features('SELECT 1 AS thing, timestamp ''2020-03-01'' AS as_of', as_of => 'as_of',
    windows => '{35 days,NULL}',
    relations => '{"odd": {"table": "odd", "key": {"thing": "thing"}, "columns": ["v", "part", "total"]}}') AS p;
SELECT btml.feature_sql(p, 'SELECT thing, as_of FROM (VALUES (1, timestamp ''2020-03-01''), (2, ''infinity'')) v(thing, as_of)') AS q
FROM odd_plan \gset
SELECT thing, odd_count, odd_v_slope_35d, odd_v_slope IS NULL AS no_slope, odd_mean_gap, odd_part_per_total_mean FROM (:q) f;
SELECT btml.feature_sql(p, 'SELECT 2 AS thing') AS q FROM btml.relational_features('SELECT 1 AS thing',
    relations => '{"odd": {"table": "odd", "key": {"thing": "thing"}}}') p \gset
SELECT odd_count, odd_v_slope, odd_mean_gap FROM (:q) f;
-- A share is of columns that are wanted, and of no key.
SELECT string_agg(name, ' ' ORDER BY name) FROM btml.feature_list(btml.relational_features(
    'SELECT 1::float8 AS total, date ''2020-03-01'' AS as_of', as_of => 'as_of', windows => '{NULL}',
    relations => '{"odd": {"table": "odd", "key": {"total": "total"}, "columns": ["part", "v"]},
        "one": {"table": "odd", "key": {"total": "total"}, "columns": ["part"]}}')) WHERE aggregate IN ('mean', 'last');
-- A number is set beside the mean of its day where days differ and have ten rows, and none is negative; a far value is not in the mean.
CREATE TABLE usual AS SELECT thing, date '2020-01-01' + day AS day, CASE thing WHEN 9 THEN 1e300 ELSE thing + 10 * day END::float8 AS v,
    thing + 9 * day - 1 AS below, (thing + 9 * day)::numeric AS n, thing AS alike, 5 * day AS of_day
FROM generate_series(0, 10) thing, generate_series(0, 2) day;
SELECT btml.relational_features('SELECT 1 AS thing, date ''2020-01-03'' AS as_of', as_of => 'as_of', windows => '{NULL}',
    relations => '{"daily": {"table": "usual", "key": {"thing": "thing"}}}') AS p \gset
SELECT name, definition FROM btml.feature_list(:'p') WHERE name ~ 'relative_last';
SELECT btml.feature_sql(:'p', 'SELECT thing, date ''2020-01-03'' AS as_of FROM generate_series(0, 9, 3) AS thing') AS q \gset
SELECT thing, daily_v_relative_last, daily_n_relative_last, daily_v_relative_slope FROM (:q) f ORDER BY thing;
INSERT INTO usual VALUES (3, '2020-01-03', 1e6, 1, 1, 1, 1);
SELECT thing, daily_v_relative_last FROM (:q) f ORDER BY thing;
DELETE FROM usual WHERE thing IN (3, 4);
SELECT count(*) FROM btml.feature_list(btml.relational_features('SELECT 1 AS thing, date ''2020-01-03'' AS as_of', as_of => 'as_of',
    relations => '{"daily": {"table": "usual", "key": {"thing": "thing"}}}')) WHERE name ~ 'relative';
SELECT btml.relational_features('SELECT 1 AS thing', relations => '{"usual": {"table": "usual", "key": {"thing": "thing"}}}');
-- Equal numbers of one day say nothing beside their mean, rows without a time have no day, and the time may have any name.
CREATE TABLE even AS SELECT thing, date '2020-01-01' + day AS n0, 0.1::float8 * (1 + day) AS same,
    CASE day WHEN 0 THEN thing ELSE 100.7 * day END::real AS later_same FROM generate_series(0, 14) thing, generate_series(0, 2) day;
SELECT btml.relational_features('SELECT 1 AS thing, date ''2020-01-04'' AS as_of', as_of => 'as_of', windows => '{NULL}',
    relations => '{"even": {"table": "even", "key": {"thing": "thing"}}}') AS p \gset
SELECT name, definition FROM btml.feature_list(:'p') WHERE name ~ 'relative_last';
SELECT btml.feature_sql(:'p', 'SELECT 1 AS thing, date ''2020-01-04'' AS as_of') AS q \gset
SELECT even_later_same_relative_last FROM (:q) f;
INSERT INTO even SELECT 1, NULL, 1, 1e6 * i FROM generate_series(1, 100) i;
SELECT name FROM btml.feature_list(btml.relational_features('SELECT 1 AS thing',
    relations => '{"even": {"table": "even", "key": {"thing": "thing"}}}')) WHERE name ~ 'relative_last';
-- The mean is of the rows that the caller may see.
ALTER TABLE even ENABLE ROW LEVEL SECURITY;
CREATE POLICY below ON even USING (thing < 12);
UPDATE even SET later_same = thing WHERE n0 = '2020-01-03';
CREATE ROLE regress_things;
GRANT USAGE ON SCHEMA things TO regress_things;
GRANT SELECT ON even TO regress_things;
SELECT even_later_same_relative_last FROM (:q) f;
SET ROLE regress_things;
SELECT even_later_same_relative_last FROM (:q) f;
RESET ROLE;
REVOKE ALL ON SCHEMA things FROM regress_things;
REVOKE ALL ON even FROM regress_things;
DROP ROLE regress_things;
-- A row of the mean counts from the later time of its path on, as other rows do: the first 20 wholes come after as_of.
CREATE TABLE whole (id int PRIMARY KEY, thing int, at date);
CREATE TABLE part (whole int, at date, n int);
INSERT INTO whole SELECT i, i, CASE WHEN i > 20 THEN '2020-01-01' ELSE '2020-02-01' END::date FROM generate_series(1, 40) i;
INSERT INTO part SELECT i, date '2020-01-01' + day, i + 100 * day FROM generate_series(1, 40) i, generate_series(0, 2) day;
INSERT INTO whole VALUES (41, 41, NULL);
INSERT INTO part VALUES (41, '2020-01-03', 300), (42, '2020-01-03', 300);
SELECT btml.feature_sql(btml.relational_features('SELECT 30 AS thing, date ''2020-01-05'' AS as_of', as_of => 'as_of', windows => '{NULL}',
    relations => '{"whole": {"table": "whole", "key": {"thing": "thing"}},
        "part": {"table": "part", "key": {"whole": "id"}, "of": "whole"}}'),
    'SELECT 30 AS thing, date ''2020-01-05'' AS as_of') AS q \gset
SELECT part_n_relative_last, 230 / (200 + avg(i)) AS expected FROM (:q) f, generate_series(21, 40) i GROUP BY 1;
-- No days lie between infinite times; without as_of a time is as it is.
CREATE TABLE known (thing int PRIMARY KEY, since timestamp);
INSERT INTO known VALUES (1, 'infinity'), (2, '-infinity'), (3, '2020-01-01');
SELECT btml.feature_sql(btml.relational_features('SELECT 1 AS thing, timestamp ''2020-01-02'' AS as_of', as_of => 'as_of',
    inclusive => true, relations => '{"known": {"table": "known", "key": {"thing": "thing"}}}'),
    'SELECT thing, as_of FROM generate_series(1, 3) thing, unnest(''{-infinity,2020-01-02,infinity}''::timestamp[]) as_of') AS q \gset
SELECT thing, as_of, known_since FROM (:q) f ORDER BY thing, as_of;
SELECT name, definition FROM btml.feature_list(btml.relational_features('SELECT 1 AS thing',
    relations => '{"known": {"table": "known", "key": {"thing": "thing"}}}'));
CREATE TABLE ratio (id float8 PRIMARY KEY);
INSERT INTO ratio VALUES (0.3), (0.1::float8 + 0.2), ('NaN'), (1), (2);
ALTER TABLE odd ADD FOREIGN KEY (id) REFERENCES ratio;
SELECT btml.feature_sql(p, 'SELECT 1 AS thing') AS q FROM btml.relational_features('SELECT 1 AS thing',
    relations => '{"odd": {"table": "odd", "key": {"thing": "thing"}}}') p \gset
SELECT odd_id_distinct FROM (:q) f;
-- What is null, empty or too wide is named.
SELECT btml.relational_features('SELECT 1 AS thing', relations => '{"odd": {"table": "odd", "key": {"thing": null}}}');
SELECT btml.relational_features('SELECT 1 AS thing', relations => '{"odd": {"table": null, "key": {"thing": "thing"}}}');
SELECT btml.relational_features('SELECT 1 AS thing',
    relations => '{"odd": {"table": "odd", "key": {"thing": "thing"}, "columns": [null]}}');
SELECT btml.relational_features('SELECT 1 AS thing', relations => '{"odd": {"table": "odd", "key": {"thing": "thing"}, "time": ""}}');
SELECT format('SELECT %s, customer, as_of, y FROM learned', string_agg(format('%s AS c%s', i, i), ', ')) AS wide
FROM generate_series(1, 1600) i \gset
SELECT jsonb_array_length(btml.relational_features(:'wide', target => 'y', as_of => 'as_of', max_features => 2, max_depth => 1,
    relations => '{"orders": false, "customer": false}') -> 'features') AS features;
-- A long name keeps its column, aggregate and window.
CREATE TABLE a_table_whose_name_is_as_long_as_postgresql_lets_one_be_written (thing int, number_of_things_with_a_name int);
INSERT INTO a_table_whose_name_is_as_long_as_postgresql_lets_one_be_written VALUES (1, 2);
SELECT name FROM btml.feature_list(btml.relational_features('SELECT 1 AS thing', relations => '{"long": {"table":
    "a_table_whose_name_is_as_long_as_postgresql_lets_one_be_written", "key": {"thing": "thing"}},
    "a_table_whose_name_is_as_long_as_postgresql_lets_one_be_written": {"table":
    "a_table_whose_name_is_as_long_as_postgresql_lets_one_be_written", "key": {"thing": "thing"}}}')) ORDER BY name LIMIT 3;
