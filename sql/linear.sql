-- Linear models: coefficients as NIST, R and statsmodels have them, what they say, and what they refuse.
SET client_min_messages = warning;
CREATE SCHEMA linear;
SET search_path = linear, public;

-- NIST's reference set "longley", whose certified values R's lm has, too.
CREATE TABLE longley (employed float8, deflator float8, gnp float8, unemployed float8, armed float8, population float8, year float8);
INSERT INTO longley VALUES (60323, 83.0, 234289, 2356, 1590, 107608, 1947), (61122, 88.5, 259426, 2325, 1456, 108632, 1948),
    (60171, 88.2, 258054, 3682, 1616, 109773, 1949), (61187, 89.5, 284599, 3351, 1650, 110929, 1950),
    (63221, 96.2, 328975, 2099, 3099, 112075, 1951), (63639, 98.1, 346999, 1932, 3594, 113270, 1952),
    (64989, 99.0, 365385, 1870, 3547, 115094, 1953), (63761, 100.0, 363112, 3578, 3350, 116219, 1954),
    (66019, 101.2, 397469, 2904, 3048, 117388, 1955), (67857, 104.6, 419180, 2822, 2857, 118734, 1956),
    (68169, 108.4, 442769, 2936, 2798, 120445, 1957), (66513, 110.8, 444546, 4681, 2637, 121950, 1958),
    (68655, 112.6, 482704, 3813, 2552, 123366, 1959), (69564, 114.2, 502601, 3931, 2514, 125368, 1960),
    (69331, 115.7, 518173, 4806, 2572, 127852, 1961), (70551, 116.9, 554894, 4007, 2827, 130081, 1962);
CREATE TABLE models (name text PRIMARY KEY, model btml.model);
INSERT INTO models VALUES ('longley', btml.linear_fit('longley', 'employed'));
SELECT btml.describe(model) FROM models;
-- A model travels as text and bytes, and predicts the same of rows and arrays.
SELECT model::text::btml.model OPERATOR(btml.=) model AS text, model::bytea::btml.model OPERATOR(btml.=) model AS bytes FROM models;
SELECT bool_and(btml.predict(model, l.*) = btml.predict(model, ARRAY[deflator, gnp, unemployed, armed, population, year])) AS arrays,
    round(sum((employed - btml.predict(model, l.*)) ^ 2)::numeric) AS squares FROM models, longley l;
SELECT bool_and(abs(btml.predict(model, l.*) - (SELECT sum(contribution) FROM btml.explain(model, l.*))) < 1e-6) AS explained,
    bool_and(abs(btml.predict(model, l.*) - (SELECT sum(x) FROM unnest(btml.shap(model, l.*)) x)) < 1e-6) AS shap FROM models, longley l;

-- Rows of any order give the same bits, and so do any number of threads and a view.
SET btml.threads = 1;
SELECT btml.linear_fit('SELECT * FROM longley ORDER BY gnp DESC', 'employed')::bytea
    = btml.linear_fit('SELECT * FROM longley ORDER BY armed', 'employed')::bytea AS same;
RESET btml.threads;
SELECT btml.linear_fit('SELECT * FROM longley ORDER BY armed', 'employed')
    OPERATOR(btml.=) model AS same FROM models WHERE name = 'longley';

-- What R's lm and glm converge to for data of these formulas, Dobson's counts (1990) and McCullagh's and Nelder's times of clotting (1989).
CREATE TABLE made AS SELECT i, (i * 7919 % 1000) / 100.0::float8 AS x, (i * 104729 % 997) / 100.0::float8 AS z,
    (ARRAY['a', 'b', 'c', 'a'])[1 + i % 4] AS kind FROM generate_series(1, 200) i;
CREATE TABLE task AS SELECT x, z, kind, (x + z + i % 5 > 12) AS yes, floor(x + i % 3)::int AS n, x * 2 + z + 1 + (i % 7) AS cost,
    1 + i % 3 AS w, i % 10 AS g FROM made;
CREATE TABLE collinear AS SELECT x, x + z AS sum, z, x AS again, 5 AS five, kind, CASE kind WHEN 'a' THEN 'even' ELSE 'odd' END AS odd,
    x * 2 + z + i % 3 AS y FROM made;
CREATE TABLE dobson AS SELECT n AS counts, 1 + (i - 1) % 3 || '' AS outcome, 1 + (i - 1) / 3 || '' AS treatment
FROM unnest('{18,17,15,20,10,20,25,13,12}'::int[]) WITH ORDINALITY t(n, i);
CREATE TABLE clotting AS SELECT ln(u) AS u, lot1 FROM unnest('{5,10,15,20,30,40,60,80,100}'::float8[],
    '{118,58,42,35,27,25,21,19,18}'::int[]) t(u, lot1);
INSERT INTO models SELECT family, btml.linear_fit('task', target, features => '{x,z,kind}', family => family)
FROM (VALUES ('binomial', 'yes'), ('poisson', 'n'), ('gamma', 'cost'), ('gaussian', 'cost')) AS t(family, target);
INSERT INTO models SELECT name, btml.linear_fit('task', target, features => '{x,z,kind}', family => family, std_error => std_error,
    weight => weight, group_by => group_by)
FROM (VALUES ('weighted', 'cost', 'gaussian', 'model', 'w', NULL), ('weighted counts', 'n', 'poisson', 'model', 'w', NULL),
    ('robust', 'cost', 'gaussian', 'robust', NULL, NULL), ('clustered', 'cost', 'gaussian', 'robust', NULL, 'g'),
    ('robust binomial', 'yes', 'binomial', 'robust', NULL, NULL), ('clustered gamma', 'cost', 'gamma', 'robust', NULL, 'g'))
    AS t(name, target, family, std_error, weight, group_by);
INSERT INTO models SELECT name, btml.linear_fit('task', 'cost', features => '{x,z}', penalty => 0.5, l1_ratio => l1_ratio)
FROM (VALUES ('ridge', 0), ('elastic net', 0.5), ('lasso', 1)) AS t(name, l1_ratio);
INSERT INTO models SELECT 'offset ' || family, btml.linear_fit('SELECT x, z, kind, ln(w) AS o, yes, n, cost FROM task', target,
    features => '{x,z,kind}', family => family, "offset" => 'o')
FROM (VALUES ('binomial', 'yes'), ('poisson', 'n'), ('gamma', 'cost'), ('gaussian', 'cost')) AS t(family, target);
INSERT INTO models VALUES ('collinear', btml.linear_fit('collinear', 'y')),
    ('dobson', btml.linear_fit('dobson', 'counts', family => 'poisson')),
    ('clotting', btml.linear_fit('clotting', 'lot1', family => 'gamma')),
    ('separable', btml.linear_fit('SELECT x > 5 AS y, x FROM task', 'y', penalty => 0.01));
