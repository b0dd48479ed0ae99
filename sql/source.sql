-- What a source is, and what is refused.
SET client_min_messages = warning;
CREATE SCHEMA source;
SET search_path = source;
CREATE TABLE plain (id int, weight float8, "Mixed Case" int);
INSERT INTO plain VALUES (1, 2, 3), (2, 0.5, 4);
CREATE TABLE "Quoted ""name"".x" (v int);
INSERT INTO "Quoted ""name"".x" VALUES (7);
CREATE TABLE "select" (v int);
INSERT INTO "select" VALUES (11);
CREATE VIEW doubled AS SELECT id * 2 AS id FROM plain;
CREATE MATERIALIZED VIEW stored AS SELECT id FROM plain;
CREATE SEQUENCE counter;
CREATE TYPE pair AS (a int, b int);
CREATE INDEX plain_id ON plain (id);

-- Names, as in SQL.
SELECT btml.sumprod('plain');
SELECT btml.sumprod('  PLAIN ');
SELECT btml.sumprod('source.plain');
SELECT btml.sumprod(' source . "plain" ');
SELECT btml.sumprod(current_database() || '.source.plain');
SELECT btml.sumprod('"Quoted ""name"".x"');
SELECT btml.sumprod('"select"'), btml.sumprod('select');
SELECT btml.sumprod('doubled'), btml.sumprod('stored'), btml.sumprod('counter');
SELECT btml.sumprod('pg_catalog.pg_class');
SELECT btml.sumprod('"Plain"');
SELECT btml.sumprod('missing');
SELECT btml.sumprod('nowhere.plain');
SELECT btml.sumprod('elsewhere.source.plain');
SELECT btml.sumprod('a.b.c.d');
\set VERBOSITY sqlstate
SELECT btml.sumprod('plain_id');
SELECT btml.sumprod('pair');
\set VERBOSITY default
SELECT btml.sumprod('"open');
SELECT btml.sumprod('""');
SELECT btml.sumprod('plain, doubled');
SELECT btml.sumprod('plain;');
SELECT btml.sumprod('7');
SELECT btml.sumprod(repeat('long', 30));

-- The search_path is the caller's, and a temporary table comes first.
CREATE SCHEMA other;
CREATE TABLE other.plain AS SELECT 100 AS v;
SET search_path = other;
SELECT btml.sumprod('plain');
CREATE TEMP TABLE plain AS SELECT 1000 AS v;
SELECT btml.sumprod('plain');
DROP TABLE pg_temp.plain;
SET search_path = source;

