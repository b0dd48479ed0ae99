-- Errors of btml.boost_fit and btml.tree_fit: SQLSTATE, message, DETAIL and HINT.
CREATE SCHEMA boost_errors;
SET search_path = boost_errors, public;
SET client_min_messages = warning;

\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught
-- The error of a fit of `source` with these arguments after it.
CREATE FUNCTION fit_error(source text, arguments text) RETURNS text LANGUAGE sql AS $$
    SELECT caught(format('SELECT btml.boost_fit(%L, %s)', source, arguments)) $$;

CREATE TYPE size AS ENUM ('small', 'large');
CREATE TABLE sale (id int PRIMARY KEY, store int, price float8, quantity int, size size, shape point, sold boolean, note text,
    held_out boolean, w float8, y float8);
INSERT INTO sale SELECT i, i % 5, i / 10.0, i % 7, 'small', point(i, 1), i % 2 = 0, 'n' || i % 3, i % 4 = 0, i % 3, i * i % 13
    FROM generate_series(1, 60) i;
CREATE TABLE store (store int PRIMARY KEY, region text, store_w float8);
INSERT INTO store SELECT i, 'r' || i % 2, 1 FROM generate_series(0, 4) i;

-- Columns
\pset format unaligned
\pset tuples_only on
SELECT arguments || E'\n' || fit_error('boost_errors.sale', arguments) || E'\n' FROM (VALUES
    ('''yy'''), ('''Y'''), ('''price'', features => ''{quanttiy}'''), ('''y'', features => ''{completely_else}'''),
    ('''y'', holdout => ''heldout'''), ('''y'', weight => ''ww'''), ('''y'', features => ''{price}'', categorical => ''{not}'''),
    ('''y'', features => ''{price}'', categorical => ''{note}'''),
    ('''y'', features => ''{price,price}'''), ('''y'', features => ''{price,y}'''), ('''y'', features => ''{price,w}'', weight => ''w'''),
    ('''y'', features => ''{price,held_out}'', holdout => ''held_out'''), ('''y'', features => ''{}'''),
    ('''y'', features => ''{{price,w}}'''),
    ('''y'', weight => ''y'''), ('''held_out'', holdout => ''held_out'''), ('''y'', holdout => ''y'''),
    ('''sold'', features => ''{price}'''), ('''note'', features => ''{price}'''), ('''size'', features => ''{price}'''),
    ('''shape'', features => ''{price}'''),
    ('''y'', holdout => ''quantity'''), ('''y'', weight => ''sold'''), ('''y'', weight => ''note'''),
    ('''y'''), ('''y'', features => ''{price,shape}''')) a(arguments);
SELECT source || E'\n' || fit_error(source, arguments) || E'\n' FROM (VALUES
    ('SELECT price, price, y FROM boost_errors.sale', '''y'''), ('SELECT price, y AS price FROM boost_errors.sale', '''price'''),
    ('SELECT price, price, quantity, y FROM boost_errors.sale', '''y'', features => ''{quantity}'''), ('SELECT y FROM boost_errors.sale',
    '''y'''),
    ('SELECT y, w, held_out FROM boost_errors.sale', '''y'', weight => ''w'', holdout => ''held_out'''), ('SELECT FROM boost_errors.sale',
    '''y'''),
    ('SELECT price, store_w, y FROM boost_errors.sale JOIN boost_errors.store USING (store)', '''y'', weight => ''store_w'''),
    ('boost_errors.no_such_table', '''y'''), ('SELECT 1 AS x; SELECT 1 AS y', '''y'''), ('', '''y'''), ('SELECT 1 AS x, FROM y', '''y'''),
    ('DELETE FROM boost_errors.sale RETURNING price, y', '''y'''),
    ('WITH gone AS (DELETE FROM boost_errors.sale RETURNING *) SELECT price, y FROM gone', '''y'''))
    s(source, arguments);

