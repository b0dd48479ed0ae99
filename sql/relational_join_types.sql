-- Join keys of every type, and joins in every syntax, against SQL.
SET client_min_messages = warning;
CREATE SCHEMA relational_join_types;
SET search_path = relational_join_types;

-- The number of rows of a join, by btml and by SQL, and of how many base relations btml made it.
CREATE FUNCTION rows_of(source text, OUT btml float8, OUT sql bigint, OUT relations bigint) LANGUAGE plpgsql AS $$
BEGIN
    btml := btml.sumprod(source);
    EXECUTE format('SELECT count(*) FROM (%s) AS q', source) INTO sql;
    relations := (SELECT count(*) FROM btml.explain_join(source) AS line WHERE line ~ 'rows: \d+ read');
END $$;

CREATE TYPE colour AS ENUM ('red', 'green', 'blue');
CREATE TYPE point3 AS (x int, y int);
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE DOMAIN label AS varchar(20);
CREATE DOMAIN rank AS float4;
CREATE TABLE l (n int, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, num numeric, yes boolean, d date, ts timestamp, tz timestamptz,
    t time, tt timetz, span interval, txt text, vc varchar(10), bp char(6), nm name, "char" "char", col colour, id uuid, raw bytea, o oid,
    ints int[], texts text[], js jsonb, range int4range, pos positive, lab label, rk rank, ip inet, bits bit(3), cash money, p point3);
INSERT INTO l VALUES
    (1, 1, 1, 1, 0.5, 0.5, 1.0, true, '2001-01-01', '2001-01-01 00:00', '2001-01-01 00:00+00', '12:00', '12:00+00', '1 mon', 'one', 'one',
    'one', 'one', 'a', 'red',
     '00000000-0000-0000-0000-000000000001', '\x01', 1, '{1,2}', '{a,b}', '{"a": 1, "b": 2}', '[1,5)', 1, 'one', 1, '10.0.0.1', '101', 1.5,
     '(1,2)'),
    (2, -1, -1, -1, '-0', '-0', 1.00, false, 'infinity', 'infinity', '-infinity', '24:00', '14:00+02', '30 days', '', '', '', '', '',
    'blue',
     'ffffffff-ffff-ffff-ffff-ffffffffffff', '', 4294967295, '{}', '{NULL,b}', 'null', 'empty', 2, 'One', 0, '10.0.0.1/24', '111', -1,
     '(1,)'),
    (3, 32767, 32767, 32767, 'NaN', 'NaN', 'NaN', NULL, '0044-03-15 BC', '2001-01-01 00:00', '2001-01-01 02:00+02', '00:00', '12:00+01',
    '-1 day', 'One ', 'One ', 'One ', 'One ', 'z', 'green',
     NULL, '\x0100', 5, '{1,NULL}', '{}', '[1, 2]', '[1,4]', 32767, 'One ', 'NaN', '::1', '000', 0, NULL),
    (4, 1, NULL, 2147483648, 0, 0, 0.0, true, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '(,)'),
    (5, 0, 0, 0, '-Infinity', 'Infinity', 12345678901234567890.123, false, '2001-01-01', '2001-01-01 00:00:00.000001',
    '2001-01-01 00:00+00', '12:00', '12:00+00', '720:00:00', 'one', 'one', 'one  ', 'one', 'a', 'red',
     '00000000-0000-0000-0000-000000000001', '\x01', 1, '{1,2}', '{a,b}', '{"b": 2, "a": 1.0}', '[1,4]', 1, 'one', 1, '10.0.0.1', '101',
     1.5, '(1,2)');
CREATE TABLE r AS SELECT * FROM l UNION ALL SELECT * FROM l WHERE n IN (1, 2);

-- One key, of each type.
SELECT attname AS key, c.* FROM pg_attribute a, rows_of(format('SELECT FROM l JOIN r USING (%I)', attname)) AS c
WHERE attrelid = 'l'::regclass AND attnum > 0 AND attname <> 'p' ORDER BY attnum;
SELECT attname AS key, c.* FROM pg_attribute a, rows_of(format('SELECT FROM l LEFT JOIN r ON l.%I = r.%1$I AND r.n < 4', attname)) AS c
WHERE attrelid = 'l'::regclass AND attnum > 0 AND attname <> 'p' ORDER BY attnum;

SELECT btml = sql AS agrees FROM rows_of('SELECT FROM l JOIN r USING (p)');

