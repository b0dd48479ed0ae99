-- What btml.explain_join says of a source.
SET client_min_messages = warning;
CREATE SCHEMA explain_join;
SET search_path = explain_join;
CREATE TABLE a (x int, y int, v float8);
CREATE TABLE b (x int, y int, w float8);
CREATE TABLE c (x int, z int, u float8);
INSERT INTO a SELECT i % 10, i % 7, i FROM generate_series(1, 100) i;
INSERT INTO b SELECT i, i % 3, i FROM generate_series(0, 19) i;
INSERT INTO c VALUES (1, 1, 1), (2, 7, 2), (NULL, 0, 3);
CREATE VIEW joined AS SELECT a.x, v, w FROM a JOIN b ON a.x = b.x AND b.y > 0 WHERE a.y <> 3;

SELECT * FROM btml.explain_join('a');
SELECT * FROM btml.explain_join('SELECT v FROM a WHERE y > 2 AND x IS NOT NULL');
SELECT * FROM btml.explain_join('joined');
SELECT * FROM btml.explain_join('SELECT FROM a JOIN b USING (x)');
SELECT * FROM btml.explain_join('SELECT FROM a JOIN b USING (x, y) JOIN c ON c.z = b.y AND c.u < 2');
SELECT * FROM btml.explain_join('SELECT FROM a JOIN c ON a.x + 1 = c.x * 2');
SELECT * FROM btml.explain_join('SELECT FROM a, c');
SELECT * FROM btml.explain_join('SELECT FROM a AS p, a AS "Q" WHERE p.x = "Q".y');
SELECT * FROM btml.explain_join('SELECT FROM a LEFT JOIN b ON a.x = b.x AND b.w > 3 LEFT JOIN c ON b.y = c.z');
SELECT * FROM btml.explain_join('SELECT FROM b RIGHT JOIN a ON a.x = b.x');
SELECT * FROM btml.explain_join('SELECT FROM a WHERE false');
SELECT * FROM btml.explain_join('SELECT FROM a JOIN b USING (x) WHERE a.x = -1');
SELECT * FROM btml.explain_join('SELECT FROM a JOIN b USING (x) WHERE EXISTS (SELECT FROM c WHERE c.x = a.x)');
SELECT * FROM btml.explain_join('SELECT 1');

-- Why something was not factorised.
SELECT source, line FROM unnest(ARRAY[
    'SELECT a.v * b.w AS p, u FROM a JOIN b USING (x) JOIN c USING (x)',
    'SELECT FROM a JOIN b ON a.x < b.x',
    'SELECT FROM a JOIN b USING (x) JOIN c ON a.y + b.y = c.z',
    'SELECT FROM a LEFT JOIN b ON a.x = b.x WHERE b.x IS NULL',
    'SELECT FROM a LEFT JOIN b ON a.x = b.x AND a.y > 3',
    'SELECT FROM a LEFT JOIN (b JOIN c ON b.y = c.z) ON a.x = b.x',
    'SELECT (SELECT count(*) FROM c WHERE c.x = b.x) AS n FROM a LEFT JOIN b ON a.x = b.x',
    'SELECT FROM a FULL JOIN b ON a.x = b.x',
    'SELECT FROM a, LATERAL (SELECT FROM b WHERE b.x = a.x LIMIT 1) AS s',
    'SELECT count(*) AS n FROM a',
    'SELECT DISTINCT x FROM a',
    'SELECT x FROM a UNION SELECT x FROM b',
    'SELECT rank() OVER (ORDER BY x) AS r FROM a',
    'SELECT FROM a LIMIT 3',
    'SELECT FROM a OFFSET 3',
    'SELECT generate_series(1, 2) AS g FROM a',
    'WITH s AS MATERIALIZED (SELECT * FROM a) SELECT FROM s',
    'SELECT 1 AS one',
    'SELECT FROM a WHERE random() < 2']) WITH ORDINALITY AS s (source, number), btml.explain_join(source) AS line
    WHERE line ~ 'Not factorised' ORDER BY number;

-- Columns that the source outputs need not be numbers, and none is read.
SELECT * FROM btml.explain_join('SELECT ''text'' AS t, ARRAY[x] AS l, a FROM a');
SELECT btml.explain_join('SELECT 1 / (x - x) AS e FROM a');
SELECT * FROM btml.explain_join('SELECT FROM a, b, c WHERE a.x = b.x AND b.y = c.z AND c.x = a.y');
SELECT * FROM btml.explain_join(NULL);
SELECT * FROM btml.explain_join('SELECT nothing FROM a');
DROP SCHEMA explain_join CASCADE;