-- NULL arguments
SELECT arguments || E'\n' || caught(format('SELECT btml.boost_fit(%s)', arguments)) || E'\n'
FROM (SELECT 'source => NULL, target => ''y''' UNION ALL SELECT 'source => ''boost_errors.sale'', target => NULL'
    UNION ALL SELECT format('''boost_errors.sale'', ''y'', %s => NULL', name)
    FROM unnest('{trees,learning_rate,max_leaves,max_depth,min_leaf_rows,l2,min_gain,max_bins,early_stopping,row_fraction,feature_fraction,
        strategy,criterion,residuals,epsilon,delta,seed,verbose,verify,min_category_rows,max_split_categories}'::text[]) name
    UNION ALL SELECT '''boost_errors.sale'', ''y'', features => ''{price,NULL}'''
    UNION ALL SELECT '''boost_errors.sale'', ''y'', categorical => ''{NULL}''') a(arguments);
SELECT caught(format('SELECT btml.boost_fit(''SELECT price, y FROM boost_errors.sale'', ''y'', trees => 1, %s => NULL)', name)) || ' '
    || name
FROM unnest('{features,categorical,holdout,sketch_size,weight}'::text[]) name;
SELECT caught('SELECT btml.tree_fit(NULL, ''y'')');
SELECT caught('SELECT btml.tree_fit(''boost_errors.sale'', NULL)');

-- Options out of their domains
SELECT arguments || E'\n' || fit_error('boost_errors.sale', '''y'', ' || arguments) || E'\n' FROM unnest(ARRAY[
    'trees => 0', 'trees => -1', 'learning_rate => 0', 'learning_rate => 1.5', 'learning_rate => 1.0000001', 'learning_rate => ''NaN''',
    'max_leaves => 1', 'max_leaves => -1', 'max_depth => -1',
    'min_leaf_rows => -1', 'min_leaf_rows => ''NaN''', 'min_leaf_rows => ''Infinity''', 'l2 => -0.5', 'l2 => ''Infinity''',
    'min_gain => -1', 'min_gain => ''NaN''',
    'min_category_rows => -1', 'min_category_rows => ''Infinity''', 'max_split_categories => -1',
    'max_bins => 1', 'max_bins => -1', 'max_bins => 65536', 'early_stopping => -1', 'early_stopping => 5', 'row_fraction => 0',
    'row_fraction => 1.01', 'row_fraction => ''NaN''',
    'feature_fraction => 0', 'feature_fraction => 2', 'strategy => ''fast''', 'strategy => ''''', 'criterion => ''gini''',
    'criterion => ''Variance''',
    'residuals => ''approximate''', 'residuals => ''sketch'', sketch_size => 0', 'sketch_size => 0', 'sketch_size => 100',
    'verify => true', 'epsilon => 0', 'epsilon => 1', 'epsilon => ''NaN''', 'delta => 0', 'delta => 2']) arguments;
SELECT caught('SELECT btml.tree_fit(''boost_errors.sale'', ''y'', max_leaves => 1)');
SELECT caught('SELECT btml.tree_fit(''boost_errors.sale'', ''y'', trees => 3)');

-- Options as others call them; what is short is near to all else that is short.
SELECT name, substring(caught(format('SELECT btml.boost_fit(''boost_errors.target'', ''i'', options => %L)', jsonb_build_object(name, 1)))
    FROM 'HINT: (.*)') AS hint FROM unnest('{lr,LR,l3,ll,treees}'::text[]) name;
