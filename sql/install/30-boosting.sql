-- Boosted regression trees over joins that are never materialised.

CREATE FUNCTION btml.boost_fit(source text, target name, trees numeric DEFAULT 100, learning_rate float8 DEFAULT 0.1,
    max_leaves numeric DEFAULT 31, max_depth numeric DEFAULT 0, min_leaf_rows float8 DEFAULT 20, l2 float8 DEFAULT 0,
    min_gain float8 DEFAULT 0, max_bins numeric DEFAULT 255, features name[] DEFAULT NULL,
    categorical name[] DEFAULT NULL, holdout name DEFAULT NULL, early_stopping numeric DEFAULT 0,
    row_fraction float8 DEFAULT 1, feature_fraction float8 DEFAULT 1, strategy text DEFAULT 'auto',
    criterion text DEFAULT 'variance', residuals text DEFAULT 'exact', sketch_size numeric DEFAULT NULL,
    epsilon float8 DEFAULT 0.1, delta float8 DEFAULT 0.1, seed numeric DEFAULT 0, verbose boolean DEFAULT false,
    weight name DEFAULT NULL, verify boolean DEFAULT false, min_category_rows float8 DEFAULT 10,
    max_split_categories numeric DEFAULT 32,
    objective text DEFAULT 'auto', alpha float8 DEFAULT NULL, power float8 DEFAULT 1.5, positive text DEFAULT NULL,
    "offset" name DEFAULT NULL, query name DEFAULT NULL, class_weights btml.json DEFAULT NULL,
    balanced boolean DEFAULT false, increasing name[] DEFAULT NULL, decreasing name[] DEFAULT NULL,
    max_step float8 DEFAULT NULL, min_leaf_hessian float8 DEFAULT 0.001, l1 float8 DEFAULT 0, metric text DEFAULT NULL,
    sample_rows numeric DEFAULT NULL, options btml.json DEFAULT NULL, exclude name[] DEFAULT NULL,
    start btml.model DEFAULT NULL, deviation text DEFAULT 'none', unit text DEFAULT 'join',
    holdout_fraction float8 DEFAULT NULL, order_by name DEFAULT NULL, group_by name DEFAULT NULL,
    args text[] DEFAULT NULL)
    RETURNS btml.model
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_boost_fit';
COMMENT ON FUNCTION btml.boost_fit(text, name, numeric, float8, numeric, numeric, float8, float8, float8, numeric, name[], name[], name, numeric, float8, float8, text, text, text, numeric, float8, float8, numeric, boolean, name, boolean, float8, numeric, text, float8, float8, text, name, name, btml.json, boolean, name[], name[], float8, float8, float8, text, numeric, btml.json, name[], btml.model, text, text, float8, name, name, text[]) IS
'gradient boosted trees over the rows of a source, whose join is not materialised (Cromp, Samadian, Pruhs: Relational Boosted
Regression Trees); source: a table, view or SELECT (args: its $1, $2); target: numbers, or labels (boolean, text, enum); objective: auto
(binary for two labels, multiclass for more, squared for numbers), squared, absolute, huber, quantile, poisson, gamma, tweedie,
binary, multiclass or rank; features: every output column but those with another role and those in exclude; deviation: none or
learned; unit: join or target; start: trees to go on from; same source, options and seed: same model; errors name the option
and the valid values; options: contrib_docs/boosting.md';