CREATE FUNCTION near(found float8, expected float8, size float8 DEFAULT 0) RETURNS boolean LANGUAGE sql AS
'SELECT coalesce(abs(found - expected) <= 1e-8 * greatest(abs(expected), size), found IS NULL AND expected IS NULL)';
-- Robust errors are sandwich's, penalised estimates solve the equations of the penalised likelihood. R's NA is NULL.
CREATE TABLE r_coefficients (name text, term text, estimate float8, std_error float8);
INSERT INTO r_coefficients VALUES
    ('longley', '(intercept)', -3482258.63459582, 890420.383607368), ('longley', 'deflator', 15.0618722713749, 84.9149257747667),
    ('longley', 'gnp', -0.0358191792925914, 0.033491007772243), ('longley', 'unemployed', -2.02022980381683, 0.488399681651696),
    ('longley', 'armed', -1.03322686717359, 0.214274163161674), ('longley', 'population', -0.0511041056535786, 0.226073200069368),
    ('longley', 'year', 1829.15146461355, 455.478499142209), ('gaussian', '(intercept)', 3.94156654183313, 0.397629266572683),
    ('gaussian', 'x', 2.01145843717999, 0.0491924978445423), ('gaussian', 'z', 1.00260648379553, 0.0501636236938825),
    ('gaussian', 'kindb', -0.0522033025542159, 0.34892419502916), ('gaussian', 'kindc', -0.0339680598819631, 0.348967779462854),
    ('binomial', '(intercept)', -13.1693364970309, 2.20932937303207), ('binomial', 'x', 1.37286336090237, 0.235546268071477),
    ('binomial', 'z', 1.41559890652071, 0.240964764396182), ('binomial', 'kindb', -1.34234858055165, 0.707002994423547),
    ('binomial', 'kindc', -1.07111544745772, 0.68671872525981), ('poisson', '(intercept)', 0.576687305071249, 0.101289184879084),
    ('poisson', 'x', 0.193543032755637, 0.0114847680240845), ('poisson', 'z', 0.00324054137865782, 0.0105978281284086),
    ('poisson', 'kindb', -0.0123390142846994, 0.0740376521530523), ('poisson', 'kindc', -0.00847846552104623, 0.0733169247629022),
    ('gamma', '(intercept)', 1.98229662870225, 0.0299607083984429), ('gamma', 'x', 0.118293655085557, 0.00370657345223848),
    ('gamma', 'z', 0.0610073832853679, 0.00377974618079807), ('gamma', 'kindb', -0.00331053300869922, 0.0262908617128141),
    ('gamma', 'kindc', 0.00500289084479963, 0.0262941457278964), ('weighted', '(intercept)', 3.74281654481581, 0.398542171486794),
    ('weighted', 'x', 2.02642298839101, 0.0491494004473638), ('weighted', 'z', 1.02745369487861, 0.0499906356836636),
    ('weighted', 'kindb', -0.0252698803036376, 0.347918611382179), ('weighted', 'kindc', -0.0707081237903182, 0.348602564336872),
    ('weighted counts', '(intercept)', 0.736096394165296, 0.0676925421771849),
    ('weighted counts', 'x', 0.181286449605627, 0.00784206401975882), ('weighted counts', 'z', 0.00318486879298724, 0.00722570305852594),
    ('weighted counts', 'kindb', -0.0520400709495714, 0.0498337056599584),
    ('weighted counts', 'kindc', -0.0488111807645601, 0.0517429205109093), ('robust', '(intercept)', 3.94156654183313, 0.40482022437047),
    ('robust', 'x', 2.01145843717999, 0.0487487721138374), ('robust', 'z', 1.00260648379553, 0.0498271058274271),
    ('robust', 'kindb', -0.0522033025542159, 0.349372394261522), ('robust', 'kindc', -0.0339680598819631, 0.347910169129216),
    ('clustered', '(intercept)', 3.94156654183313, 0.263818936935585), ('clustered', 'x', 2.01145843717999, 0.0398598123466992),
    ('clustered', 'z', 1.00260648379553, 0.105347603004121), ('clustered', 'kindb', -0.0522033025542159, 0.287232990410092),
    ('clustered', 'kindc', -0.0339680598819631, 0.292901412458755),
    ('robust binomial', '(intercept)', -13.1693364970309, 1.73410649992873),
    ('robust binomial', 'x', 1.37286336090237, 0.186422268392487), ('robust binomial', 'z', 1.41559890652071, 0.190320095253872),
    ('robust binomial', 'kindb', -1.34234858055165, 0.70444709041185), ('robust binomial', 'kindc', -1.07111544745772, 0.745275019938459),
    ('clustered gamma', '(intercept)', 1.98229662870225, 0.0221855674299693),
    ('clustered gamma', 'x', 0.118293655085557, 0.00312245173674415), ('clustered gamma', 'z', 0.0610073832853679, 0.00637939990486909),
    ('clustered gamma', 'kindb', -0.00331053300869922, 0.0152936453354495),
    ('clustered gamma', 'kindc', 0.00500289084479963, 0.0236440959765319),
    ('collinear', '(intercept)', 0.998779563391584, 0.163145948957703), ('collinear', 'x', 1.00738754573282, 0.0285288398068113),
    ('collinear', 'sum', 0.996392372033484, 0.0205819658629167), ('collinear', 'z', NULL, NULL), ('collinear', 'again', NULL, NULL),
    ('collinear', 'five', NULL, NULL), ('collinear', 'kindb', 0.020594646631713, 0.143162422130036),
    ('collinear', 'kindc', -0.000694264488191564, 0.143180304676398), ('collinear', 'oddodd', NULL, NULL),
    ('dobson', '(intercept)', 3.04452243772342, 0.170898651856442), ('dobson', 'outcome2', -0.454255272277597, 0.202170759193846),
    ('dobson', 'outcome3', -0.292987124681475, 0.192742345159793), ('dobson', 'treatment2', -7.45123259868182e-16, 0.2),
    ('dobson', 'treatment3', -9.32587340685132e-16, 0.2), ('clotting', '(intercept)', 5.50323022751595, 0.190300924917368),
    ('clotting', 'u', -0.60191767174236, 0.0553078030326348), ('ridge', '(intercept)', 8.97042522393695, NULL),
    ('ridge', 'x', 1.33643052302693, NULL), ('ridge', 'z', 0.659211045351399, NULL),
    ('elastic net', '(intercept)', 7.6595823471571, NULL), ('elastic net', 'x', 1.53564836608473, NULL),
    ('elastic net', 'z', 0.723803341464849, NULL), ('lasso', '(intercept)', 5.68026452003602, NULL),
    ('lasso', 'x', 1.83513244882064, NULL), ('lasso', 'z', 0.822690457537797, NULL), ('separable', '(intercept)', -6.2199890554997, NULL),
    ('separable', 'x', 1.24127012958511, NULL),
    ('offset gaussian', '(intercept)', 3.34270142115329, 0.408594132596964),
    ('offset gaussian', 'x', 2.00951048665811, 0.0505490105401855), ('offset gaussian', 'z', 1.00473383993117, 0.051546915768525),
    ('offset gaussian', 'kindb', -0.0635752035705888, 0.358545989431021),
    ('offset gaussian', 'kindc', -0.0307703589473142, 0.35859077573167),
    ('offset binomial', '(intercept)', -14.2342488415088, 2.23448635385068),
    ('offset binomial', 'x', 1.41324799233824, 0.237843839656204), ('offset binomial', 'z', 1.47246485273111, 0.244592913684733),
    ('offset binomial', 'kindb', -1.36179481203714, 0.720861448818727),
    ('offset binomial', 'kindc', -1.09065240706606, 0.697091914216518),
    ('offset poisson', '(intercept)', -0.120948748994921, 0.100225471199446),
    ('offset poisson', 'x', 0.193406785338488, 0.0115438841007839), ('offset poisson', 'z', 0.0045797177066988, 0.0105648436174002),
    ('offset poisson', 'kindb', -0.11078445917766, 0.0745968814336147),
    ('offset poisson', 'kindc', 0.0682152277833779, 0.0732689766557387),
    ('offset gamma', '(intercept)', 1.50032880059872, 0.0993175695611895), ('offset gamma', 'x', 0.114134129639407, 0.0122870214475798),
    ('offset gamma', 'z', 0.0615703489611355, 0.0125295837215438), ('offset gamma', 'kindb', 0.00627696460743284, 0.087152294674105),
    ('offset gamma', 'kindc', 0.0237482989237699, 0.0871631809452852);