-- A numeric that no double holds is no infinity, and its column is named wherever numbers are read.
CREATE TABLE beyond AS SELECT i, 10::numeric ^ (400 * (i % 2)) AS x, ARRAY[1, -10::numeric ^ 309] AS numbers FROM generate_series(1, 9) i;
SELECT call || ': ' || substring(caught('SELECT * FROM btml.' || arguments) FROM '[^\n]*') FROM (VALUES
    ('feature', $$boost_fit('SELECT i AS y, x FROM boost_errors.beyond', 'y', 1)$$),
    ('target', $$boost_fit('SELECT i, x AS "The target" FROM boost_errors.beyond', 'The target', 1)$$),
    ('weight', $$boost_fit('SELECT i, i AS y, x AS w FROM boost_errors.beyond', 'y', 1, weight => 'w')$$),
    ('offset', $$boost_fit('SELECT i, i AS y, x AS o FROM boost_errors.beyond', 'y', 1, "offset" => 'o')$$),
    ('process', $$gp_fit('SELECT i AS y, x FROM boost_errors.beyond', 'y')$$),
    ('factor', $$sumprod('SELECT x FROM boost_errors.beyond')$$),
    ('summand', $$approx_sum('SELECT x FROM boost_errors.beyond')$$),
    ('sketch', $$sketch_norm('SELECT x FROM boost_errors.beyond', 'x')$$),
    ('keys', $$density('SELECT x FROM boost_errors.beyond', 'SELECT 1 AS x', 1)$$),
    ('queries', $$density('SELECT 1 AS z', 'SELECT x AS z FROM boost_errors.beyond', 1)$$),
    ('array', $$density('SELECT numbers AS x FROM boost_errors.beyond', 'SELECT ARRAY[1, 2] AS x', 1)$$),
    ('weights of keys', $$density('SELECT i, x AS weight FROM boost_errors.beyond', 'SELECT 1 AS i', 1)$$),
    ('value', $$attention('SELECT i, numbers AS v FROM boost_errors.beyond', 'SELECT 1 AS i', 'v')$$),
    ('score', $$kde_score('SELECT x FROM boost_errors.beyond', 1)$$),
    ('exemplars', $$exemplars('SELECT x FROM boost_errors.beyond', 2)$$),
    ('plot', $$plot('SELECT i AS x, x AS y FROM boost_errors.beyond')$$),
    ('record', $$predict(btml.boost_fit('SELECT i AS y, i AS x FROM boost_errors.beyond', 'y', 1), (SELECT b FROM boost_errors.beyond b
    WHERE i = 1))$$),
    ('permuted', $$permutation_importance(btml.boost_fit('SELECT i AS y, i AS x FROM boost_errors.beyond', 'y', 1),
    'SELECT i AS y, x FROM boost_errors.beyond', 'y')$$)) v(call, arguments);
SELECT caught($$SELECT btml_internal.number(10::numeric ^ 400, '"price"')$$);
SELECT caught($$SELECT btml.boost_fit('SELECT i AS y, ''-Infinity''::numeric AS x FROM generate_series(1, 9) i', 'y', 1)$$);
-- Values of the target and the weight
SELECT what || E'\n' || fit_error('SELECT * FROM (VALUES (1, 5::float8, true, 1::float8), ' || rows || ') v(x, y, held_out, w)', arguments)
    || E'\n' FROM (VALUES
    ('NaN target', '(2, ''NaN'', false, 1)', '''y'''), ('infinite target', '(2, ''-Infinity'', false, 1)', '''y'''),
    ('infinite held-out target', '(2, ''Infinity'', true, 1)', '''y'', holdout => ''held_out'''),
    ('large target', '(2, 1e150, false, 1)', '''y'''), ('large negative target', '(2, -1e200, false, 1)', '''y'''),
    ('large held-out target', '(2, 1, false, 1), (3, 1e160, true, 1)', '''y'', holdout => ''held_out'''),
    ('negative weight', '(2, 1, false, -1)', '''y'', weight => ''w'''), ('NaN weight', '(2, 1, false, ''NaN'')', '''y'', weight => ''w'''),
    ('infinite weight', '(2, 1, false, ''Infinity'')', '''y'', weight => ''w'''), ('NULL weight', '(2, 1, false, NULL)',
    '''y'', weight => ''w'''),
    ('NULL weight of a row without a target', '(2, NULL, false, NULL)', '''y'', weight => ''w'''),
    ('weights whose sum is no number', '(2, 1, false, 1.7e308), (3, 2, false, 1.7e308)', '''y'', weight => ''w'''),
    ('large target of weight 0', '(2, 1e170, false, 0)', '''y'', weight => ''w''')) v(what, rows, arguments);
