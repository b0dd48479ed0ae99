-- Random sources over small tables: btml.sumprod and btml.sumprod_by against plain SQL over the query as it stands.
-- What does not agree is printed.
SET client_min_messages = warning;
SET jit = off;
CREATE SCHEMA relational_random;
SET search_path = relational_random;
DO $$ BEGIN PERFORM setseed(0.25); END $$;

CREATE TABLE t1 (a int, b int, c int, v float8);
CREATE TABLE t2 (a int, b bigint, c int, v float8);
CREATE TABLE t3 (a smallint, b int, c int, v float8);
CREATE TABLE t4 (a int, b int, c bigint, v float8);
CREATE TABLE t5 (a int, b int, c int, v float8);
CREATE VIEW plain_view AS SELECT a, b + 1 AS b, coalesce(c, 1) AS c, 2.0::float8 AS v FROM t1 WHERE c IS DISTINCT FROM 2;
CREATE VIEW constant_view AS SELECT a, 1 AS b, c, coalesce(v, 3) AS v FROM t2;
CREATE VIEW left_view AS SELECT p.a, q.b, coalesce(q.c, 0) AS c, p.v FROM t3 p LEFT JOIN t4 q ON p.a = q.a;
CREATE VIEW join_view AS SELECT p.a, q.b, p.c, q.v FROM t4 p JOIN t5 q ON p.b = q.b;
CREATE VIEW group_view AS SELECT a, max(b) AS b, count(*)::int AS c, sum(v) AS v FROM t5 GROUP BY a;
CREATE VIEW semi_view AS SELECT p.a, p.b, q.c, coalesce(p.v, q.v) AS v FROM t1 p JOIN t3 q ON p.c = q.b
    WHERE p.a IN (SELECT a FROM t5) AND NOT EXISTS (SELECT FROM t4 WHERE t4.a = q.a AND t4.b = 1);
CREATE FUNCTION rows_of_t2(lowest int) RETURNS SETOF t2 LANGUAGE sql STABLE AS
$$ SELECT * FROM t2 WHERE t2.a >= lowest AND EXISTS (SELECT FROM t1 WHERE t1.b = t2.c) $$;
CREATE VIEW union_view AS SELECT a, b, c, v FROM t1 UNION ALL SELECT a, b::int, c, v FROM t2;

CREATE FUNCTION pick(VARIADIC choices text[]) RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT choices[1 + floor(random() * cardinality(choices))::int] $$;

-- New rows for every table: values from a few, NULLs, duplicates, sometimes none at all.
CREATE FUNCTION fill_tables() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..5 LOOP
        EXECUTE format('TRUNCATE t%s', i);
        EXECUTE format('INSERT INTO t%s SELECT nullif(floor(random() * 4), 3), nullif(floor(random() * 4), 3),
            nullif(floor(random() * 3.5), 3), nullif(floor(random() * 5) - 1, 3) FROM generate_series(1, %s)',
            i, CASE WHEN random() < 0.07 THEN 0 ELSE floor(random() * 9) + 1 END);
    END LOOP;
END $$;

