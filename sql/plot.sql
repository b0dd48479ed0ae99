-- btml.plot: structure, marks, options, odd values and errors.
SET datestyle = 'ISO';
SET timezone = 'UTC';

CREATE TABLE curve AS SELECT i AS x, i * i AS y, CASE WHEN i < 4 THEN 'a' ELSE 'b' END AS series FROM generate_series(0, 6) i;
-- The lines of a picture without its style sheet.
CREATE FUNCTION lines(svg text) RETURNS SETOF text LANGUAGE sql AS
$$ SELECT line FROM regexp_split_to_table(regexp_replace(svg, '<style>.*</style>', '<style></style>'), '\n') line $$;
-- How many elements of each class there are, and what the picture says of itself.
CREATE FUNCTION parts(svg text, OUT classes text, OUT description text) LANGUAGE sql AS $$
SELECT (SELECT string_agg(class || ' ' || n, ', ' ORDER BY class COLLATE "C")
        FROM (SELECT m[1] AS class, count(*) AS n FROM regexp_matches(svg, '<(?:path|circle|g) class="(\w+)"', 'g') m
              WHERE m[1] NOT IN ('ink', 'muted', 'grid') GROUP BY 1) c),
       substring(svg FROM '<desc[^>]*>(.*)</desc>') $$;

SELECT lines(btml.plot('curve', title => 'Two series', x_label => 'x & <y>', y_label => 'squares', width => 320, height => 200));
SELECT btml.plot('curve') LIKE '<svg xmlns="http://www.w3.org/2000/svg" class="btml-plot" width="640" height="400"%</svg>' AS whole,
       btml.plot('curve') LIKE '%prefers-color-scheme:dark%' AS dark, btml.plot('curve') ~ '(href|<script|@import|url\()' AS fetches;

-- Every mark, and each row's own.
SELECT m.mark, p.* FROM unnest('{line,step,area,point,bar,box}'::text[]) m(mark),
    LATERAL parts(btml.plot('SELECT x, y FROM curve', m.mark)) p;
SELECT * FROM parts(btml.plot('SELECT x, y - 1 AS lower, y + 1 AS upper FROM curve', 'band'));
SELECT * FROM parts(btml.plot('SELECT x, x AS y, y AS value FROM curve', 'heatmap'));
SELECT * FROM parts(btml.plot($$
    SELECT x, y, y - 2 AS lower, y + 2 AS upper, NULL AS label, 'mean' AS series, 'line' AS mark FROM curve
    UNION ALL SELECT x, y + 1, NULL, NULL, 'row ' || x, 'data', 'point' FROM curve
    UNION ALL SELECT x, y, NULL, NULL, NULL, NULL, NULL FROM curve $$, 'step'));
SELECT * FROM parts(btml.plot('SELECT x, y, y AS size, x AS value FROM curve', 'point'));
SELECT * FROM parts(btml.plot('SELECT series AS x, y, y - 1 AS lower, y + 1 AS upper FROM curve', 'bar'));
SELECT * FROM parts(btml.plot('SELECT x, series AS y FROM curve', 'point'));
SELECT * FROM parts(btml.plot('SELECT x > 2 AS x, y FROM curve', 'box'));

