-- Boosted regression trees over joins that are never materialised.

CREATE FUNCTION btml.boost_fit(source text, target name, trees integer DEFAULT 100, learning_rate float8 DEFAULT 0.1,
    max_leaves integer DEFAULT 31, max_depth integer DEFAULT 0, min_leaf_rows float8 DEFAULT 20, l2 float8 DEFAULT 0,
    min_gain float8 DEFAULT 0, max_bins integer DEFAULT 255, features name[] DEFAULT NULL,
    categorical name[] DEFAULT NULL, holdout name DEFAULT NULL, early_stopping integer DEFAULT 0,
    row_fraction float8 DEFAULT 1, feature_fraction float8 DEFAULT 1, strategy text DEFAULT 'auto',
    criterion text DEFAULT 'variance', residuals text DEFAULT 'exact', sketch_size integer DEFAULT NULL,
    epsilon float8 DEFAULT 0.1, delta float8 DEFAULT 0.1, seed bigint DEFAULT 0, verbose boolean DEFAULT false,
    weight name DEFAULT NULL, verify boolean DEFAULT false, min_category_rows float8 DEFAULT 10,
    max_split_categories integer DEFAULT 32, sample_rows bigint DEFAULT NULL) RETURNS btml.model
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_boost_fit';
COMMENT ON FUNCTION btml.boost_fit(text, name, integer, float8, integer, integer, float8, float8, float8, integer, name[], name[], name, integer, float8, float8, text, text, text, integer, float8, float8, bigint, boolean, name, boolean, float8, integer, bigint) IS
'gradient boosted regression trees (squared loss) over the rows of a source, whose join is not materialised (Cromp, Samadian,
Pruhs: Relational Boosted Regression Trees, Algorithms 1 and 2, with shrinkage); source: a table, a view or a SELECT; features:
every output column but target, holdout and weight, unless named; text, enum and boolean columns are categorical; same source,
options and seed: same model, whatever btml.threads; errors name the option and the valid values; options: contrib_docs/boosting.md';

CREATE FUNCTION btml.tree_fit(source text, target name, max_leaves integer DEFAULT 31, max_depth integer DEFAULT 0,
    min_leaf_rows float8 DEFAULT 20, l2 float8 DEFAULT 0, min_gain float8 DEFAULT 0, max_bins integer DEFAULT 0,
    features name[] DEFAULT NULL, categorical name[] DEFAULT NULL, holdout name DEFAULT NULL,
    early_stopping integer DEFAULT 0, row_fraction float8 DEFAULT 1, feature_fraction float8 DEFAULT 1,
    strategy text DEFAULT 'auto', criterion text DEFAULT 'variance', residuals text DEFAULT 'exact',
    sketch_size integer DEFAULT NULL, epsilon float8 DEFAULT 0.1, delta float8 DEFAULT 0.1, seed bigint DEFAULT 0,
    verbose boolean DEFAULT false, weight name DEFAULT NULL, verify boolean DEFAULT false,
    min_category_rows float8 DEFAULT 0, max_split_categories integer DEFAULT 0, sample_rows bigint DEFAULT NULL)
RETURNS btml.model
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 100000 AS 'MODULE_PATHNAME', 'btml_tree_fit';
COMMENT ON FUNCTION btml.tree_fit(text, name, integer, integer, float8, float8, float8, integer, name[], name[], name, integer, float8, float8, text, text, text, integer, float8, float8, bigint, boolean, name, boolean, float8, integer, bigint) IS
'one regression tree without shrinkage (Cromp, Samadian, Pruhs: Relational Boosted Regression Trees, Algorithm 1); options as for btml.boost_fit; max_bins 0: every value that occurs is a candidate threshold; every category may go left';

CREATE FUNCTION btml.feature_importance(model btml.model, OUT feature text, OUT gain float8, OUT splits bigint)
RETURNS SETOF record
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_feature_importance';
COMMENT ON FUNCTION btml.feature_importance(btml.model) IS
'features by their total decrease of the squared error (target squared, summed over rows) and number of splits, most important first; no rows for NULL';

CREATE FUNCTION btml.trees(model btml.model, OUT tree integer, OUT node integer, OUT parent integer,
    OUT depth integer, OUT feature text, OUT threshold float8, OUT categories text[], OUT null_left boolean,
    OUT left_child integer, OUT right_child integer, OUT value float8, OUT rows float8, OUT gain float8)
RETURNS SETOF record
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_trees';
COMMENT ON FUNCTION btml.trees(btml.model) IS
'the nodes of every tree; trees count from 0, so tree t is iteration t + 1 of btml.training_log; node 0 is the root; x < threshold (NaN greatest, as PostgreSQL sorts) or x in categories goes left, NULL where null_left says; value: of a leaf, learning rate included; rows: training rows (weight) that reach the node; gain: decrease of the squared error; prediction = base (see btml.summary) + sum of the leaves'' values; no rows for NULL';

CREATE FUNCTION btml.training_log(model btml.model, OUT iteration integer, OUT train_loss float8,
    OUT holdout_loss float8) RETURNS SETOF record
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_training_log';
COMMENT ON FUNCTION btml.training_log(btml.model) IS
'mean squared error over training and holdout rows after each tree, those that early stopping dropped included; iterations count from 1, so iteration i is tree i - 1 of btml.trees; no rows for NULL';

CREATE FUNCTION btml.to_sql(model btml.model) RETURNS text
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_to_sql';
COMMENT ON FUNCTION btml.to_sql(btml.model) IS
'the model as one SQL expression over its features'' names, equal to btml.predict on every row and runnable without btml; NULL for NULL';

-- Training inside GROUP BY.

CREATE FUNCTION btml.boost_fit_accumulate(btml.training_rows, float8, float8[], jsonb) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_boost_fit_accumulate';
CREATE FUNCTION btml.boost_fit_final(btml.training_rows) RETURNS btml.model
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_boost_fit_final';
COMMENT ON FUNCTION btml.boost_fit_accumulate(btml.training_rows, float8, float8[], jsonb) IS 'transition function of btml.boost_fit_agg';
COMMENT ON FUNCTION btml.boost_fit_final(btml.training_rows) IS 'final function of btml.boost_fit_agg';

CREATE AGGREGATE btml.boost_fit_agg(y float8, x float8[]) (
    SFUNC = btml.training_rows_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml.training_rows_combine,
    FINALFUNC = btml.boost_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.boost_fit_agg(y float8, x float8[], options jsonb) (
    SFUNC = btml.boost_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml.training_rows_combine,
    FINALFUNC = btml.boost_fit_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.boost_fit_agg(float8, float8[]) IS
'boosted trees for each group of any query: y is the target, x the features x1 … xd by position; a NULL element of x is a missing value, a NULL y skips the row; NULL for no rows';
COMMENT ON AGGREGATE btml.boost_fit_agg(float8, float8[], jsonb) IS
'the same with options: a JSON object with names and values of btml.boost_fit''s options trees, learning_rate, max_leaves, max_depth, min_leaf_rows, l2, min_gain, max_bins, row_fraction, feature_fraction, criterion and seed, the same in every row';