SELECT name, term, r.estimate, c.estimate AS found, r.std_error, c.std_error AS found
FROM r_coefficients r FULL JOIN (SELECT name, feature || coalesce(category, '') AS term, c.* FROM models, btml.coefficients(model) c) c
    USING (name, term)
WHERE r.name IS NULL OR c.name IS NULL OR NOT near(c.estimate, r.estimate, r.std_error / 10) OR NOT near(c.std_error, r.std_error)
    OR NOT near(c.statistic, r.estimate / r.std_error, 0.1);
CREATE TABLE r_metrics (name text, metrics jsonb);
INSERT INTO r_metrics VALUES
    ('longley', '{"deviance": 836424.055505907, "r_squared": 0.995479004577296, "adjusted_r_squared": 0.992465007628826,
        "dispersion": 92936.006167323, "log_likelihood": -109.61743480848, "aic": 235.234869616961}'),
    ('gaussian', '{"deviance": 789.661272523974, "r_squared": 0.912896211358625, "adjusted_r_squared": 0.911109466976238,
        "dispersion": 4.04954498730243, "log_likelihood": -421.116378441769, "aic": 854.232756883538}'),
    ('binomial', '{"deviance": 85.4576419068088, "null_deviance": 277.178866889791, "dispersion": 1,
        "log_likelihood": -42.7288209534044, "aic": 95.4576419068088, "deviance_explained": 0.69168774349313}'),
    ('poisson', '{"deviance": 74.4026547396999, "null_deviance": 387.384100328171, "dispersion": 1,
        "log_likelihood": -369.75576900622, "aic": 749.511538012439, "deviance_explained": 0.807935703409949}'),
    ('gamma', '{"deviance": 4.9331739723187, "null_deviance": 31.1987530839606, "dispersion": 0.0229907796557784,
        "log_likelihood": -485.863124841829, "aic": 983.726249683658, "deviance_explained": 0.841879130263867}'),
    ('weighted', '{"deviance": 1574.8142651326, "r_squared": 0.915534363541074, "adjusted_r_squared": 0.913801735100891,
        "dispersion": 8.0759705904236, "log_likelihood": -430.121289507578, "aic": 872.242579015157}'),
    ('weighted counts', '{"deviance": 112.840981445341, "null_deviance": 702.081274483569, "dispersion": 1,
        "log_likelihood": -745.87690490231, "aic": 1501.75380980462, "deviance_explained": 0.839276469055034}'),
    ('collinear', '{"deviance": 132.934205372324, "r_squared": 0.984063581996427, "adjusted_r_squared": 0.983736681114302,
        "dispersion": 0.681713873704224, "log_likelihood": -242.941400923171, "aic": 497.882801846342}'),
    ('dobson', '{"deviance": 5.12914107700115, "null_deviance": 10.5814458637509, "dispersion": 1,
        "log_likelihood": -23.3806592009788, "aic": 56.7613184019577, "deviance_explained": 0.515270300198561}'),
    ('clotting', '{"deviance": 0.162608294497331, "null_deviance": 3.51282626382852, "dispersion": 0.0243543845651903,
        "log_likelihood": -26.2408281032923, "aic": 58.4816562065846, "deviance_explained": 0.953710123335246}'),
    ('offset gaussian', '{"deviance": 833.81251027749, "null_deviance": 9103.43073068345, "dispersion": 4.27596159116661,
        "log_likelihood": -426.556826912623, "aic": 865.113653825247, "r_squared": 0.908406782569664}'),
    ('offset binomial', '{"deviance": 88.6836215744577, "null_deviance": 288.061769020927, "dispersion": 1,
        "log_likelihood": -44.3418107872289, "aic": 98.6836215744577, "deviance_explained": 0.692136787620661}'),
    ('offset poisson', '{"deviance": 131.099013123296, "null_deviance": 441.446252982187, "dispersion": 1,
        "log_likelihood": -398.103948198018, "aic": 806.207896396035, "deviance_explained": 0.703023839849908}'),
    ('offset gamma', '{"deviance": 47.8651596400241, "null_deviance": 72.9684437953458, "dispersion": 0.252639765869086,
        "log_likelihood": -716.673832342695, "aic": 1445.34766468539, "deviance_explained": 0.344029320753074}');
SELECT name, metric, value, btml.summary(model)->'metrics'->metric AS found
FROM r_metrics JOIN models USING (name), jsonb_each_text(metrics) m(metric, value)
WHERE NOT near((btml.summary(model)->'metrics'->>metric)::float8, value::float8);
SELECT count(*) AS coefficients, count(DISTINCT name) AS sets, (SELECT count(*) FROM r_metrics JOIN models USING (name)) AS with_metrics
FROM r_coefficients;
SELECT feature, round(p_value::numeric, 4) AS p_value, lower < estimate AND estimate < upper AS inside
FROM models, btml.coefficients(model) WHERE name = 'longley';
SELECT btml.describe(model) FROM models WHERE name IN ('binomial', 'gamma', 'gaussian', 'poisson') ORDER BY name;
SELECT jsonb_pretty(btml.summary(model) - 'features' - 'metrics' - 'seconds' - 'base') AS summary,
    btml.summary(model)#>'{features,2}' AS kind