CREATE FUNCTION btml.tree_fit(source text, target name, max_leaves numeric DEFAULT 31, max_depth numeric DEFAULT 0,
    min_leaf_rows float8 DEFAULT 20, l2 float8 DEFAULT 0, min_gain float8 DEFAULT 0, max_bins numeric DEFAULT 0,
    features name[] DEFAULT NULL, categorical name[] DEFAULT NULL, holdout name DEFAULT NULL,
    early_stopping numeric DEFAULT 0, row_fraction float8 DEFAULT 1, feature_fraction float8 DEFAULT 1,
    strategy text DEFAULT 'auto', criterion text DEFAULT 'variance', residuals text DEFAULT 'exact',
    sketch_size numeric DEFAULT NULL, epsilon float8 DEFAULT 0.1, delta float8 DEFAULT 0.1, seed numeric DEFAULT 0,
    verbose boolean DEFAULT false, weight name DEFAULT NULL, verify boolean DEFAULT false,
    min_category_rows float8 DEFAULT 0, max_split_categories numeric DEFAULT 0,
    objective text DEFAULT 'auto', alpha float8 DEFAULT NULL, power float8 DEFAULT 1.5, positive text DEFAULT NULL,
    "offset" name DEFAULT NULL, query name DEFAULT NULL, class_weights btml.json DEFAULT NULL,
    balanced boolean DEFAULT false, increasing name[] DEFAULT NULL, decreasing name[] DEFAULT NULL,
    max_step float8 DEFAULT NULL, min_leaf_hessian float8 DEFAULT 0.001, l1 float8 DEFAULT 0, metric text DEFAULT NULL,
    sample_rows numeric DEFAULT NULL, options btml.json DEFAULT NULL, exclude name[] DEFAULT NULL,
    unit text DEFAULT 'join', holdout_fraction float8 DEFAULT NULL, order_by name DEFAULT NULL, group_by name DEFAULT NULL,
    args text[] DEFAULT NULL)
    RETURNS btml.model
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 100000 AS 'MODULE_PATHNAME', 'btml_tree_fit';
COMMENT ON FUNCTION btml.tree_fit(text, name, numeric, numeric, float8, float8, float8, numeric, name[], name[], name, numeric, float8, float8, text, text, text, numeric, float8, float8, numeric, boolean, name, boolean, float8, numeric, text, float8, float8, text, name, name, btml.json, boolean, name[], name[], float8, float8, float8, text, numeric, btml.json, name[], text, float8, name, name, text[]) IS
'one regression or classification tree without shrinkage (Cromp, Samadian, Pruhs: Relational Boosted Regression Trees, Algorithm 1); options as for btml.boost_fit; max_bins 0: every value that occurs is a candidate threshold; every category may go left';

CREATE FUNCTION btml.feature_importance(model btml.model, elements boolean DEFAULT false,
    OUT feature text, OUT gain float8, OUT splits bigint) RETURNS SETOF record
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_feature_importance';
COMMENT ON FUNCTION btml.feature_importance(btml.model, boolean) IS
'features by their total gain (of objective squared the decrease of the squared error, target squared, summed over rows; of others twice the decrease of the loss''s second order approximation) and number of splits, most important first; elements: each element of an array apart, else their sum; no rows for NULL';

CREATE FUNCTION btml.trees(model btml.model, OUT tree integer, OUT node integer, OUT parent integer,
    OUT depth integer, OUT feature text, OUT threshold float8, OUT categories text[], OUT null_left boolean,
    OUT left_child integer, OUT right_child integer, OUT value float8, OUT rows float8, OUT gain float8, OUT class text)
RETURNS SETOF record
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_trees';
COMMENT ON FUNCTION btml.trees(btml.model) IS
'the nodes of every tree; trees count from 0, so tree t is iteration t + 1 of btml.training_log; node 0 is the root; x < threshold (NaN greatest, as PostgreSQL sorts) or x in categories goes left, NULL where null_left says; value: of a leaf, learning rate included; rows: training rows (weight) that reach the node; gain: decrease of the squared error, of other objectives twice the decrease of the loss''s second order approximation; score = base (see btml.summary) + sum of the leaves'' values, which is the prediction or gives it by the objective''s link; class: of objective multiclass, the label whose score the tree adds to; no rows for NULL';

CREATE FUNCTION btml.training_log(model btml.model, OUT iteration integer, OUT train_loss float8,
    OUT holdout_loss float8, OUT holdout_metric float8) RETURNS SETOF record
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_training_log';
COMMENT ON FUNCTION btml.training_log(btml.model) IS
'mean loss over training and holdout rows after each iteration, those that early stopping dropped included: of objective squared the mean squared error, of the others the mean of the loss, natural logarithms; holdout_metric: NULL unless a metric was asked for; iterations count from 1, so iteration i is tree i - 1 of btml.trees, of objective multiclass a tree for each label; no rows for NULL';