SELECT fit_error('SELECT i AS x, 1e400 AS y FROM generate_series(1, 3) i', '''y''');

-- Targets and objectives
CREATE FUNCTION objective_errors(source text, target text, VARIADIC arguments text[]) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT target || ' ' || a || E'\n' || fit_error(source, quote_literal(target) || ', trees => 1' || CASE a WHEN '' THEN ''
    ELSE ', ' || a END) || E'\n' FROM unnest(arguments) a $$;
CREATE TABLE target AS SELECT i, i % 7 AS x,
    i % 2 = 0 AS flag, (ARRAY['no', 'yes'])[1 + i % 2] AS answer, (ARRAY['red', 'green', 'blue'])[1 + i % 3] AS colour, i % 4 AS count,
    i % 4 / 4.0 AS share, (i % 2)::float8 AS zero_one, i % 4 - 1 AS negative, i % 3 + 0.5 AS half,
    'same'::text AS same, true AS always, 0 AS zero, 1 AS one, i AS many, 'l' || i AS labels, 'small'::size AS size,
    ln(1 + i % 3) AS log_exposure, NULLIF(i % 5, 1)::float8 AS gap, CASE i % 2 WHEN 0 THEN 1e300 ELSE 'Infinity'::float8 END AS huge,
    i % 5 = 0 AS held_out, i % 3 <> 0 AS not_red, i % 3 AS w FROM generate_series(1, 60) i;
SELECT objective_errors('boost_errors.target', 'flag', '', 'objective => ''squared''', 'objective => ''quantile''',
    'objective => ''poisson''', 'objective => ''best''', 'objective => NULL', 'objective => ''Binary''', 'objective => ''multiclass''');
SELECT objective_errors('boost_errors.target', 'colour', 'objective => ''squared''', 'objective => ''gamma''', 'objective => ''binary''',
    'positive => ''red''', 'strategy => ''factorize''', 'criterion => ''mse_sum''');
SELECT objective_errors('boost_errors.target', 'answer', 'positive => ''yse''', 'positive => ''Yes''', 'positive => ''''',
    'objective => ''multiclass'', positive => ''yes''', 'strategy => ''factorize''', 'criterion => ''mse_sum''', 'residuals => ''sketch''');
SELECT objective_errors('boost_errors.target', 'answer', 'class_weights => ''{"yse": 2}''', 'class_weights => ''{"yes": -1}''',
    'class_weights => ''{"yes": "2"}''', 'class_weights => ''{"yes": null}''', 'class_weights => ''{"yes": 1e999}''',
    'class_weights => ''{"yes": 0, "no": 0}''', 'class_weights => ''[1, 2]''', 'class_weights => ''5''',
    'class_weights => ''{}'', balanced => true', 'class_weights => ''{"yes": 0}''', 'class_weights => ''{"yes": {"a": 1}}''');
SELECT objective_errors('boost_errors.target', 'answer', 'options => ''{"class_weights": "balanced"}''', 'class_weights => ''"balanced"''');
SELECT objective_errors('boost_errors.target', 'count', 'class_weights => ''{"1": 2}''', 'balanced => true', 'positive => ''1''',
    'objective => ''binary''', 'objective => ''rank''', 'query => ''x''', 'objective => ''multiclass'', "offset" => ''log_exposure''',
    'objective => ''multiclass'', increasing => ''{x}''', 'objective => ''multiclass'', decreasing => ''{x}''', 'balanced => NULL');
SELECT objective_errors('boost_errors.target', 'share', 'objective => ''binary'', class_weights => ''{"1": 2}''',
    'objective => ''binary'', balanced => true', 'objective => ''binary'', positive => ''1''', 'objective => ''multiclass''');
