-- The examples of contrib_docs/kernel.md.

CREATE TABLE tree AS
SELECT n AS id, 10 * sin(n * 0.7) + 3 * sin(n * 1.3) AS east, 10 * cos(n * 0.7) + 3 * sin(n * 2.9) AS north,
       12 + 5 * sin(n * 0.35) + n % 7 / 10.0 AS height
FROM generate_series(1, 2000) n;

CREATE TABLE place (id text, east float8, north float8);
INSERT INTO place VALUES ('middle', 0, 0), ('ring', 10, 0), ('far', 40, 40);

SELECT s.id, round(s.value::numeric, 3) AS near, round(d.value::numeric, 6) AS density
FROM btml.kernel_sum('SELECT id, east, north FROM tree', 'place', bandwidth => 1.5) s
JOIN btml.density('SELECT east, north FROM tree', 'place', bandwidth => 1.5) d USING (id) ORDER BY 1;

SELECT id, round(value::numeric, 2) AS height
FROM btml.kernel_regression('SELECT east, north, height FROM tree', 'height', 'place', bandwidth => 1.5) ORDER BY 1;

SELECT id, round(value::numeric, 2) AS height
FROM btml.kernel_regression('SELECT east, north, height FROM tree', 'height', 'place') ORDER BY 1;

CREATE TABLE token AS
SELECT n AS id, (SELECT array_agg(sin(n * 0.37 * i) + cos(n * 1.1 + i) ORDER BY i) FROM generate_series(1, 8) i) AS embedding,
       ARRAY[sin(n * 0.2), cos(n * 0.2)] AS state
FROM generate_series(1, 200) n;

SELECT id, round(value[1]::numeric, 4) AS first, round(value[2]::numeric, 4) AS second
FROM btml.attention('SELECT embedding AS x, state FROM token', 'SELECT id, embedding AS x FROM token WHERE id <= 3', 'state');

WITH norm AS (
    SELECT id, embedding, (SELECT sum(u * u) FROM unnest(embedding) u) / (2 * sqrt(8)) AS half FROM token
), most AS (SELECT max(half) AS half FROM norm)
SELECT s.id, round(s.value::numeric, 4) AS number, round((n.half + most.half)::numeric, 3) AS times_e_to_the
FROM btml.kernel_sum($$
        SELECT t.embedding AS x, exp((SELECT sum(u * u) FROM unnest(t.embedding) u) / (2 * sqrt(8)) - (
            SELECT max((SELECT sum(u * u) FROM unnest(o.embedding) u)) / (2 * sqrt(8)) FROM token o)) AS weight
        FROM token t $$,
    'SELECT id, embedding AS x FROM token WHERE id <= 3', bandwidth => sqrt(sqrt(8))) s
JOIN norm n ON n.id::text = s.id, most ORDER BY n.id;

CREATE TABLE vector AS SELECT id, east, north, 1.0::float8 AS weight FROM tree;

DO $$ BEGIN
    FOR step IN 1 .. 8 LOOP
        UPDATE vector SET weight = product.value / product.norm
        FROM (SELECT id, value, sqrt(sum(value ^ 2) OVER ()) AS norm FROM btml.kernel_sum('vector', 'vector', bandwidth => 1.5)) product
        WHERE product.id = vector.id::text;
    END LOOP;
END $$;

SELECT round(sum(s.value * v.weight)::numeric, 2) AS eigenvalue
FROM btml.kernel_sum('vector', 'vector', bandwidth => 1.5) s JOIN vector v ON v.id::text = s.id;

SELECT prefix, round(tail_ratio::numeric, 2) AS tail_ratio, round(nth_to_next::numeric, 3) AS nth_to_next
FROM btml.kernel_tail_profile('SELECT embedding AS x FROM token', 'SELECT embedding AS x FROM token', bandwidth => 2);

SELECT place, near::numeric(9, 3)
FROM (SELECT btml.kernel_sum_agg(ARRAY[east, north], 1, '{0,0, 10,0, 40,40}', 1.5, 'gaussian') AS sums FROM tree) s,
     unnest('{middle,ring,far}'::text[], sums) u(place, near);

DROP TABLE tree, place, token, vector;