CREATE FUNCTION btml.to_sql(model btml.model) RETURNS text
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_to_sql';
COMMENT ON FUNCTION btml.to_sql(btml.model) IS
'the model as one PostgreSQL expression over its features'' names, equal to btml.predict on every row and runnable without btml: scores are the same bits, functions of them by SQL''s exp within 4 units of the last place; of objective multiclass the array that btml.predict_probabilities gives; NULL for NULL';

CREATE FUNCTION btml.to_sql(model btml.model, dialect text, label text) RETURNS text
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_to_sql';
COMMENT ON FUNCTION btml.to_sql(btml.model, text, text) IS
'the same in a dialect: postgresql, or ansi (standard SQL of 2023: CAST, GREATEST, LEAST, EXP; texts compare by the collation of their columns; error 0A000 naming what it has no expression for: dates and times, NaN and infinities); label: the probability of this one, error 22023 unless the model has it; NULL label: the prediction, of objective multiclass an array of probabilities; NULL model: NULL';

-- Training inside GROUP BY. Options may be text as well, so that a literal without a type is not taken for a weight.

CREATE FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, float8, float8[], btml.json) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_boost_fit_accumulate';
CREATE FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, float8, float8[], btml.json, float8) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_boost_fit_accumulate';
CREATE FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, float8, float8[], text) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_boost_fit_accumulate_text';
CREATE FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, boolean, float8[], btml.json) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_boost_fit_accumulate_boolean';
CREATE FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, boolean, float8[], btml.json, float8) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_boost_fit_accumulate_boolean';
CREATE FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, boolean, float8[], text) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_boost_fit_accumulate_boolean_text';
CREATE FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, text, float8[], btml.json) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_boost_fit_accumulate_label';
CREATE FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, text, float8[], btml.json, float8) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_boost_fit_accumulate_label';
CREATE FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, text, float8[], text) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_boost_fit_accumulate_label_text';
CREATE FUNCTION btml_internal.boost_fit_final(btml.training_rows) RETURNS btml.model
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_boost_fit_final';
COMMENT ON FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, float8, float8[], btml.json) IS 'transition function of btml.boost_fit_agg';
COMMENT ON FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, float8, float8[], btml.json, float8) IS 'transition function of btml.boost_fit_agg';
COMMENT ON FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, float8, float8[], text) IS 'transition function of btml.boost_fit_agg';
COMMENT ON FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, boolean, float8[], btml.json) IS 'transition function of btml.boost_fit_agg';
COMMENT ON FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, boolean, float8[], btml.json, float8) IS 'transition function of btml.boost_fit_agg';
COMMENT ON FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, boolean, float8[], text) IS 'transition function of btml.boost_fit_agg';
COMMENT ON FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, text, float8[], btml.json) IS 'transition function of btml.boost_fit_agg';
COMMENT ON FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, text, float8[], btml.json, float8) IS 'transition function of btml.boost_fit_agg';
COMMENT ON FUNCTION btml_internal.boost_fit_accumulate(btml.training_rows, text, float8[], text) IS 'transition function of btml.boost_fit_agg';
COMMENT ON FUNCTION btml_internal.boost_fit_final(btml.training_rows) IS 'final function of btml.boost_fit_agg';