-- Keys of two types: of one operator family they are keys, of none they make one relation.
SELECT x, y, c.* FROM (VALUES ('i2', 'i4'), ('i2', 'i8'), ('i4', 'i8'), ('pos', 'i8'), ('f4', 'f8'), ('rk', 'f8'), ('i4', 'f8'), ('i4',
    'num'), ('f8', 'num'),
    ('txt', 'vc'), ('txt', 'bp'), ('vc', 'bp'), ('txt', 'nm'), ('nm', 'vc'), ('lab', 'txt'), ('lab', 'vc'), ('d', 'ts'), ('ts', 'tz'),
    ('i4', 'o'),
    ('"char"', 'txt')) AS pairs (x, y),
    rows_of(format('SELECT FROM l JOIN r ON l.%s = r.%s', x, y)) AS c;

-- Keys that are expressions.
SELECT condition, c.* FROM (VALUES ('l.i4 + 1 = r.i4'), ('lower(l.txt) = lower(trim(r.vc))'), ('l.i4::text = r.i2::text'),
    ('(l.i8 & 4294967295)::oid = r.o'),
    ('-(l.f8) = r.f4'), ('date_trunc(''day'', l.ts) = r.ts'), ('l.tz::date = r.d'), ('l.col::text = r.col::text'), ('l.ints[1] = r.i4'),
    ('l.js->>''a'' = r.js->>''a'''), ('(l.p).x = r.i4'), ('ROW (l.i4, l.txt) = ROW (r.i4, r.txt)'),
    ('coalesce(l.i4, 7) = coalesce(r.i4, 7)'),
    ('l.i4 * 2 = r.i4 + l.i4'), ('l.p IS NOT DISTINCT FROM r.p'), ('l.ctid = r.ctid'), ('l.tableoid = r.tableoid'),
    ('l.n = length(r.*::text)'), ('l = r'),
    ('l.i4 = ANY (ARRAY[r.i4, r.i2])'), ('l.i4 = (SELECT r.i4)'), ('l.txt = r.txt COLLATE "C"'), ('l.txt LIKE r.txt'), ('l.yes AND r.yes'),
    ('l.yes = r.yes'), ('l.i8 = r.i4::float8')) AS conditions (condition),
    rows_of(format('SELECT FROM l JOIN r ON %s', condition)) AS c;

-- What an enum, a varchar or a domain is compared as decides: equality of one operator says nothing about another's.
CREATE TABLE folded (c "char", o oid, i int, b char(3), t text);
INSERT INTO folded VALUES ('a', 4294967295, -1, 'x', 'x'), ('b', 1, 1, 'x ', 'x '), ('c', 2147483648, -2147483648, 'y', 'Y');
SELECT * FROM rows_of('SELECT FROM folded a JOIN folded b ON a.i::oid = b.o JOIN folded c ON a.i = c.i');
SELECT * FROM rows_of('SELECT FROM folded a JOIN folded b ON a.b = b.b JOIN folded c ON a.b::text = c.t');
SELECT * FROM rows_of('SELECT FROM folded a JOIN folded b ON a.o = b.o JOIN folded c ON a.o = c.i::oid');

-- Collations: bytes decide under a deterministic one only.
DO $$
BEGIN
    CREATE COLLATION case_blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
EXCEPTION WHEN OTHERS THEN
    CREATE COLLATION case_blind FROM "C"; -- without ICU
END $$;
CREATE TABLE words (w text COLLATE case_blind, plain text);
INSERT INTO words VALUES ('a', 'a'), ('A', 'A'), ('b', 'b');
SELECT btml = sql AS agrees FROM rows_of('SELECT FROM words a JOIN words b ON a.w = b.w');
SELECT btml = sql AS agrees FROM rows_of('SELECT FROM words a JOIN words b ON a.plain = b.plain COLLATE case_blind');
SELECT * FROM rows_of('SELECT FROM words a JOIN words b USING (plain)');
SELECT count(*) = (SELECT count(DISTINCT w) FROM words) AS agrees
    FROM btml.sumprod_by('SELECT w FROM words', '{w}') AS t (w text, value float8);