SELECT objective_errors('boost_errors.target', 'negative', 'objective => ''poisson''', 'objective => ''tweedie''',
    'objective => ''gamma''', 'objective => ''binary''', 'objective => ''poisson'', holdout => ''held_out''');
SELECT objective_errors('boost_errors.target', 'count', 'objective => ''gamma''');
SELECT objective_errors('boost_errors.target', 'half', 'objective => ''binary''', 'objective => ''multiclass''');
SELECT objective_errors('boost_errors.target', 'huge', 'objective => ''multiclass''', 'objective => ''poisson''');
SELECT objective_errors('SELECT price, shape FROM boost_errors.sale', 'shape', '', 'objective => ''multiclass''');
SELECT objective_errors('SELECT i AS x, md5(i::text)::uuid AS id, date ''2025-01-01'' + i AS day, interval ''1 day'' * i AS span, i::oid
    AS oid FROM generate_series(1, 50) i', target, '') FROM unnest('{id,day,span,oid}'::text[]) target;
-- Names of other systems, and near misses
SELECT name, substring(fit_error('boost_errors.target', format('''i'', trees => 1, objective => %L', name)) FROM 'HINT: ([^.]*)\.') AS hint
    FROM unnest('{reg:squarederror,regression,mse,MAE,binary:logistic,logloss,softmax,multi:softprob,lambdarank,rank:ndcg,count:poisson,
        poison,Reg:Tweedie,hubert,nonsense}'::text[]) name;
SELECT name, substring(fit_error('boost_errors.target', format('''i'', trees => 1, metric => %L', name)) FROM 'HINT: ([^.]*)\.') AS hint
    FROM unnest('{roc_auc,mse,l1,logloss,mlogloss,AUC,aucpr,error,brier_score,ndgc,f1,nonsense}'::text[]) name;
SELECT caught($$SELECT btml.boost_fit_agg(flag, ARRAY[x], '{"objective": "binary:logistic"}') FROM boost_errors.target$$);
-- One label only, in all rows or in those to train on; no events.
SELECT objective_errors('boost_errors.target', 'same', '', 'objective => ''binary''', 'objective => ''multiclass''');
SELECT objective_errors('boost_errors.target', 'always', '', 'objective => ''multiclass''');
SELECT objective_errors('boost_errors.target', 'size', '');
SELECT objective_errors('boost_errors.target', 'zero', 'objective => ''binary''', 'objective => ''multiclass''',
    'objective => ''poisson''', 'objective => ''tweedie''', 'objective => ''gamma''');
SELECT objective_errors('boost_errors.target', 'one', 'objective => ''binary''', 'objective => ''poisson''');
SELECT objective_errors('boost_errors.target', 'not_red', 'holdout => ''held_out''')
    UNION ALL SELECT objective_errors('SELECT x, not_red AS held_out, colour FROM boost_errors.target', 'colour',
    'holdout => ''held_out''');
SELECT objective_errors('SELECT x, w, w > 0 AS y FROM boost_errors.target', 'y', 'weight => ''w''')
    UNION ALL SELECT objective_errors('SELECT x, NOT not_red AS held_out, colour FROM boost_errors.target', 'colour',
    'holdout => ''held_out''', 'holdout => ''held_out'', class_weights => ''{"green": 0, "blue": 0}''');
-- NaN, infinities, too many labels
SELECT fit_error('SELECT i AS x, ''NaN''::float8 AS y FROM generate_series(1, 50) i', format('''y'', objective => %L', o))
    FROM unnest('{absolute,huber,quantile,poisson,gamma,tweedie,binary,multiclass}'::text[]) o;
SELECT fit_error(format('SELECT i AS x, CASE i WHEN 7 THEN %L::float8 ELSE i %% 2 END AS y FROM generate_series(1, 50) i', y),
    '''y'', objective => ''binary''') FROM unnest('{Infinity,-Infinity,NaN,1.5,-1}'::text[]) y;
SELECT fit_error('SELECT i AS x, i AS y FROM generate_series(1, 1001) i', '''y'', objective => ''multiclass''');
SELECT fit_error('SELECT i AS x, ''l'' || i AS y FROM generate_series(1, 1001) i', '''y''');
SELECT fit_error('SELECT i AS x, ''l'' || least(i, 1000) AS y FROM generate_series(1, 1001) i', '''y'', trees => 1');
SELECT fit_error('SELECT i AS x, i::numeric * 9007199254740992 AS y FROM generate_series(1, 3) i', '''y'', objective => ''multiclass''');
-- Offset, query, directions
SELECT objective_errors('boost_errors.target', 'count', '"offset" => ''log_exposur''', '"offset" => ''colour''', '"offset" => ''flag''',
    '"offset" => ''gap''', '"offset" => ''count''', 'weight => ''w'', "offset" => ''w''',
    '"offset" => ''log_exposure'', features => ''{x,log_exposure}''', 'objective => ''rank'', query => ''nobody''',
    'objective => ''rank'', query => ''count''');
SELECT fit_error('SELECT i AS x, i % 3 AS y, CASE i WHEN 7 THEN ''NaN''::float8 ELSE 0 END AS o FROM generate_series(1, 50) i',
    '''y'', "offset" => ''o''');
SELECT fit_error('SELECT i AS x, i % 3 AS y, 50000 + i AS o FROM generate_series(1, 50) i',
    '''y'', objective => ''poisson'', "offset" => ''o''');
SELECT fit_error('SELECT price, store_w, quantity FROM boost_errors.sale JOIN boost_errors.store USING (store)',
    '''quantity'', "offset" => ''store_w''');
SELECT objective_errors('boost_errors.target', 'count', 'features => ''{x,colour}'', increasing => ''{colour}''',
    'features => ''{x,colour}'', decreasing => ''{i}''', 'features => ''{x,colour}'', decreasing => ''{y}''',
    'features => ''{x,colour}'', increasing => ''{x}'', decreasing => ''{x}''', 'features => ''{x}'', increasing => ''{x,x}''',
    'features => ''{x}'', categorical => ''{x}'', increasing => ''{x}''', 'features => ''{x}'', increasing => ''{NULL}''',
    'features => ''{x}'', increasing => ''{}''', 'features => ''{x}'', decreasing => ''{{x,i}}''');
-- Options of objectives out of their domains
SELECT objective_errors('SELECT x, count FROM boost_errors.target', 'count', 'objective => ''quantile'', alpha => 0',
    'objective => ''poisson'', power => 1.3', 'objective => ''huber'', alpha => 1', 'alpha => ''NaN''', 'power => 1', 'power => 2',
    'power => ''Infinity''', 'power => NULL', 'max_step => 0', 'max_step => -1', 'max_step => ''NaN''', 'min_leaf_hessian => -1',
    'min_leaf_hessian => ''Infinity''', 'min_leaf_hessian => NULL', 'l1 => -0.1', 'l1 => ''NaN''', 'l1 => NULL');
-- Constant features make trees without splits.
SELECT fit_error('SELECT 1 AS x, colour FROM boost_errors.target', '''colour'', trees => 2');
-- Aggregates
SELECT options, caught(format('SELECT btml.boost_fit_agg(colour, ARRAY[x], %L) FROM boost_errors.target', options)) || E'\n'
    FROM unnest(ARRAY['{"objective": "rank"}', '{"objective": "squared"}', '{"objective": "binary"}', '{"positive": "red"}',
    '{"class_weights": {"rad": 2}}', '{"class_weights": [1]}', '{"class_weights": "balanced"}', '{"class_weights": {"red": -2}}',
    '{"balanced": true, "class_weights": {"red": 2}}', '{"objective": 5}', '{"offset": "x"}',
    '{"positive": null, "class_weights": null, "trees": 1}', '{"alpha": 2}', '{']) options;
SELECT caught('SELECT btml.boost_fit_agg(answer, ARRAY[x], ''{"positive": "maybe"}'') FROM boost_errors.target'),
    caught('SELECT btml.boost_fit_agg(flag, ARRAY[x], ''{"objective": "huber"}'') FROM boost_errors.target'),
    caught('SELECT btml.boost_fit_agg(negative, ARRAY[x], ''{"objective": "poisson"}'') FROM boost_errors.target');
SELECT caught(format('SELECT btml.boost_fit_agg(flag, ARRAY[x], %s) FROM boost_errors.target', w))
    FROM unnest('{-1,NULL::float8,''NaN''::float8,''Infinity''::float8,0,gap}'::text[]) w;
SELECT caught('SELECT btml.boost_fit_agg(''l'' || i, ARRAY[i]) FROM generate_series(1, 1001) i');
-- A label that a group lacks has no weight there, and one notice tells so.
SET client_min_messages = notice;
CREATE TABLE of_group AS SELECT g,
    btml.boost_fit_agg(colour, ARRAY[x], '{"class_weights": {"red": 5}, "trees": 3, "min_leaf_rows": 2}') AS weighed,
    btml.boost_fit_agg(colour, ARRAY[x], '{"trees": 3, "min_leaf_rows": 2}') AS plain FROM boost_errors.target, generate_series(1, 4) g
    WHERE g = 1 OR (g = 2 AND colour = 'blue') OR (g > 2 AND colour <> 'red') GROUP BY g;
SELECT g, btml.summary(weighed)->'labels' AS labels, (SELECT array_agg(t) FROM btml.trees(weighed) t) IS NOT DISTINCT
    FROM (SELECT array_agg(t) FROM btml.trees(plain) t) AS alike FROM of_group ORDER BY g;
SET client_min_messages = warning;
-- Predictions
CREATE TABLE of_kind AS SELECT 'number' AS kind, btml.boost_fit('SELECT x, i AS y FROM boost_errors.target', 'y', trees => 1) AS model
    UNION ALL SELECT 'binary', btml.boost_fit('SELECT x, answer AS y FROM boost_errors.target', 'y', trees => 1)
    UNION ALL SELECT 'shares', btml.boost_fit('SELECT x, share AS y FROM boost_errors.target', 'y', trees => 1, objective => 'binary')
    UNION ALL SELECT 'multiclass', btml.boost_fit('SELECT x, colour AS y FROM boost_errors.target', 'y', trees => 1)
    UNION ALL SELECT 'process', btml.gp_fit('SELECT x, i AS y FROM boost_errors.target', 'y', search => 'none', noise => 1, signal => 1);
SELECT kind || ' ' || call || E'\n'
    || caught(format('SELECT btml.%s FROM boost_errors.of_kind, (VALUES (1)) r(x) WHERE kind = %L', call, kind)) || E'\n'
    FROM of_kind, unnest(ARRAY['predict(model, r)', 'predict_score(model, r)', 'predict_scores(model, r)', 'predict_leaf(model, r)',
    'predict_class(model, r)', 'predict_probabilities(model, r)', 'predict_probability(model, r, ''no'')', 'predict_normal(model, r)',
    'to_sql(model, ''ansi'', ''gren'')', 'to_sql(model, ''oracle'', NULL)', 'to_sql(model, NULL, NULL)']) call
WHERE caught(format('SELECT btml.%s FROM boost_errors.of_kind, (VALUES (1)) r(x) WHERE kind = %L', call, kind)) <> 'no error';
SELECT caught(format('SELECT btml.%s(model, ARRAY[1, 2]%s) FROM boost_errors.of_kind WHERE kind = ''binary''', name, more))
    FROM (VALUES ('predict_score', ''), ('predict_scores', ''), ('predict_leaf', ''), ('predict_class', ''), ('predict_probabilities', ''),
    ('predict_probability', ', ''no''')) v(name, more);
SELECT btml.predict_probability(model, ARRAY[1]::float8[], NULL) IS NULL AS strict, btml.to_sql(NULL, 'ansi', NULL) IS NULL AS of_null
    FROM of_kind WHERE kind = 'binary';

-- Nothing to train on
SELECT what || E'\n' || fit_error(source, arguments) || E'\n' FROM (VALUES
    ('no rows', 'SELECT price, y FROM boost_errors.sale WHERE false', '''y'''), ('an empty join',
    'SELECT price, region, y FROM boost_errors.sale JOIN boost_errors.store ON sale.store = store.store + 100', '''y'''),
    ('no targets', 'SELECT price, NULL::float8 AS y FROM boost_errors.sale', '''y'''),
    ('all held out', 'SELECT price, true AS held_out, y FROM boost_errors.sale', '''y'', holdout => ''held_out'''),
    ('all weights 0', 'SELECT price, 0 AS w, y FROM boost_errors.sale', '''y'', weight => ''w'''),
    ('none held out, early stopping', 'SELECT price, false AS held_out, y FROM boost_errors.sale',
    '''y'', holdout => ''held_out'', early_stopping => 3'),
    ('holdout NULL, early stopping', 'SELECT price, NULL::boolean AS held_out, y FROM boost_errors.sale',
    '''y'', holdout => ''held_out'', early_stopping => 3')) v(what, source, arguments);

-- Memory: refused before the work with both numbers.
SET btml.memory_limit = '64kB';
SELECT regexp_replace(fit_error('SELECT i AS x, i % 7 AS y FROM generate_series(1, 100000) i', '''y'''), 'required is \d+',
    'required is N');
SET btml.memory_limit = '4MB';
SELECT regexp_replace(fit_error('SELECT a.i AS x, b.j AS z, a.i % 7 AS y
    FROM generate_series(1, 100000) a(i), generate_series(1, 100000) b(j)', '''y'', strategy => ''factorize'''), 'required is \d+',
    'required is N');
SELECT regexp_replace(fit_error('SELECT i AS x, i % 7 AS y FROM generate_series(1, 100000) i', '''y'''), 'required is \d+',
    'required is N');
SELECT regexp_replace(fit_error('SELECT a.i AS x, b.j AS z, a.i % 7 AS y
    FROM generate_series(1, 10000) a(i), generate_series(1, 10000) b(j)', '''y'', strategy => ''enumerate'''), 'required is \d+',
    'required is N');
RESET btml.memory_limit;
SELECT fit_error('SELECT a.i AS x, b.j AS z, a.i % 7 AS y FROM generate_series(1, 100000) a(i), generate_series(1, 100000) b(j)',
    '''y'', strategy => ''enumerate''');
-- No limit of join rows is passed silently.
SET btml.memory_limit = '1000GB';
SELECT fit_error('SELECT a.i AS x, b.j AS z, a.i % 7 AS y FROM generate_series(1, 100000) a(i), generate_series(1, 100000) b(j)',
    '''y'', strategy => ''enumerate''');
RESET btml.memory_limit;

-- An error in a column's expression, and rights.
SELECT fit_error('SELECT 1 / (quantity - 3) AS x, y FROM boost_errors.sale', '''y''');
CREATE ROLE regress_boost_reader;
GRANT USAGE ON SCHEMA boost_errors, btml TO regress_boost_reader;
GRANT SELECT ON store TO regress_boost_reader;
SET ROLE regress_boost_reader;
SELECT fit_error('boost_errors.sale', '''y'', features => ''{price}''');
SELECT fit_error('SELECT price, region, y FROM boost_errors.sale JOIN boost_errors.store USING (store)', '''y''');
RESET ROLE;
-- The backend is as good as new.
SELECT fit_error('SELECT price, y FROM boost_errors.sale', '''y''');
DROP SCHEMA boost_errors CASCADE;
DROP OWNED BY regress_boost_reader;
DROP ROLE regress_boost_reader;