CREATE AGGREGATE btml.boost_fit_agg(y float8, x float8[]) (
    SFUNC = btml_internal.training_rows_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.boost_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.boost_fit_agg(y float8, x float8[], weight float8) (
    SFUNC = btml_internal.training_rows_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.boost_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.boost_fit_agg(y float8, x float8[], options btml.json) (
    SFUNC = btml_internal.boost_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.boost_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.boost_fit_agg(y float8, x float8[], options btml.json, weight float8) (
    SFUNC = btml_internal.boost_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.boost_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.boost_fit_agg(y float8, x float8[], options text) (
    SFUNC = btml_internal.boost_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.boost_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.boost_fit_agg(y boolean, x float8[]) (
    SFUNC = btml_internal.training_rows_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.boost_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.boost_fit_agg(y boolean, x float8[], weight float8) (
    SFUNC = btml_internal.training_rows_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.boost_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.boost_fit_agg(y boolean, x float8[], options btml.json) (
    SFUNC = btml_internal.boost_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.boost_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.boost_fit_agg(y boolean, x float8[], options btml.json, weight float8) (
    SFUNC = btml_internal.boost_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.boost_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.boost_fit_agg(y boolean, x float8[], options text) (
    SFUNC = btml_internal.boost_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.boost_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.boost_fit_agg(y text, x float8[]) (
    SFUNC = btml_internal.training_rows_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.boost_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.boost_fit_agg(y text, x float8[], weight float8) (
    SFUNC = btml_internal.training_rows_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.boost_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.boost_fit_agg(y text, x float8[], options btml.json) (
    SFUNC = btml_internal.boost_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.boost_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.boost_fit_agg(y text, x float8[], options btml.json, weight float8) (
    SFUNC = btml_internal.boost_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.boost_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.boost_fit_agg(y text, x float8[], options text) (
    SFUNC = btml_internal.boost_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.boost_fit_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.boost_fit_agg(float8, float8[]) IS
'boosted trees for each group of any query: y is the target, a number; x the features x1 ... xd by position; a NULL element of x is a missing value, a NULL y skips the row; NULL for no rows';
COMMENT ON AGGREGATE btml.boost_fit_agg(float8, float8[], float8) IS
'the same for a target that is a number, and with what a row counts, not negative';
COMMENT ON AGGREGATE btml.boost_fit_agg(float8, float8[], btml.json) IS
'the same with options: a JSON object with names and values of btml.boost_fit''s options trees, learning_rate, max_leaves, max_depth, min_leaf_rows, l1, l2, min_gain, max_bins, row_fraction, feature_fraction, criterion, seed, objective (not rank), alpha, power, positive, class_weights, balanced, max_step and min_leaf_hessian, the same in every row';
COMMENT ON AGGREGATE btml.boost_fit_agg(float8, float8[], btml.json, float8) IS
'the same for a target that is a number, with options, and with what a row counts, not negative';
COMMENT ON AGGREGATE btml.boost_fit_agg(float8, float8[], text) IS
'the same for a target that is a number, with options as text';
COMMENT ON AGGREGATE btml.boost_fit_agg(boolean, float8[]) IS
'boosted trees for each group of any query: y is the target, the probability of true is predicted; x the features x1 ... xd by position; a NULL element of x is a missing value, a NULL y skips the row; NULL for no rows; a group with one label has a constant model, with a NOTICE';
COMMENT ON AGGREGATE btml.boost_fit_agg(boolean, float8[], float8) IS
'the same for a target that is boolean, and with what a row counts, not negative';
COMMENT ON AGGREGATE btml.boost_fit_agg(boolean, float8[], btml.json) IS
'the same for a target that is boolean, with options';
COMMENT ON AGGREGATE btml.boost_fit_agg(boolean, float8[], btml.json, float8) IS
'the same for a target that is boolean, with options, and with what a row counts, not negative';
COMMENT ON AGGREGATE btml.boost_fit_agg(boolean, float8[], text) IS
'the same for a target that is boolean, with options as text';
COMMENT ON AGGREGATE btml.boost_fit_agg(text, float8[]) IS
'boosted trees for each group of any query: y is the target, a label; x the features x1 ... xd by position; a NULL element of x is a missing value, a NULL y skips the row; NULL for no rows; a group with one label has a constant model, with a NOTICE';
COMMENT ON AGGREGATE btml.boost_fit_agg(text, float8[], float8) IS
'the same for a target that is a label, and with what a row counts, not negative';
COMMENT ON AGGREGATE btml.boost_fit_agg(text, float8[], btml.json) IS
'the same for a target that is a label, with options';
COMMENT ON AGGREGATE btml.boost_fit_agg(text, float8[], btml.json, float8) IS
'the same for a target that is a label, with options, and with what a row counts, not negative';
COMMENT ON AGGREGATE btml.boost_fit_agg(text, float8[], text) IS
'the same for a target that is a label, with options as text';
