-- The examples of contrib_docs/exemplar.md.
CREATE TABLE image AS
SELECT id, array_agg(CASE WHEN ink THEN 1 ELSE 0 END
                     + 0.6 * ((id * 7919 + x * 104729 + y * 1299709) % 101 / 101.0 - 0.5) ORDER BY y, x)::float8[] AS x
FROM (SELECT id, x, y, CASE id % 5 WHEN 0 THEN x IN (3, 4) WHEN 1 THEN y IN (3, 4) WHEN 2 THEN abs(x - y) < 2
                       WHEN 3 THEN x IN (0, 7) OR y IN (0, 7) ELSE (x + y) % 7 = 0 END AS ink
      FROM generate_series(1, 2000) id, generate_series(0, 7) x, generate_series(0, 7) y
      WHERE id % 5 < 2 OR id % 3 > 0) pixel
GROUP BY id ORDER BY id;

CREATE TABLE exemplar AS SELECT * FROM btml.exemplars('image', 5, passes => 2);
SELECT slot, members, round(mean_dissimilarity::numeric, 2) AS mean_dissimilarity, round(utility::numeric, 2) AS utility
FROM exemplar ORDER BY slot;

SELECT string_agg((SELECT string_agg(CASE WHEN x[8 * y + i] > 0.5 THEN '#' ELSE '.' END, '' ORDER BY i)
                   FROM generate_series(1, 8) i), '  ' ORDER BY slot) AS exemplars
FROM exemplar, generate_series(0, 7) y GROUP BY y ORDER BY y;

SELECT btml.nearest_exemplar(i.x, e.list) AS exemplar, count(*) AS images
FROM image i, (SELECT jsonb_agg(jsonb_build_object('id', slot, 'x', x)) AS list FROM exemplar) e
GROUP BY 1 ORDER BY 1;

SELECT validation, round(min(utility)::numeric, 2) AS utility, round(min(utility_std_error)::numeric, 2) AS std_error
FROM unnest('{50,5000}'::int[]) validation, btml.exemplars('image', 5, validation => validation)
GROUP BY validation ORDER BY validation;

CREATE TABLE reading AS
SELECT id, hour, outdoor, 20 + 10 * sin(hour / 24 * 2 * pi()) + 0.02 * (outdoor - 18) ^ 2
    + (id * 7919 % 101 + id * 10473 % 97 + id * 15485 % 89 - 142) / 40.0 AS load
FROM (SELECT n AS id, (n * 37 % 240) / 10.0 AS hour, (n * 53 % 350) / 10.0 - 5 AS outdoor FROM generate_series(1, 3000) n) s;

CREATE TABLE active AS
SELECT * FROM btml.exemplars('SELECT id, hour, outdoor, load FROM reading', 50, objective => 'prediction',
                             target => 'load', validation => 500);

SELECT rows, round(sqrt(avg((r.load - btml.predict(m.model, r)) ^ 2))::numeric, 2) AS rmse
FROM (SELECT 'active set' AS rows, btml.gp_fit('SELECT hour, outdoor, load FROM reading
                                                JOIN active ON active.id = reading.id::text', 'load') AS model
      UNION ALL SELECT 'other rows', btml.gp_fit('SELECT hour, outdoor, load FROM reading WHERE id <= 50', 'load')
      UNION ALL SELECT 'all rows', btml.gp_fit('SELECT hour, outdoor, load FROM reading', 'load')) m, reading r
GROUP BY rows ORDER BY rmse;

CREATE FUNCTION edits(a text, b text) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    before int[] := ARRAY(SELECT generate_series(0, length(b)));
    after int[];
BEGIN
    FOR i IN 1..length(a) LOOP
        after := ARRAY[i];
        FOR j IN 1..length(b) LOOP
            after := after || least(before[j + 1] + 1, after[j] + 1,
                                    before[j] + CASE WHEN substr(a, i, 1) = substr(b, j, 1) THEN 0 ELSE 1 END);
        END LOOP;
        before := after;
    END LOOP;
    RETURN before[length(b) + 1];
END $$;
CREATE TABLE word AS
SELECT w AS id, w AS x FROM unnest('{postgres,postgre,postgers,postgress,posgres,exemplar,examplar,exemplars,exempler,
    stream,streams,steam,strem,straem}'::text[]) w;

SELECT id, members, round(mean_dissimilarity::numeric, 2) AS mean_edits
FROM btml.exemplars('word', 3, dissimilarity => 'edits(text,text)', passes => 3) ORDER BY id;

SELECT part, jsonb_array_length(e) AS exemplars, e->0->'id' AS first, (SELECT sum((o->>'members')::float8)
    FROM jsonb_array_elements(e) o) AS images
FROM (SELECT id % 2 AS part, btml.exemplars_agg(id, x, 5) AS e FROM image GROUP BY 1) s ORDER BY part;

DROP TABLE image, exemplar, reading, active, word;
DROP FUNCTION edits(text, text);