FROM models WHERE name = 'binomial';

-- Labels: the second of two in their order is predicted.
SELECT bool_and(btml.predict(model, t.*) = btml.predict_probability(model, t.*, 'true')
        AND abs(1 - btml.predict_probability(model, t.*, 'false') - btml.predict(model, t.*)) < 1e-15
        AND btml.predict_class(model, t.*) = (btml.predict(model, t.*) > 0.5)::text
        AND btml.predict_probabilities(model, t.*)
            = ARRAY[btml.predict_probability(model, t.*, 'false'), btml.predict_probability(model, t.*, 'true')]
        AND abs(btml.predict_score(model, t.*) - ln(btml.predict(model, t.*) / (1 - btml.predict(model, t.*)))) < 1e-6) AS same,
    round(btml.auc(yes, btml.predict(model, t.*))::numeric, 4) AS auc FROM models, task t WHERE name = 'binomial';
SELECT bool_and(abs(a.estimate - b.estimate) < 1e-12) AS of_numbers
FROM models, btml.coefficients(model) WITH ORDINALITY AS a
JOIN btml.coefficients(btml.linear_fit('SELECT x, z, kind, 3 + 4 * yes::int AS y FROM task', 'y', family => 'binomial'))
    WITH ORDINALITY AS b USING (ordinality) WHERE name = 'binomial';
SELECT btml.summary(btml.linear_fit('SELECT x, z, CASE WHEN yes THEN ''stays'' ELSE ''goes'' END AS y FROM task', 'y'))->'labels' AS labels;
SELECT feature, importance > 0.01 AS matters FROM models, btml.permutation_importance(model, 'task', target => 'yes', metric => 'auc')
WHERE name = 'binomial';
SELECT value, round(mean::numeric, 4) AS mean FROM models, btml.partial_dependence(model, 'task', 'kind', class => 'false')
WHERE name = 'binomial' ORDER BY 1;

-- The first label's probability keeps its digits where it is next to nothing, as in SQL.
\set ECHO errors
SELECT 'SELECT predicted > 0 AS positive, abs(predicted / (' || btml.to_sql(model, 'postgresql', 'false') || ') - 1) < 1e-12 AS same
    FROM (SELECT btml.predict_probability(model, t, ''false'') AS predicted, t.* FROM models,
        (SELECT 100 AS x, 80 AS z, ''a'' AS kind) t WHERE name = ''binomial'') s'
FROM models WHERE name = 'binomial' \gexec
\set ECHO all
-- By position, a code that is no whole number is a category that training did not see.
SELECT btml.predict(model, ARRAY[1, 2, 1.5]) = btml.predict(model, ARRAY[1, 2, -1]) AS predicted, e.value,
    e.contribution = u.contribution AS explained
FROM models, btml.explain(model, ARRAY[1, 2, 1.5]) e, btml.explain(model, ARRAY[1, 2, -1]) u
WHERE name = 'gaussian' AND e.feature = 'kind' AND u.feature = 'kind';

-- NaN and infinity in a row to predict count, but where the coefficient is 0; functions over a source refuse them.
INSERT INTO models VALUES ('empty lasso', btml.linear_fit('task', 'cost', features => '{x,z}', penalty => 1000, l1_ratio => 1));
SELECT name, o.x, btml.predict(model, o)::numeric(8, 4) AS predicted
FROM models, LATERAL (SELECT x, 1 AS z, 'a' AS kind FROM unnest('{NaN,Infinity,-Infinity}'::float8[]) x) o
WHERE name IN ('binomial', 'empty lasso') ORDER BY 1, 2;
SELECT of, o.x, btml.predict_interval(model, o, of => of) AS interval
FROM models, unnest('{observation,mean}'::text[]) of,
    LATERAL (SELECT x, 1 AS z, 'a' AS kind FROM unnest('{NaN,Infinity,-Infinity}'::float8[]) x) o
WHERE name = 'gaussian' ORDER BY 1, 2;
CREATE TABLE odd AS SELECT CASE WHEN x > 9.5 THEN 'NaN' WHEN x < 0.5 THEN '-Infinity' ELSE x END AS x, z, kind, cost FROM task;
SELECT e.* FROM models, btml.permutation_importance(model, 'SELECT * FROM odd WHERE x > 1', 'cost') e WHERE name = 'gaussian';
SELECT e.* FROM models, btml.partial_dependence(model, 'SELECT * FROM odd WHERE x < 9', 'z') e WHERE name = 'gaussian';
SELECT e.* FROM models, btml.permutation_importance(model, 'odd', 'cost') e WHERE name = 'empty lasso' ORDER BY feature;

-- SQL without btml predicts the same.
SELECT 'SELECT max(abs(' || btml.to_sql(model) || ' - predicted)) < 1e-9 AS same FROM (SELECT btml.predict(model, t.*) AS predicted, t.*
    FROM models, task t WHERE name = ' || quote_literal(name) || ') s'
FROM models WHERE name IN ('binomial', 'poisson', 'gaussian') ORDER BY name \gexec
-- Eight of ten rows are within their intervals.
SELECT round(avg((cost BETWEEN (i).lower AND (i).upper)::int), 2) AS inside
FROM (SELECT cost, btml.predict_interval(model, t.*, 0.8) AS i FROM models, task t WHERE name = 'gaussian') AS s;

-- R's predict(interval = 'confidence'), and of other families the link's interval by se.fit; 'prediction' of observations.
CREATE TABLE r_intervals (name text, of text, x float8, z float8, kind text, lower float8, upper float8);
INSERT INTO r_intervals VALUES ('gaussian', 'mean', 1.5, 2, 'a', 8.471953154408471, 9.4559811759798684),
    ('gaussian', 'mean', 9, 8, 'c', 29.410914349371708, 30.6522382244988876),
    ('gaussian', 'observation', 1.5, 2, 'a', 5.601951987490704, 12.325982342897635),
    ('gaussian', 'observation', 9, 8, 'c', 26.648339743469968, 33.414812830400628),
    ('binomial', 'mean', 1.5, 2, 'a', 2.4693025371576173e-05, 0.0026023821937950714),
    ('binomial', 'mean', 9, 8, 'c', 0.99872888221528822, 0.9999950376809698671),
    ('poisson', 'mean', 1.5, 2, 'a', 2.1067662328178520, 2.7232109847022739),
    ('poisson', 'mean', 9, 8, 'c', 9.1582572417745549, 11.6742437654968256),
    ('gamma', 'mean', 1.5, 2, 'a', 9.4373897740792021, 10.163718007853996),
    ('gamma', 'mean', 9, 8, 'c', 32.8922027060630242, 36.117132358656690);
SELECT r.* FROM r_intervals r JOIN models USING (name), btml.predict_interval(model, r, 0.9, of) AS i,
    btml.predict_interval(model, ARRAY[r.x, r.z, array_position('{a,b,c}', r.kind) - 1], of => of) AS by_place