-- One SELECT in any of its forms.
SELECT btml.sumprod('SELECT id, weight FROM plain');
SELECT btml.sumprod('SELECT id FROM plain;');
SELECT btml.sumprod('-- a comment
    select /* another */ id from plain');
SELECT btml.sumprod('(SELECT id FROM plain)');
SELECT btml.sumprod('TABLE doubled');
SELECT btml.sumprod('VALUES (1, 2), (3, 4)');
SELECT btml.sumprod('VALUES (5)');
SELECT btml.sumprod('SELECT 6');
SELECT btml.sumprod('SELECT');
SELECT btml.sumprod('SELECT FROM plain WHERE id > 1');
SELECT btml.sumprod('SELECT id FROM plain UNION ALL SELECT 10');
SELECT btml.sumprod('WITH p AS (SELECT id FROM plain) SELECT p.id, q.id FROM p JOIN p AS q USING (id)');
SELECT btml.sumprod('WITH p AS (SELECT id FROM plain), q AS (SELECT id + 1 AS id FROM p) SELECT p.id, q.id AS x FROM p, q');
SELECT btml.sumprod('WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT i FROM n');
SELECT btml.sumprod('SELECT id FROM plain ORDER BY weight LIMIT 1');

-- Everything else is refused before any work.
SELECT btml.sumprod(NULL);
SELECT btml.sumprod('');
SELECT btml.sumprod('   ');
SELECT btml.sumprod('-- nothing');
SELECT btml.sumprod('SELECT 1; SELECT 2');
SELECT btml.sumprod('SELECT 1; DROP TABLE plain');
SELECT btml.sumprod('INSERT INTO plain VALUES (3) RETURNING id');
SELECT btml.sumprod('UPDATE plain SET id = 0');
SELECT btml.sumprod('DELETE FROM plain');
SELECT btml.sumprod('TRUNCATE plain');
SELECT btml.sumprod('EXPLAIN SELECT 1');
SELECT btml.sumprod('COPY plain TO STDOUT');
SELECT btml.sumprod('WITH gone AS (DELETE FROM plain RETURNING id) SELECT id FROM gone');
SELECT btml.sumprod('SELECT id INTO copied FROM plain');
SELECT btml.sumprod('SELECT id FROM plain FOR UPDATE');
SELECT btml.sumprod('SELECT id FROM (SELECT id FROM plain FOR SHARE) AS p');
SELECT btml.sumprod('WITH p AS (SELECT id FROM plain FOR KEY SHARE) SELECT id FROM p');
SELECT btml.sumprod('SELECT id FROM plain WHERE id = $1');
SELECT btml.sumprod('SELECT idd FROM plain');
SELECT btml.sumprod('SELECT id FROM plain p JOIN doubled d ON p.id = d.idd');
SELECT btml.sumprod('SELEC id FROM plain');
SELECT btml.sumprod('SELECT id FROM plain WHERE');
SELECT count(*) FROM plain;

-- An error of the source's own.
SELECT btml.sumprod('SELECT 1 / (id - 1) AS f FROM plain');

-- Column names are exact.
SELECT * FROM btml.sumprod_by('plain', '{Mixed Case}') AS t (g int, value float8);
SELECT * FROM btml.sumprod_by('plain', '{mixed case}') AS t (g int, value float8);
SELECT * FROM btml.sumprod_by('plain', '{wieght}') AS t (g int, value float8);
SELECT * FROM btml.sumprod_by('plain', '{nothing_like_it}') AS t (g int, value float8);
SELECT * FROM btml.sumprod_by('SELECT FROM plain', '{id}') AS t (g int, value float8);
SELECT * FROM btml.sumprod_by('SELECT id, id FROM plain', '{id}') AS t (g int, value float8);

-- Dropped and generated columns.
CREATE TABLE columns (gone text, a int, b int GENERATED ALWAYS AS (a * 10) STORED, c int);
INSERT INTO columns (a, c) VALUES (1, 2), (3, 4);
ALTER TABLE columns DROP gone;
SELECT btml.sumprod('columns'), btml.sumprod('SELECT b FROM columns');
ALTER TABLE columns ADD d int DEFAULT 5;
SELECT btml.sumprod('columns');

-- Integers that no double holds are told of, once for each column; numerics of few digits, and what is no number there, are not.
CREATE TABLE large AS SELECT i, 9007199254740990 + i AS id, 10::numeric ^ 20 + i AS y, -9223372036854775807 + i % 2 AS least,
    9223372036854775807 AS greatest, i * 10::numeric ^ 30 AS few, ARRAY[1, 9007199254740992 + i] AS x FROM generate_series(1, 6) i;
SET client_min_messages = notice;
SELECT btml.boost_fit('large', 'y', 1, features => '{id,least,greatest,few}') IS NOT NULL AS fitted;
SELECT btml.boost_fit('SELECT id, i FROM large', 'i', 1, categorical => '{id}') IS NOT NULL AS fitted;
SELECT count(*) FROM btml.density('large', 'SELECT x FROM large LIMIT 1', 1);
SELECT count(*) FROM btml.kernel_regression('SELECT i, y FROM large', 'y', 'SELECT 9007199254740993 AS i', 1);
SELECT count(*) FROM btml.exemplars('SELECT id AS a FROM large', 2, passes => 3);
SELECT (btml.approx_sum('SELECT id FROM large')).std_error;
SELECT count(btml.predict(model, l)) FROM large l, btml.boost_fit('SELECT i AS id, i AS y FROM large', 'y', 1) model;
SET client_min_messages = warning;

-- Errors of the boundary leave a session that works.
SELECT btml.sumprod('SELECT id FROM plain');
DROP SCHEMA source, other CASCADE;