-- Syntax.
CREATE TABLE a (x int, y int, v int);
CREATE TABLE b (x int, y int, v int);
CREATE TABLE c (x int, z int, w int);
INSERT INTO a VALUES (1, 1, 2), (1, 2, 3), (2, 2, 5), (NULL, 1, 7), (2, NULL, 11), (2, 2, 5);
INSERT INTO b VALUES (1, 1, 1), (2, 1, 2), (2, 2, 3), (NULL, NULL, 4), (3, 3, 5), (2, 2, 3);
INSERT INTO c VALUES (1, 1, 1), (2, 2, 1), (2, 5, 2), (4, 4, 1), (NULL, 1, 1);
CREATE TABLE nothing (x int, y int, v int);
SELECT source, c.* FROM (VALUES
    ('SELECT FROM a, b'),
    ('SELECT FROM a CROSS JOIN b CROSS JOIN c'),
    ('SELECT FROM a, b WHERE a.x = b.x'),
    ('SELECT FROM a, b WHERE a.x = b.x AND a.y = b.y'),
    ('SELECT FROM a JOIN b ON a.x = b.x'),
    ('SELECT FROM a JOIN b USING (x)'),
    ('SELECT FROM a JOIN b USING (x, y)'),
    ('SELECT FROM a NATURAL JOIN b'),
    ('SELECT FROM a NATURAL JOIN c'),
    ('SELECT FROM a JOIN b USING (x) AS j JOIN c ON j.x = c.x'),
    ('SELECT FROM (a JOIN b USING (x)) AS j (p, q) JOIN c ON j.p = c.x'),
    ('SELECT FROM a JOIN (b JOIN c USING (x)) USING (x)'),
    ('SELECT FROM a AS p JOIN a AS q ON p.x = q.y'),
    ('SELECT FROM a AS p JOIN a AS q ON p.x = q.x JOIN a AS r ON q.y = r.y'),
    ('SELECT FROM a JOIN b ON a.x = b.x AND a.y = b.x'),
    ('SELECT FROM a JOIN b ON a.x = b.x AND a.y = b.x AND a.v = b.x'),
    ('SELECT FROM a JOIN b ON a.x = b.x AND a.x = b.y'),
    ('SELECT FROM a, b, c WHERE a.x = b.x AND b.x = c.x AND c.x = a.x'),
    ('SELECT FROM a, b, c WHERE a.x = b.x AND b.y = c.z AND a.x = a.y'),
    ('SELECT FROM a JOIN b ON a.x = b.x AND b.x = 2 AND a.y IS NULL'),
    ('SELECT FROM a JOIN b ON a.x = b.x AND a.v < b.v'),
    ('SELECT FROM a JOIN b ON a.x = b.x OR a.y = b.y'),
    ('SELECT FROM a JOIN b ON a.x IS NOT DISTINCT FROM b.x'),
    ('SELECT FROM a JOIN b ON NOT a.x <> b.x'),
    ('SELECT FROM a JOIN b ON (a.x = b.x) IS TRUE'),
    ('SELECT FROM a JOIN b ON true'),
    ('SELECT FROM a JOIN b ON false'),
    ('SELECT FROM a JOIN b ON NULL'),
    ('SELECT FROM a, nothing'),
    ('SELECT FROM a JOIN nothing USING (x)'),
    ('SELECT FROM a LEFT JOIN nothing USING (x)'),
    ('SELECT FROM nothing LEFT JOIN a USING (x)'),
    ('SELECT FROM a LEFT JOIN nothing ON true'),
    ('SELECT FROM nothing JOIN nothing AS n USING (x)'),
    ('SELECT FROM a JOIN b ON a.x = b.x AND a.x = 1 AND b.x = 2'),
    ('SELECT FROM a JOIN b ON a.x + b.x = 3'),
    ('SELECT FROM a JOIN b ON a.x + a.y = b.x + b.y'),
    ('SELECT FROM a JOIN b ON a.x = b.x AND a.* IS NOT NULL')) AS sources (source),
    rows_of(source) AS c;

-- A cycle of keys, and the same with one pair of its tables read as a query.
SELECT * FROM rows_of('SELECT FROM a JOIN b ON a.x = b.x JOIN c ON b.y = c.z AND a.y = c.w');
SELECT * FROM rows_of('SELECT FROM (SELECT a.x, a.y, b.y AS z FROM a JOIN b ON a.x = b.x OFFSET 0) AS ab
    JOIN c ON ab.z = c.z AND ab.y = c.w');

-- Names of every kind.
CREATE TABLE "A "" table" ("a.b" int, "select" int);
INSERT INTO "A "" table" VALUES (1, 2), (2, 3);
SELECT * FROM rows_of('SELECT FROM "A "" table" AS "x y" JOIN "A "" table" AS "X Y" ON "x y"."select" = "X Y"."a.b"');
SELECT * FROM btml.explain_join('SELECT FROM "A "" table" AS "x y" JOIN "A "" table" AS "X Y" ON "x y"."select" = "X Y"."a.b"');
SELECT format('CREATE TABLE %I (%I int)', repeat('t', 63), repeat('c', 63)) \gexec
SELECT format('INSERT INTO %I VALUES (1), (1)', repeat('t', 63)) \gexec
SELECT * FROM rows_of(format('SELECT FROM %1$I AS %2$I JOIN %1$I AS b USING (%3$I)', repeat('t', 63), repeat('a', 63), repeat('c', 63)));
DROP SCHEMA relational_join_types CASCADE;