WHERE NOT near(i.lower, r.lower) OR NOT near(i.upper, r.upper) OR i <> by_place;

-- An offset is added to the score of a row, which must have it; it has no coefficient.
SELECT r.* FROM (VALUES ('offset gaussian', 30.4070570104662, 31.6826111375586), ('offset binomial', 0.999655876737353, 0.999998750553147),
    ('offset poisson', 24.793539613728, 31.7350986737266), ('offset gamma', 89.8605992902768, 122.524421343997)) r(name, lower, upper)
    JOIN models USING (name), LATERAL (SELECT 8 AS z, ln(5.0) AS o, 9 AS x, 'c' AS kind) at,
    btml.predict_interval(model, at, 0.9, 'mean') i WHERE NOT near(i.lower, r.lower) OR NOT near(i.upper, r.upper);
CREATE TABLE exposed AS SELECT *, ln(w) AS o, g % 4 AS fold FROM task;
SELECT name, bool_and(near(btml.predict_score(model, t), (SELECT sum(contribution) FROM btml.explain(model, t)), 1)) AS explained,
    bool_and(btml.predict(model, t) = btml.predict(model, ARRAY[t.x, t.z, array_position('{a,b,c}', t.kind) - 1, t.o])) AS by_place,
    bool_and(near(btml.predict_score(model, t), ln(w) + btml.predict_score(model, u), 1)) AS added
FROM models, exposed t, LATERAL (SELECT x, z, kind, 0 AS o) u WHERE name LIKE 'offset%' GROUP BY name ORDER BY name;
SELECT bool_and(e.contribution = o AND (btml.shap(model, t))[4] = o) AS itself FROM models, exposed t, btml.explain(model, t) e
WHERE name LIKE 'offset%' AND e.feature = 'o';
SELECT btml.describe(model), btml.summary(model)#>'{features,3}' AS "offset" FROM models WHERE name = 'offset poisson';
\set ECHO errors
SELECT 'SELECT max(abs(' || btml.to_sql(model) || ' - predicted)) < 1e-9 AS same FROM (SELECT btml.predict(model, t.*) AS predicted, t.*
    FROM models, exposed t WHERE name = ' || quote_literal(name) || ') s' FROM models WHERE name LIKE 'offset%' ORDER BY name \gexec
\set ECHO all
SELECT v.fold, near(value, r.rmse) AS same
FROM btml.cross_validate('SELECT x, z, kind, n, o, fold FROM exposed', 'n', fold => 'fold', method => 'linear', metric => 'rmse',
    options => '{"family": "poisson", "offset": "o"}') AS v
JOIN (SELECT fold, btml.rmse(n, btml.predict(model, t.*)) AS rmse FROM exposed t
    JOIN (SELECT fold, btml.linear_fit('SELECT x, z, kind, n, o FROM exposed WHERE fold <> ' || fold, 'n', family => 'poisson',
        "offset" => 'o') AS model FROM generate_series(0, 3) fold) m USING (fold) GROUP BY fold) AS r ON r.fold::text = v.fold ORDER BY 1;
SELECT feature FROM btml.permutation_importance((SELECT model FROM models WHERE name = 'offset gamma'), 'exposed', target => 'cost')
ORDER BY importance DESC LIMIT 1;
SELECT btml.predict(model, t) FROM models, (SELECT 1 AS x, 2 AS z, 'a' AS kind, NULL::float8 AS o) t WHERE name = 'offset poisson';
SELECT btml.predict(model, t) FROM models, (SELECT 1 AS x, 2 AS z, 'a' AS kind) t WHERE name = 'offset poisson';
SELECT btml.linear_fit('SELECT x, n, NULL::float8 AS o FROM task', 'n', family => 'poisson', "offset" => 'o');
SELECT btml.linear_fit('SELECT x, n, 1000 AS o FROM task', 'n', family => 'poisson', "offset" => 'o');
SELECT btml.linear_fit('SELECT x, n, 1e200 AS o FROM task', 'n', "offset" => 'o');
SELECT btml.linear_fit('exposed', 'n', "offset" => 'oh');
SELECT btml.linear_fit('exposed', 'n', "offset" => 'kind');
SELECT btml.linear_fit('exposed', 'n', "offset" => 'o', features => '{x,o}');
SELECT btml.linear_fit('exposed', 'n', options => '{"exposure": "w"}');
SELECT btml.linear_fit_agg(n, ARRAY[x], '{"offset": "w"}') FROM task;

-- What is missing is the mean, and an indicator; what is constant or follows from others is dropped.
CREATE TABLE holes AS SELECT CASE WHEN i % 9 > 0 THEN x END AS x, x + z AS sum, z, x AS again, 5 AS five,
    CASE WHEN i % 7 > 0 THEN kind END AS kind, x * 2 + z + i % 3 AS y FROM made;
SET client_min_messages = notice;
INSERT INTO models VALUES ('holes', btml.linear_fit('holes', 'y'));
SET client_min_messages = warning;
SELECT feature, category, missing, round(estimate::numeric, 6) AS estimate, std_error > 0 AS has_error
FROM models, btml.coefficients(model) WHERE name = 'holes';
SELECT btml.summary(model)#>'{features,0,missing}' AS missing, btml.summary(model)#>'{features,5}' AS kind FROM models WHERE name = 'holes';
SELECT round(btml.predict(model, h.*)::numeric, 6) AS of_null,
    (SELECT round(sum(contribution)::numeric, 6) FROM btml.explain(model, h.*)) AS explained,
    round(btml.predict(model, o.*)::numeric, 6) AS unknown, round(btml.predict(model, r.*)::numeric, 6) AS of_reference
FROM models, holes h, LATERAL (SELECT h.x, h.sum, h.z, h.again, h.five, 'never seen' AS kind) o,
    LATERAL (SELECT h.x, h.sum, h.z, h.again, h.five, 'a' AS kind) r
WHERE name = 'holes' AND h.x IS NULL ORDER BY h.z LIMIT 2;

