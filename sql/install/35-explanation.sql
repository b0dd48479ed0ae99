-- What features add to the scores of boosted trees, and how predictions of any model change with them.

CREATE FUNCTION btml.explain(model btml.model, input record, elements boolean DEFAULT false,
    OUT feature text, OUT value text, OUT contribution float8) RETURNS SETOF record
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000 ROWS 20 AS 'MODULE_PATHNAME', 'btml_explain_record';
CREATE FUNCTION btml.explain(model btml.model, features float8[], elements boolean DEFAULT false,
    OUT feature text, OUT value text, OUT contribution float8) RETURNS SETOF record
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 20 AS 'MODULE_PATHNAME', 'btml_explain_array';
CREATE FUNCTION btml.explain(model btml.model, input record, class text, elements boolean DEFAULT false,
    OUT feature text, OUT value text, OUT contribution float8) RETURNS SETOF record
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000 ROWS 20 AS 'MODULE_PATHNAME', 'btml_explain_record';
CREATE FUNCTION btml.explain(model btml.model, features float8[], class text, elements boolean DEFAULT false,
    OUT feature text, OUT value text, OUT contribution float8) RETURNS SETOF record
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 20 AS 'MODULE_PATHNAME', 'btml_explain_array';
COMMENT ON FUNCTION btml.explain(btml.model, record, boolean) IS
'what each feature of a row adds to the score of boosted trees: path-dependent SHAP values (Lundberg et al., Nature Machine Intelligence 2020), the largest first, after the base, which is the mean score by the training rows of the nodes; they add up to btml.predict_score within 1e-12 of the sum of magnitudes; value: what the row has, as text; an offset adds itself; elements: each element of an array apart, else their sum; of a linear model exactly what each adds to the score, over what it adds on average; errors as for btml.predict; 42804 for a Gaussian process, and for objective multiclass, which needs a class';
COMMENT ON FUNCTION btml.explain(btml.model, float8[], boolean) IS
'the same for features by position, as btml.predict takes them; value: the number, or the name of a category';
COMMENT ON FUNCTION btml.explain(btml.model, record, text, boolean) IS
'the same for the score of a class: of objective binary the first label has the negative of the second''s; error 22023 for a class that the model does not have, 42804 for a model whose target was a number';
COMMENT ON FUNCTION btml.explain(btml.model, float8[], text, boolean) IS
'the same for the score of a class and features by position';

CREATE FUNCTION btml.shap(model btml.model, input record) RETURNS float8[]
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'btml_shap_record';
CREATE FUNCTION btml.shap(model btml.model, features float8[]) RETURNS float8[]
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'btml_shap_array';
COMMENT ON FUNCTION btml.shap(btml.model, record) IS
'the contributions of btml.explain by position, of arrays those of their elements, in the order of btml.summary(model)->''features'', and last the base; of objective multiclass so many numbers for each label, in the order of btml.summary(model)->''labels''; features and errors as for btml.predict; error 42804 for a Gaussian process';
COMMENT ON FUNCTION btml.shap(btml.model, float8[]) IS
'the same for features by position, as btml.predict takes them';