-- A condition on one alias.
CREATE FUNCTION condition_on(alias text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN replace(replace(replace(pick('r.x IS NULL', 'r.x IS NOT NULL', 'r.x > 0', 'r.x <> r.y', 'coalesce(r.x, 1) = 1',
        'r.x = r.y', '(r.x = 1 OR r.y = 2)', 'r.x IS DISTINCT FROM 1', 'NOT (r.x = 2)', '(r.x = 1) IS NOT TRUE',
        'r.x IN (0, 1)', 'r.x IN (SELECT t5.b FROM t5)', 'r.x NOT IN (SELECT t5.a FROM t5 WHERE t5.a < 2)',
        'EXISTS (SELECT FROM t1 WHERE t1.a = r.x)', 'NOT EXISTS (SELECT FROM t2 WHERE t2.b = r.x AND t2.c = r.y)',
        'CASE WHEN r.x IS NULL THEN r.y = 1 ELSE r.x < 2 END', '(r) IS NOT NULL', '(r)::text IS NULL', 'now() > ''2001-01-01''',
        'current_date < ''2001-01-01'''),
        '(r)', alias), 'r.x', alias || '.' || pick('a', 'b', 'c', 'v')), 'r.y', alias || '.' || pick('a', 'b', 'c'));
END $$;

-- Equality of columns of two aliases, or now and then another condition on both.
CREATE FUNCTION condition_between(p text, q text, strict_only boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    x text := pick('a', 'b', 'c');
    y text := CASE WHEN random() < 0.6 THEN x ELSE pick('a', 'b', 'c') END;
BEGIN
    IF strict_only OR random() < 0.85 THEN RETURN format('%s.%s = %s.%s', p, x, q, y); END IF;
    RETURN replace(replace(pick('p = q + 1', 'coalesce(p, 0) = q', 'p = coalesce(q, 0)', 'coalesce(p, 0) = coalesce(q, 0)',
        'p < q', 'p IS NOT DISTINCT FROM q', '(p = q OR p IS NULL)', 'p + q = 2', 'p::float8 = q::float8', 'p::text = q::text',
        'p::numeric = q', '(p = q) IS NOT FALSE', 'EXISTS (SELECT FROM t3 WHERE t3.a = p AND t3.b = q)'),
        'p', format('%s.%s', p, x)), 'q', format('%s.%s', q, y));
END $$;

-- One relation of the FROM clause under this alias.
CREATE FUNCTION relation(alias text, plain boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF plain OR random() < 0.6 THEN RETURN pick('t1', 't2', 't3', 't4', 't5') || ' ' || alias; END IF;
    RETURN pick('plain_view', 'constant_view', 'left_view', 'join_view', 'group_view', 'union_view', 'semi_view', 'rows_of_t2(0)',
        '(SELECT a, b, c, v FROM t1 WHERE a > 0)', '(SELECT a, b, c, v + 1 AS v FROM t4 WHERE b IS NOT NULL)',
        '(SELECT DISTINCT a, b, c, v FROM t5)', '(SELECT f.a, f.b, t3.c, t3.v FROM rows_of_t2(0) f JOIN t3 ON f.c = t3.c)',
        '(SELECT a, b, c, v FROM t2 WHERE a NOT IN (SELECT a FROM t4 WHERE b = 0))', '(SELECT a, 2 AS b, c, 5 AS v FROM t3)',
        '(SELECT 1 AS a, 1 AS b, 2 AS c, 2.5 AS v)',
        '(VALUES (1, 0, 1, 1.5), (2, 1, NULL, 2), (1, 1, 1, 1))', '(SELECT p.a, q.b, q.c, p.v FROM t1 p, t5 q WHERE p.b = q.c)',
        '(SELECT p.a, q.b, 1, coalesce(q.v, 2) FROM t2 p LEFT JOIN t5 q ON p.a = q.a AND q.b > 0)')
        || ' AS ' || alias || ' (a, b, c, v)';
END $$;

CREATE TYPE from_clause AS (sql text, aliases text[]);

-- A random tree of joins over `size` relations with the aliases r<first>, …
CREATE FUNCTION joined(first int, size int, plain boolean) RETURNS from_clause LANGUAGE plpgsql AS $$
DECLARE
    cut int;
    l from_clause;
    r from_clause;
    kind text;
    condition text;
    p text;
    q text;
BEGIN
    IF size = 1 THEN RETURN ROW (relation('r' || first, plain), ARRAY ['r' || first])::from_clause; END IF;
    cut := CASE WHEN random() < 0.5 THEN size - 1 ELSE 1 + floor(random() * (size - 1)) END;
    l := joined(first, cut, plain);
    r := joined(first + cut, size - cut, plain);
    p := pick(VARIADIC l.aliases);
    q := pick(VARIADIC r.aliases);
    kind := CASE WHEN plain THEN 'JOIN'
        ELSE pick('JOIN', 'JOIN', 'JOIN', 'LEFT JOIN', 'LEFT JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN') END;
    IF NOT plain AND size - cut = 1 AND kind IN ('JOIN', 'LEFT JOIN') AND random() < 0.06 THEN
        r.sql := regexp_replace(pick('LATERAL (SELECT a, coalesce(p, 0), c, v FROM t5 WHERE t5.b = p)',
        'LATERAL (SELECT a, b, c, v + p FROM t2 LIMIT 2)',
            'LATERAL (SELECT count(*)::int, min(b), p, sum(v) FROM t1 WHERE t1.a = p)',
            'LATERAL (SELECT p, 1, 2, g FROM generate_series(0, p) g)'),
            '\mp\M', p || '.' || pick('a', 'b', 'c'), 'g') || ' AS ' || q || ' (a, b, c, v)';
    END IF;
    IF size = 2 AND random() < 0.2 THEN
        condition := 'USING (' || pick('a', 'b', 'a, b', 'c') || ')';
    ELSIF kind <> 'FULL JOIN' AND random() < 0.03 THEN
        condition := 'ON ' || pick('true', 'false', 'NULL', 'current_date > ''2001-01-01''', 'current_date < ''2001-01-01''');
    ELSE
        condition := 'ON ' || condition_between(p, q, plain OR kind = 'FULL JOIN');
        IF random() < 0.2 THEN condition := condition || ' AND ' || condition_between(p, q, plain); END IF;
        IF random() < 0.2 THEN condition := condition || ' AND ' || condition_on(pick(VARIADIC r.aliases)); END IF;
        IF random() < 0.1 AND NOT plain THEN condition := condition || ' AND ' || condition_on(pick(VARIADIC l.aliases)); END IF;
    END IF;
    RETURN ROW (format('%s %s %s %s', CASE WHEN cut > 1 AND random() < 0.5 THEN '(' || l.sql || ')' ELSE l.sql END, kind,
        CASE WHEN size - cut > 1 THEN '(' || r.sql || ')' ELSE r.sql END, condition), l.aliases || r.aliases)::from_clause;
END $$;

-- An output column over one alias, sometimes over two or none.
CREATE FUNCTION output_column(aliases text[], plain boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN replace(replace(replace(replace(CASE WHEN plain OR random() < 0.5 THEN pick('r.v', 'r.x', 'coalesce(r.x, 1)', 'r.v + 1')
        ELSE pick('r.v', 'r.v', 'r.x', 'r.v * 2 + r.x', 'coalesce(r.v, 2)', 'coalesce(r.x + 1, r.v, 3)', '2', '0.5',
        'CASE WHEN r.x IS NULL THEN 3 ELSE r.v END',
            '(r.x IS NULL)::int', 'coalesce(r.x, 0) + 1', 'r.x + s.x', 'coalesce(r.x, s.x)', '(SELECT count(*) FROM t1 WHERE t1.a = r.x)',
            'coalesce((SELECT max(t2.v) FROM t2 WHERE t2.b = r.x), 2)', '(SELECT min(t3.v) FROM t3)',
            'length(coalesce((r)::text, ''none''))', 'extract(year FROM date ''2001-01-01'')', 'coalesce(nullif(r.x, 1), 4)') END,
        'r.x', pick(VARIADIC aliases) || '.' || pick('a', 'b', 'c')), 's.x', pick(VARIADIC aliases) || '.' || pick('a', 'b', 'c')),
        'r.v', pick(VARIADIC aliases) || '.v'), '(r)', pick(VARIADIC aliases));
END $$;

CREATE TYPE outcome AS ENUM ('agree', 'differ', 'not SQL');

-- Compares btml.sumprod, every fourth time btml.sumprod_by and every third time btml.sample_join, with PostgreSQL's own answer.
CREATE FUNCTION compare(source text, factors int, OUT message text, OUT result outcome) LANGUAGE plpgsql AS $$
DECLARE
    product text := (SELECT string_agg(format('o%s', i), '::float8 * ') || '::float8' FROM generate_series(1, factors) i);
    expected float8;
    actual float8;
    smallest float8;
    actual_smallest float8;
    differences bigint;
BEGIN
    result := 'agree';
    BEGIN
        EXECUTE format('SELECT coalesce(sum(%s), 0), coalesce(min(%s), ''Infinity'') FROM (%s) AS q', coalesce(product, '1.0::float8'),
            coalesce(replace(product, '*', '+'), '0.0::float8'), source) INTO expected, smallest;
    EXCEPTION WHEN feature_not_supported THEN
        result := 'not SQL';
        RETURN;
    END;
    BEGIN
        actual := btml.sumprod(source);
        actual_smallest := btml.sumprod(source, 'min_plus');
        IF factors > 1 AND random() < 0.25 THEN
            EXECUTE format('WITH e AS (SELECT o1, sum(%1$s) AS value FROM (%2$s) AS q WHERE (%1$s) IS NOT NULL GROUP BY o1),
                    g AS (SELECT * FROM btml.sumprod_by(%2$L, ''{o1}'') AS t (o1 %3$s, value float8))
                SELECT count(*) FROM ((TABLE e EXCEPT ALL TABLE g) UNION ALL (TABLE g EXCEPT ALL TABLE e)) AS d',
                (SELECT string_agg(format('o%s', i), '::float8 * ') || '::float8' FROM generate_series(2, factors) i),
                source, first_type(source)) INTO differences;
        END IF;
        IF factors > 0 AND hashtext(source) % 3 = 0 THEN
            differences := coalesce(differences, 0) + sample_differences(source);
        END IF;
    EXCEPTION WHEN OTHERS THEN
        result := 'differ';
        message := SQLSTATE || ' ' || SQLERRM;
        RETURN;
    END;
    IF abs(actual - expected) > 1e-9 * abs(expected) OR actual IS NULL OR smallest IS DISTINCT FROM actual_smallest OR differences > 0 THEN
        result := 'differ';
        message := format('%s instead of %s, least %s instead of %s, %s groups or sampled rows differ', actual, expected, actual_smallest,
        smallest, differences);
    END IF;
END $$;

CREATE FUNCTION first_type(source text) RETURNS regtype LANGUAGE plpgsql AS $$
DECLARE result regtype;
BEGIN
    EXECUTE format('CREATE TEMP VIEW typed AS %s', source);
    result := (SELECT atttypid FROM pg_attribute WHERE attrelid = 'pg_temp.typed'::regclass AND attnum = 1);
    DROP VIEW pg_temp.typed;
    RETURN result;
END $$;

-- Rows of the source that a sample of all lacks, or the other way round, and those that a sample of half of them should not have.
CREATE FUNCTION sample_differences(source text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    columns text;
    result bigint;
BEGIN
    EXECUTE format('CREATE TEMP VIEW typed AS %s', source);
    columns := (SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)
        FROM pg_attribute WHERE attrelid = 'pg_temp.typed'::regclass AND attnum > 0);
    DROP VIEW pg_temp.typed;
    EXECUTE format('WITH e AS MATERIALIZED (%1$s), n AS (SELECT count(*) AS n FROM e),
            s AS (SELECT s.* FROM btml.sample_join(%1$L, 1000000) AS s (%2$s)),
            h AS (SELECT h.* FROM n, btml.sample_join(%1$L, n / 2, 7) AS h (%2$s))
        SELECT (SELECT count(*) FROM ((TABLE e EXCEPT ALL TABLE s) UNION ALL (TABLE s EXCEPT ALL TABLE e)
        UNION ALL (TABLE h EXCEPT ALL TABLE e)) AS d)
            + abs((SELECT count(*) FROM h) - (SELECT n / 2 FROM n))', source, columns) INTO result;
    RETURN result;
END $$;

-- Compares `rounds` random sources. Their joins follow a tree, and now and then more equalities close cycles in it.
CREATE FUNCTION run(rounds int, OUT compared int, OUT cyclic int, OUT not_sql int, OUT failures text[]) LANGUAGE plpgsql AS $$
DECLARE
    plain boolean;
    source text;
    f from_clause;
    g from_clause;
    condition text;
    factors int;
    closed boolean;
    c record;
BEGIN
    compared := 0; cyclic := 0; not_sql := 0; failures := '{}';
    FOR round IN 1..rounds LOOP
        IF round % 10 = 1 THEN PERFORM fill_tables(); END IF;
        plain := random() < 0.3;
        f := joined(1, 1 + floor(random() * 5)::int, plain);
        condition := NULL;
        IF random() < 0.3 THEN
            g := joined(cardinality(f.aliases) + 1, 1 + floor(random() * 2)::int, plain);
            condition := CASE WHEN random() < 0.8 THEN condition_between(pick(VARIADIC f.aliases), pick(VARIADIC g.aliases), plain) END;
            f := ROW (f.sql || ', ' || g.sql, f.aliases || g.aliases);
        END IF;
        WHILE random() < 0.3 LOOP
            condition := concat_ws(' AND ', condition, condition_on(pick(VARIADIC f.aliases)));
        END LOOP;
        IF NOT plain AND random() < 0.15 AND cardinality(f.aliases) > 1 THEN
            condition := concat_ws(' AND ', condition, condition_between(f.aliases[1], f.aliases[cardinality(f.aliases)], false));
        END IF;
        closed := cardinality(f.aliases) > 2 AND random() < 0.5;
        IF closed THEN
            condition := concat_ws(' AND ', condition,
            format('%s.%s = %s.%s', f.aliases[1], pick('a', 'b', 'c'), f.aliases[cardinality(f.aliases)], pick('a', 'b', 'c')));
        END IF;
        factors := floor(random() * 4);
        source := format('SELECT %s FROM %s%s', (SELECT string_agg(output_column(f.aliases, plain) || ' AS o' || i, ', ')
        FROM generate_series(1, factors) i),
            f.sql, ' WHERE ' || condition);
        IF random() < 0.1 THEN source := format('WITH w AS (%s) SELECT * FROM w', source); END IF;
        c := compare(source, factors);
        IF closed AND c.result = 'agree' THEN
            cyclic := cyclic + (SELECT count(*) FROM btml.explain_join(source) AS line WHERE line ~ 'Cyclic')::int;
        END IF;
        IF c.result = 'not SQL' THEN not_sql := not_sql + 1;
        ELSIF c.result <> 'agree' THEN failures := failures || format('%s: %s', source, c.message);
        END IF;
        compared := compared + (c.result IN ('agree', 'differ'))::int;
    END LOOP;
END $$;

SELECT compared > 700 AS most_compared, cyclic > 30 AS cyclic_ones_too, failures FROM run(900);

DROP SCHEMA relational_random CASCADE;