-- Axes.
CREATE FUNCTION ticks(svg text) RETURNS text LANGUAGE sql AS
$$ SELECT string_agg(m[1], ' | ') FROM regexp_matches(svg, '<text (?:x|transform)[^>]*>([^<]*)</text>', 'g') m $$;
SELECT ticks(btml.plot('SELECT 10.0 ^ i AS x, 10.0 ^ -i AS y FROM generate_series(0, 4) i', x_scale => 'log', y_scale => 'log'));
SELECT ticks(btml.plot('SELECT date ''2020-01-31'' + i AS x, i AS y FROM generate_series(0, 60) i'));
SELECT ticks(btml.plot('SELECT timestamptz ''2020-01-31 12:00+00'' + i * interval ''1 minute'' AS x, i AS y
    FROM generate_series(0, 300, 60) i'));
SET timezone = 'Asia/Kolkata';
SELECT ticks(btml.plot('SELECT timestamptz ''2020-01-31 12:00+00'' + i * interval ''1 minute'' AS x, i AS y
    FROM generate_series(0, 300, 60) i'));
SET timezone = 'UTC';
SELECT ticks(btml.plot('SELECT time ''08:00'' + i * interval ''1 hour'' AS x, timestamp ''2020-01-01'' + i * interval ''1 year'' AS y
    FROM generate_series(0, 9) i', 'point'));
SELECT ticks(btml.plot('SELECT i * 1e8 AS x, i * 1e-8 AS y FROM generate_series(0, 5) i', height => 200));
SELECT ticks(btml.plot('SELECT ''category number '' || i AS x, i AS y FROM generate_series(1, 20) i', 'point'));
SELECT ticks(btml.plot('SELECT ''category number '' || i AS x, i AS y FROM generate_series(1, 60) i', 'bar', height => 300));

-- Odd values.
SELECT ticks(btml.plot('SELECT x, y FROM curve WHERE false', title => 'Nothing'));
SELECT * FROM parts(btml.plot('SELECT x, y, mark FROM (SELECT 1 AS x, 2 AS y, ''bar'' AS mark) s WHERE false'));
SELECT ticks(btml.plot('SELECT 3 AS x, 5 AS y', 'point'));
SELECT ticks(btml.plot('SELECT i AS x, 7 AS y FROM generate_series(1, 5) i'));
SELECT ticks(btml.plot('SELECT 0 AS x, 0 AS y', 'bar'));
SELECT * FROM parts(btml.plot($$ SELECT *
    FROM (VALUES (1::float8, 1::float8), (2, NULL), (3, 'NaN'), (4, 'Infinity'), (NULL, 2), ('-Infinity', 3), (7, 7)) v(x, y) $$));
SELECT * FROM parts(btml.plot($$ SELECT *
    FROM (VALUES (1::float8, 1::float8), (2, NULL), (3, 'NaN'), (4, 'Infinity'), (NULL, 2), (-7, 7)) v(x, y) $$, 'point',
    x_scale => 'log'));
SELECT * FROM parts(btml.plot($$ SELECT timestamp 'infinity' AS x, 1 AS y UNION ALL SELECT '2020-01-01', 2 $$, 'point'));
SELECT * FROM parts(btml.plot($$ SELECT i AS x, i AS y, -i AS size, 'NaN'::float8 AS value, i - 1 AS lower, NULL::float8 AS upper
    FROM generate_series(0, 3) i $$, 'point'));
SELECT * FROM parts(btml.plot($$ SELECT i AS x, i AS y, i - 2 AS lower, i + 1 AS upper FROM generate_series(1, 3) i $$, 'point',
    y_scale => 'log'));
SELECT * FROM parts(btml.plot($$ SELECT i * 1e308::float8 AS x, i * 1e-320::float8 AS y FROM generate_series(-1, 1) i $$, 'line'));
SELECT * FROM parts(btml.plot('SELECT 1 AS x, 2 AS y FROM generate_series(1, 3)', 'bar'));

-- Texts are a user's data.
SELECT lines FROM lines(btml.plot($$ SELECT '</text><script>alert(1)</script>' AS x, 1 AS y,
    E'"&\x01\n\u05e9' AS series, '<b>' AS label $$, 'bar',
    title => '</title><script>alert(2)</script>', x_label => E'a\tb', y_label => repeat('w', 1000)))
    WHERE lines ~ 'script|#x|www|#60;b' AND lines !~ '<style>';
SELECT length(btml.plot('SELECT repeat(''long '', 100000) || i AS x, i AS y, repeat(''label'', 100000) AS label, repeat(''s'', 100000)
    AS series FROM generate_series(1, 3) i', 'bar')) < 15000 AS cut;

-- The order of rows means nothing but for that of categories and series.
SELECT m.mark, btml.plot('SELECT x, y, y - 1 AS lower, y + 1 AS upper, y AS value, x::text AS label FROM curve ORDER BY x', m.mark)
             = btml.plot('SELECT x, y, y - 1 AS lower, y + 1 AS upper, y AS value, x::text AS label FROM curve ORDER BY x % 4, y DESC',
             m.mark) AS same
FROM unnest('{line,step,area,band,point,bar,box,heatmap}'::text[]) m(mark);
SELECT ticks(btml.plot('SELECT * FROM (VALUES (''b'', 1), (''a'', 2)) v(x, y)', 'bar'));

-- Many rows are binned.
CREATE TABLE many AS SELECT hashint4(i) / 2147483648.0::float8 AS x, hashint4(i + 100000) / 2147483648.0::float8 AS y
    FROM generate_series(1, 100000) i;
SELECT m.mark, length(btml.plot('SELECT x, y, y - 1 AS lower, y + 1 AS upper, x AS value FROM many', m.mark)) / 100000 AS hundred_kb
FROM unnest('{line,step,area,band,point,bar,heatmap}'::text[]) m(mark);
SELECT * FROM parts(btml.plot('many', 'point'));
SELECT * FROM parts(btml.plot('SELECT round(x::numeric, 1)::text AS x, y FROM many', 'point'));
SELECT description FROM parts(btml.plot('SELECT x, y, x::text AS label FROM many LIMIT 5000', 'point'));
SET btml.memory_limit = '1MB';
SELECT btml.plot('many');
RESET btml.memory_limit;

-- Errors.
SELECT btml.plot(NULL);
SELECT btml.plot('nowhere');
SELECT btml.plot('curve', NULL);
SELECT btml.plot('curve', 'dots');
SELECT btml.plot('curve', 'scatter');
SELECT btml.plot('curve', x_scale => 'log10');
SELECT btml.plot('curve', y_scale => NULL);
SELECT btml.plot('curve', width => 20);
SELECT btml.plot('curve', width => NULL);
SELECT btml.plot('curve', height => 10000);
SELECT btml.plot('SELECT y FROM curve');
SELECT btml.plot('SELECT x FROM curve');
SELECT btml.plot('SELECT x, y FROM curve', 'band');
SELECT btml.plot('SELECT x, y FROM curve', 'heatmap');
SELECT btml.plot('SELECT x, y, series AS seires FROM curve');
SELECT btml.plot('SELECT x, y, y AS weight FROM curve');
SELECT btml.plot('SELECT x, y, x FROM curve');
SELECT btml.plot('SELECT x, y, ''dot'' AS mark FROM curve');
SELECT btml.plot('SELECT x, y, CASE x WHEN 5 THEN ''band'' END AS mark FROM curve');
SELECT btml.plot('SELECT x, series AS y FROM curve');
SELECT btml.plot('SELECT x, series AS y FROM curve', 'bar');
SELECT btml.plot('SELECT x, y > 3 AS y FROM curve');
SELECT btml.plot('SELECT x, date ''2020-01-01'' + x AS y FROM curve', 'area');
SELECT btml.plot('SELECT interval ''1 day'' * x AS x, y FROM curve');
SELECT btml.plot('SELECT x, y, series AS lower FROM curve');
SELECT btml.plot('SELECT x, y, date ''2020-01-01'' AS lower FROM curve');
SELECT btml.plot('SELECT x, y, series AS value FROM curve');
SELECT btml.plot('SELECT x, y, true AS size FROM curve');
SELECT btml.plot('SELECT series AS x, y FROM curve', x_scale => 'log');
SELECT btml.plot('SELECT x, date ''2020-01-01'' AS y FROM curve', y_scale => 'log');
SELECT btml.plot('SELECT x::text AS x, y FROM many', 'bar');
SELECT btml.plot('SELECT x, y, x AS series FROM many');
SELECT btml.plot('SELECT x, y FROM many', 'box');
SELECT btml.plot('SELECT x, 1 / (y - 4) AS y FROM curve');

DROP TABLE curve, many;
DROP FUNCTION lines, parts, ticks;