CREATE FUNCTION btml.shap_interactions(model btml.model, input record, elements boolean DEFAULT false,
    OUT feature text, OUT other text, OUT contribution float8) RETURNS SETOF record
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10000 ROWS 400 AS 'MODULE_PATHNAME', 'btml_shap_interactions_record';
CREATE FUNCTION btml.shap_interactions(model btml.model, features float8[], elements boolean DEFAULT false,
    OUT feature text, OUT other text, OUT contribution float8) RETURNS SETOF record
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000 ROWS 400 AS 'MODULE_PATHNAME', 'btml_shap_interactions_array';
CREATE FUNCTION btml.shap_interactions(model btml.model, input record, class text, elements boolean DEFAULT false,
    OUT feature text, OUT other text, OUT contribution float8) RETURNS SETOF record
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10000 ROWS 400 AS 'MODULE_PATHNAME', 'btml_shap_interactions_record';
CREATE FUNCTION btml.shap_interactions(model btml.model, features float8[], class text, elements boolean DEFAULT false,
    OUT feature text, OUT other text, OUT contribution float8) RETURNS SETOF record
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000 ROWS 400 AS 'MODULE_PATHNAME', 'btml_shap_interactions_array';
COMMENT ON FUNCTION btml.shap_interactions(btml.model, record, boolean) IS
'SHAP interaction values (Lundberg et al., Nature Machine Intelligence 2020) of a row: for every two features half of what they add together beyond what each adds alone, in both orders; for a feature with itself what of its contribution is left; the rows of a feature add up to its contribution in btml.explain; elements, features and errors as there';
COMMENT ON FUNCTION btml.shap_interactions(btml.model, float8[], boolean) IS
'the same for features by position, as btml.predict takes them';
COMMENT ON FUNCTION btml.shap_interactions(btml.model, record, text, boolean) IS
'the same for the score of a class, as btml.explain takes it';
COMMENT ON FUNCTION btml.shap_interactions(btml.model, float8[], text, boolean) IS
'the same for the score of a class and features by position';

CREATE FUNCTION btml.shap_importance(model btml.model, source text, sample_rows numeric DEFAULT 1000,
    seed numeric DEFAULT 0, elements boolean DEFAULT false,
    args text[] DEFAULT NULL, OUT feature text, OUT mean_absolute float8, OUT std_error float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_shap_importance';
COMMENT ON FUNCTION btml.shap_importance(btml.model, text, numeric, numeric, boolean, text[]) IS
'features by the mean magnitude of their contributions to the score (see btml.explain; of objective multiclass, added up over the labels) over rows of a source, most important first: over a uniform sample of sample_rows rows, without building the join, or over all where there are no more; std_error: of the mean as an estimate of that over all rows, 0 where all are taken, NULL for one row of several; elements: each element of an array apart; the same source and seed: the same answer; no rows for a NULL model; error 22023 for a source without rows, 42804 for a Gaussian process';

CREATE FUNCTION btml.partial_dependence(model btml.model, source text, feature name, points numeric DEFAULT 20,
    by name DEFAULT NULL, sample_rows numeric DEFAULT 1000, seed numeric DEFAULT 0, class text DEFAULT NULL,
    args text[] DEFAULT NULL,
    OUT value text, OUT number float8, OUT by_value text, OUT mean float8, OUT std_error float8, OUT p10 float8,
    OUT p90 float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_partial_dependence';
COMMENT ON FUNCTION btml.partial_dependence(btml.model, text, name, numeric, name, numeric, numeric, text, text[]) IS
'predictions of any model over rows of a source, a sample without building the join, in all of which the feature has one value after the other (Friedman, Annals of Statistics 2001): quantiles of a number, the most frequent categories, and NULL where it occurs; mean with its standard error as an estimate of that over all rows, 10 % and 90 % quantiles; by: apart for each value of a column; class: of its probability; no rows for a NULL model; error 22023 for a feature that the model does not have and a source without rows, 42804 for objective multiclass without a class';

CREATE FUNCTION btml.permutation_importance(model btml.model, source text, target name, metric text DEFAULT NULL,
    repeats numeric DEFAULT 5, seed numeric DEFAULT 0, holdout name DEFAULT NULL, sample_rows numeric DEFAULT 10000,
    elements boolean DEFAULT false, args text[] DEFAULT NULL, OUT feature text, OUT importance float8, OUT std_error float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_permutation_importance';
COMMENT ON FUNCTION btml.permutation_importance(btml.model, text, name, text, numeric, numeric, name, numeric, boolean, text[]) IS
'by how much a metric of any model gets worse when the values of one column change places among rows of a source (Breiman, Machine Learning 2001), most important first: over those held out, where a holdout is named, a sample without building the join; metric: as of btml.boost_fit, by default the one nearest to the loss; std_error: of the mean over the repeats, NULL for one; rows whose target is NULL do not count; elements: each element of an array by itself; the same source and seed: the same answer; no rows for a NULL model; error 22023 for a metric that is not for the objective and a source without rows, 0A000 for objective rank';