-- What NULL adds is no category of that name.
SELECT feature, category, missing, round(estimate::numeric, 6) AS estimate
FROM btml.coefficients(btml.linear_fit($$SELECT n, CASE kind WHEN 'a' THEN 'a' WHEN 'c' THEN 'NULL' END AS kind FROM task$$, 'n'));
-- Numbers that may be labels are told of, unless the family is given; so is a model that leaves nothing to estimate errors from.
SET client_min_messages = notice;
SELECT btml.describe(btml.linear_fit('SELECT yes::int AS y, x FROM task', 'y'));
SELECT btml.describe(btml.linear_fit('SELECT yes::int AS y, x FROM task', 'y', family => 'gaussian'));
SELECT btml.describe(btml.linear_fit('SELECT yes::int AS y, x FROM task UNION ALL SELECT 2, 9', 'y'));
SELECT metric, count(*) FROM btml.cross_validate('SELECT yes::int AS y, x FROM task', 'y', folds => 2, method => 'linear') GROUP BY 1;
CREATE TABLE few AS SELECT x, z, cost FROM task ORDER BY x, z LIMIT 3;
SELECT feature, estimate IS NULL AS estimate, std_error, statistic, p_value, lower, upper
FROM btml.coefficients(btml.linear_fit('few', 'cost'));
SELECT count(std_error) AS errors FROM btml.coefficients(btml.linear_fit('few', 'cost', penalty => 0.1));
SELECT count(std_error) AS errors FROM (SELECT btml.linear_fit_agg(cost, ARRAY[x, z]) AS m FROM few) s, btml.coefficients(m);
SET client_min_messages = warning;
-- By an aggregate, a model a group; rows held out have a deviance of their own.
SELECT kind, (SELECT round(estimate::numeric, 6) FROM btml.coefficients(m) WHERE feature = 'x1') AS slope, abs((SELECT estimate
    FROM btml.coefficients(m) WHERE feature = 'x1') - regr) < 1e-9 AS same
FROM (SELECT kind, btml.linear_fit_agg(cost, ARRAY[x]) AS m, regr_slope(cost, x) AS regr FROM task GROUP BY kind) AS g ORDER BY kind;
SELECT bool_and(abs(a.estimate - b.estimate) < 1e-9) AS same
FROM (SELECT btml.linear_fit_agg(yes, ARRAY[x, z], '{"penalty": 0.1}', w) AS m FROM task) g,
    btml.coefficients(m) WITH ORDINALITY AS a JOIN btml.coefficients(btml.linear_fit('task', 'yes', features => '{x,z}', penalty => 0.1,
    weight => 'w')) WITH ORDINALITY AS b USING (ordinality);
SELECT btml.linear_fit_agg(yes::text, ARRAY[x, z]) OPERATOR(btml.=) btml.linear_fit_agg(yes, ARRAY[x, z]) AS same,
    btml.summary(btml.linear_fit_agg(CASE WHEN yes THEN 'stays' ELSE 'goes' END, ARRAY[x]))->'labels' AS labels FROM task;
SELECT btml.linear_fit_agg(kind, ARRAY[x]) FROM task;
SELECT btml.linear_fit_agg(cost, ARRAY[x], NULL, w) FROM task;
SELECT btml.linear_fit_agg(cost, ARRAY[x], NULL) FROM task;
SELECT btml.linear_fit_agg(cost, NULL::float8[], '{}', 0) FROM task;
-- Groups of one label, of separated labels and of no weight have no model, and leave the others theirs; a NOTICE says so once.
CREATE TABLE lots AS SELECT g, x, 7 AS seven, CASE g WHEN 'both' THEN i % 3 > 0 WHEN 'one' THEN true ELSE x > 5 END AS y,
    CASE g WHEN 'none' THEN 0 ELSE 1 END AS w FROM made, unnest(ARRAY['both', 'none', 'one', 'separated']) g WHERE i <= 60;
SET enable_hashagg = off; -- The first group is the one that is told.
SET client_min_messages = notice;
SELECT g, (SELECT count(estimate) FROM btml.coefficients(m)) AS coefficients, btml.predict(m, ARRAY[3, 7]) IS NULL AS unknown
FROM (SELECT g, btml.linear_fit_agg(y, ARRAY[x, seven], '{}', w) AS m FROM lots GROUP BY g) s ORDER BY g;
SELECT g, btml.linear_fit_agg(CASE WHEN y THEN 'stays' ELSE 'goes' END, ARRAY[x], '{"penalty": 0.1}') IS NULL AS unknown
FROM lots GROUP BY g ORDER BY g;
SELECT g, btml.linear_fit_agg(y::int, ARRAY[x], '{"family": "binomial"}') IS NULL AS unknown FROM lots GROUP BY g ORDER BY g;
SELECT y, btml.linear_fit_agg(y::int, ARRAY[x], '{"family": "poisson"}') IS NULL AS unknown FROM lots GROUP BY y ORDER BY y;
SELECT g, btml.linear_fit_agg(y, ARRAY[x], '{"iterations": 1}') IS NULL AS unknown FROM lots WHERE g = 'both' GROUP BY g;
SELECT btml.describe(btml.linear_fit_agg(x, ARRAY[w])) AS one_row FROM lots WHERE g = 'one' AND x < 1 GROUP BY x ORDER BY x LIMIT 1;
SET client_min_messages = warning;
RESET enable_hashagg;
SELECT btml.linear_fit_agg(cost, ARRAY[x]) IS NULL AS nothing FROM task WHERE false;
SELECT btml.summary(m)->'rows' AS rows, btml.summary(m)->'holdout_rows' AS held_out,
    (btml.summary(m)#>>'{metrics,holdout_deviance}')::float8 > 0 AS scored
FROM btml.linear_fit('task', 'cost', features => '{x,z}', holdout_fraction => 0.25) m;
-- A seed is another draw.
SELECT count(DISTINCT btml.summary(m)->'holdout_rows') AS sizes, count(DISTINCT btml.summary(m)#>'{metrics,holdout_deviance}') AS draws,
    bool_and(m OPERATOR(btml.=) btml.linear_fit('task', 'cost', features => '{x,z}', holdout_fraction => 0.25)) FILTER (WHERE s = 0) AS same
FROM generate_series(0, 2) s, LATERAL btml.linear_fit('task', 'cost', features => '{x,z}', holdout_fraction => 0.25, seed => s) m;

-- Folds are scored by models of the others, and a search tries penalties.
CREATE TABLE folds AS SELECT *, row_number() OVER (ORDER BY x, z, kind) % 4 AS fold FROM task;
SELECT v.fold, rows, metric, abs(value - r.rmse) < 1e-12 AS same, trees
FROM btml.cross_validate('SELECT x, z, kind, cost, fold FROM folds', 'cost', fold => 'fold', method => 'linear') AS v
JOIN (SELECT fold, btml.rmse(cost, btml.predict(model, t.*)) AS rmse FROM folds t
    JOIN (SELECT fold, btml.linear_fit('SELECT x, z, kind, cost FROM folds WHERE fold <> ' || fold, 'cost') AS model
        FROM generate_series(0, 3) fold) m USING (fold) GROUP BY fold) AS r ON r.fold::text = v.fold ORDER BY 1;
SELECT fold, metric, abs(value - r.log_loss) < 1e-12 AS same
FROM btml.cross_validate('SELECT x, z, kind, yes, fold AS f FROM folds', 'yes', fold => 'f', method => 'linear') AS v
JOIN (SELECT fold::text, btml.log_loss(yes, btml.predict(model, t.*)) AS log_loss FROM folds t
    JOIN (SELECT fold, btml.linear_fit('SELECT x, z, kind, yes FROM folds WHERE fold <> ' || fold, 'yes') AS model
        FROM generate_series(0, 3) fold) m USING (fold) GROUP BY fold) AS r USING (fold) ORDER BY 1;
SELECT trial, options, score < 2.2 AS good, trees, best FROM btml.tune('SELECT x, z, kind, cost, fold FROM folds', 'cost',
    '{"penalty": [0, 2, 50], "l1_ratio": [0]}', fold => 'fold', method => 'linear') ORDER BY 1;
-- Without a penalty, l1_ratio has no effect: it is 0 then, and the trial is made once.
SELECT trial, options, folds FROM btml.tune('SELECT x, z, kind, cost, fold FROM folds', 'cost',
    '{"penalty": [0, 2], "l1_ratio": [0.5, 1]}', fold => 'fold', method => 'linear') ORDER BY 1;
SELECT btml.tune('task', 'cost', '{"l1_ratio": [0.5, 1]}', method => 'linear');
SELECT btml.tune('task', 'cost', '{"penalty": [0, 2]}', method => 'linear', options => '{"l1_ratio": 1}');
SELECT btml.tune('task', 'cost', '{"features": [["x"], ["z"]]}', method => 'linear');
SELECT btml.tune('task', 'cost', '{"alpha": [0, 1]}', method => 'linear');
SELECT btml.cross_validate('task', 'cost', method => 'linear', metric => 'auc');
SELECT btml.cross_validate('task', 'n', method => 'linear', metric => 'brier', options => '{"family": "poisson"}');
-- A fold whose rows of one label weigh nothing has no area under the curve.
SELECT btml.cross_validate('SELECT x, yes, g % 3 AS fold, CASE WHEN yes AND g % 3 = 1 THEN 0 ELSE 1 END AS w FROM task', 'yes',
    fold => 'fold', method => 'linear', metric => 'auc', options => '{"weight": "w"}');
SELECT btml.cross_validate('task', 'cost', method => 'linear', options => '{"trees": 3}');
SELECT btml.cross_validate('task', 'cost', method => 'linear', unit => 'target');
SELECT btml.tune('task', 'cost', '{"family": ["gaussian"]}', method => 'linear');
-- Over a join, as over its rows.
CREATE TABLE kinds (kind text PRIMARY KEY, price float8);
INSERT INTO kinds VALUES ('a', 1), ('b', 2.5), ('c', 7);
SELECT btml.linear_fit('SELECT x, z, price, cost FROM task JOIN kinds USING (kind)', 'cost')
    OPERATOR(btml.=) btml.linear_fit('SELECT * FROM (SELECT x, z, price, cost FROM task JOIN kinds USING (kind) OFFSET 0) s',
    'cost') AS same;

-- Over a join of many to many, sums are formed by messages between its tables. The model is that of the join's rows.
CREATE TABLE shops (town int, hours float8, kind text);
CREATE TABLE houses (town int, size float8, price float8, w float8, held boolean);
CREATE TABLE towns (town int, salary float8);
INSERT INTO shops SELECT i % 40, CASE WHEN i % 17 <> 0 THEN i % 23 END, (ARRAY['food', 'books', 'tools', NULL])[1 + i % 4]
FROM generate_series(1, 2000) i;
INSERT INTO houses SELECT i % 40, 50 + i % 113, 3 * (i % 113) + i % 7 + 10 * (i % 40), 1 + i % 3, i % 5 = 0
FROM generate_series(1, 2000) i;
INSERT INTO towns SELECT i, CASE WHEN i % 13 <> 0 THEN 100 * (i % 9) END FROM generate_series(0, 39) i;
CREATE TABLE town_joins AS SELECT name, source,
    'SELECT * FROM (' || source || ' OFFSET 0) materialised' AS rows FROM (VALUES
    ('acyclic', 'SELECT size, hours, kind, salary, price, w, held FROM houses JOIN shops USING (town) JOIN towns USING (town)'),
    ('left', 'SELECT size, hours, kind, salary, price, w, held FROM houses LEFT JOIN shops ON shops.town = houses.town + 2
        LEFT JOIN towns ON towns.town = houses.town + 5'),
    ('cyclic', 'SELECT a.size, b.hours, c.size AS third, a.price, a.w, a.held FROM houses a, shops b, houses c
        WHERE a.town = b.town AND b.hours = c.w + 4 AND c.town = a.town')) joins(name, source);
CREATE TABLE town_models AS SELECT name, options, m, m_rows FROM town_joins
CROSS JOIN (VALUES ('{}'::jsonb), ('{"penalty": 0.3}'), ('{"penalty": 0.2, "l1_ratio": 0.5}')) o(options),
    LATERAL (SELECT coalesce((options ->> 'penalty')::float8, 0) AS penalty,
        coalesce((options ->> 'l1_ratio')::float8, 0) AS l1_ratio) p,
    LATERAL (SELECT btml.linear_fit(source, 'price', weight => 'w', holdout => 'held', penalty => penalty, l1_ratio => l1_ratio) AS m,
        btml.linear_fit(rows, 'price', weight => 'w', holdout => 'held', penalty => penalty, l1_ratio => l1_ratio) AS m_rows) f;
SELECT name, options, a ->> 'strategy' AS strategy, b ->> 'strategy' AS of_rows, a -> 'rows' AS rows,
    a -> 'rows' = b -> 'rows' AS same_rows,
    abs((a #>> '{metrics,deviance}')::float8 / (b #>> '{metrics,deviance}')::float8 - 1) < 1e-11 AS same_deviance,
    abs((a #>> '{metrics,holdout_deviance}')::float8 / (b #>> '{metrics,holdout_deviance}')::float8 - 1) < 1e-11 AS same_held_out
FROM town_models, LATERAL (SELECT btml.summary(m)::jsonb AS a, btml.summary(m_rows)::jsonb AS b) s ORDER BY 1, 2;
SELECT t.name, t.options, a.feature, a.category, a.estimate, b.estimate, a.std_error, b.std_error
FROM town_models t, btml.coefficients(m) WITH ORDINALITY a, btml.coefficients(m_rows) WITH ORDINALITY b
WHERE a.ordinality = b.ordinality AND (a.feature, a.category) IS NOT DISTINCT FROM (b.feature, b.category)
    AND (abs(a.estimate - b.estimate) > 1e-9 * (1 + abs(b.estimate)) OR abs(a.std_error / nullif(b.std_error, 0) - 1) > 1e-8);
-- The order of rows changes no bit.
CREATE TABLE shops_backwards AS SELECT * FROM shops ORDER BY hours DESC, kind;
SELECT btml.linear_fit(source, 'price')::text = btml.linear_fit(replace(source, 'shops ', 'shops_backwards '), 'price')::text AS same
FROM town_joins WHERE name = 'acyclic';
-- Robust errors and other families need the rows.
SELECT btml.summary(btml.linear_fit(source, 'price', std_error => 'robust'))::jsonb ->> 'strategy' AS robust,
    btml.summary(btml.linear_fit(source, 'price', family => 'gamma'))::jsonb ->> 'strategy' AS gamma FROM town_joins WHERE name = 'left';
DROP TABLE town_models, town_joins, shops, shops_backwards, houses, towns;

-- What it refuses.
SELECT btml.linear_fit('task', 'cost', family => 'normal');
SELECT btml.linear_fit('task', 'cost', penalty => -1);
SELECT btml.linear_fit('task', 'cost', penalty => 'NaN');
SELECT btml.linear_fit('task', 'cost', l1_ratio => 0.5);
SELECT btml.linear_fit('task', 'cost', std_error => 'robust', penalty => 1);
SELECT btml.linear_fit('task', 'cost', group_by => 'kind', features => '{x}');
SELECT btml.linear_fit('task', 'kind', features => '{x}');
SELECT btml.linear_fit('task', 'cost', family => 'binomial', features => '{x}');
SELECT btml.linear_fit('task', 'n', family => 'binomial', features => '{x}');
SELECT btml.linear_fit('SELECT x, g / 9.0 AS share FROM task', 'share', family => 'binomial');
SELECT btml.linear_fit('task', 'yes', family => 'poisson');
SELECT btml.linear_fit('SELECT x - 5 AS y, z FROM task', 'y', family => 'poisson');
SELECT btml.linear_fit('SELECT x - x AS y, z FROM task', 'y', family => 'gamma');
SELECT btml.linear_fit('SELECT x > 5 AS y, x FROM task', 'y');
SELECT btml.linear_fit('SELECT true AS y, x FROM task', 'y');
SELECT btml.linear_fit('SELECT ''stays'' AS y, x FROM task', 'y');
SELECT btml.linear_fit('SELECT 3 AS y, x FROM task', 'y', family => 'binomial');
SELECT btml.linear_fit('SELECT x, z FROM task WHERE false', 'x');
SELECT btml.linear_fit('SELECT NULL::float8 AS y, z FROM task', 'y');
SELECT btml.linear_fit('SELECT ''NaN''::float8 AS y, z FROM task', 'y');
SELECT btml.linear_fit('SELECT x AS y, CASE WHEN x > 9 THEN ''Infinity'' ELSE z END AS z FROM task', 'y');
SELECT btml.linear_fit('task', 'prize');
SELECT btml.linear_fit('task', 'cost', weight => 'x', options => '{"alpha": 1}');
SELECT btml.predict(btml.linear_fit('SELECT timestamptz ''2020-01-01'' + make_interval(days => n) AS at, cost FROM task', 'cost'), d)
FROM (SELECT date '5874897-12-31' AS at) d;
SELECT feature, estimate, std_error FROM btml.coefficients(btml.linear_fit('SELECT x, z FROM task LIMIT 1', 'x'));
SELECT btml.coefficients(model, confidence => 1) FROM models WHERE name = 'longley';
SELECT btml.coefficients(btml.boost_fit('task', 'cost', trees => 2));
SELECT count(*) FROM btml.coefficients(NULL);
SELECT btml.predict_leaf(model, l.*) FROM models, longley l WHERE name = 'longley' LIMIT 1;
SELECT btml.predict_normal(model, l.*) FROM models, longley l WHERE name = 'longley' LIMIT 1;
SELECT btml.predict_quantile(model, l.*, 0.5) FROM models, longley l WHERE name = 'longley' LIMIT 1;
SELECT btml.predict(model, l.*, 3) FROM models, longley l WHERE name = 'longley' LIMIT 1;
SELECT btml.predict_class(model, l.*) FROM models, longley l WHERE name = 'longley' LIMIT 1;
SELECT btml.predict_interval(model, t.*, 0.9) FROM models, task t WHERE name = 'poisson' LIMIT 1;
SELECT btml.predict_interval(model, t.*, 0.9) FROM models, task t WHERE name = 'binomial' LIMIT 1;
SELECT btml.predict_interval(model, t.*, 0.9) FROM models, task t WHERE name = 'ridge' LIMIT 1;
SELECT btml.predict_interval(btml.linear_fit('SELECT x, cost FROM task LIMIT 2', 'cost'), ARRAY[1.0], 0.9);
SELECT btml.predict_interval(btml.linear_fit('SELECT x, cost FROM task LIMIT 2', 'cost'), ARRAY[1.0], of => 'mean');
CREATE TABLE wide AS SELECT i AS y, ARRAY(SELECT ('x' || left(md5(i || '/' || k), 4))::bit(16)::int FROM generate_series(1, 512) k) AS v
FROM generate_series(1, 600) i;
SELECT btml.predict_interval(btml.linear_fit('wide', 'y'), w) FROM wide w LIMIT 1;
DROP TABLE wide;
SELECT btml.predict_quantile(model, t.*, 0.5) FROM models, task t WHERE name = 'poisson' LIMIT 1;
SELECT btml.predict_quantile(model, t.*, 0.5) FROM models, task t WHERE name = 'ridge' LIMIT 1;
SELECT btml.predict_distribution(model, l.*) FROM models, longley l WHERE name = 'longley' LIMIT 1;
SELECT btml.predict_interval(model, t.*, of => 'confidence') FROM models, task t WHERE name = 'poisson' LIMIT 1;
SELECT btml.predict_interval(model, t.*, of => 'median') FROM models, task t WHERE name = 'poisson' LIMIT 1;
SELECT btml.predict_interval(model, t.*, of => NULL) IS NULL AS nothing FROM models, task t WHERE name = 'poisson' LIMIT 1;
SELECT btml.predict_interval(btml.linear_fit('SELECT x, cost FROM task', 'cost', penalty => 1), ARRAY[1.0], of => 'mean');
SELECT btml.predict_interval(btml.boost_fit('SELECT x, cost FROM task', 'cost', trees => 2), ARRAY[1.0], of => 'mean');
SELECT * FROM btml.permutation_importance((SELECT model FROM models WHERE name = 'poisson'), 'task', target => 'n', metric => 'auc');
SELECT * FROM btml.permutation_importance((SELECT model FROM models WHERE name = 'binomial'), 'task', target => 'yes', metric => 'mae');
SELECT btml.training_log(model) FROM models WHERE name = 'longley';
SELECT btml.feature_importance(model) FROM models WHERE name = 'longley';
SELECT btml.shap_importance(model, 'longley') FROM models WHERE name = 'longley';
SELECT btml.gp_relevance(model) FROM models WHERE name = 'longley';
SELECT overlay(model::bytea PLACING '\x00000000' FROM 200)::btml.model FROM models WHERE name = 'longley';
DROP SCHEMA linear CASCADE;
