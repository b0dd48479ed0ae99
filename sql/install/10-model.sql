-- The type of all trained models.

CREATE TYPE btml.model;

CREATE FUNCTION btml_internal.model_in(cstring) RETURNS btml.model
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_model_in';
CREATE FUNCTION btml_internal.model_out(btml.model) RETURNS cstring
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_model_out';
CREATE FUNCTION btml_internal.model_recv(internal) RETURNS btml.model
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_model_recv';
CREATE FUNCTION btml_internal.model_send(btml.model) RETURNS bytea
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_model_send';
COMMENT ON FUNCTION btml_internal.model_in(cstring) IS 'input: base64 of the portable form; error 22P03 unless it decodes';
COMMENT ON FUNCTION btml_internal.model_out(btml.model) IS 'output: base64 of the portable form';
COMMENT ON FUNCTION btml_internal.model_recv(internal) IS 'binary input: the portable form; error 22P03 unless it decodes';
COMMENT ON FUNCTION btml_internal.model_send(btml.model) IS 'binary output: the portable form';

CREATE TYPE btml.model (
    INPUT = btml_internal.model_in, OUTPUT = btml_internal.model_out, RECEIVE = btml_internal.model_recv, SEND = btml_internal.model_send,
    INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = external
);
COMMENT ON TYPE btml.model IS
'a trained model: an ordinary value to keep in tables of your own; versioned, checksummed, portable between machines; text form base64, binary form its bytes';

CREATE FUNCTION btml_internal.model_from_bytea(bytea) RETURNS btml.model
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_model_from_bytea';
CREATE FUNCTION btml_internal.model_to_bytea(btml.model) RETURNS bytea
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_model_to_bytea';
COMMENT ON FUNCTION btml_internal.model_from_bytea(bytea) IS 'model from its portable bytes; error 22P03 unless they decode';
COMMENT ON FUNCTION btml_internal.model_to_bytea(btml.model) IS 'portable bytes of a model';
CREATE CAST (bytea AS btml.model) WITH FUNCTION btml_internal.model_from_bytea(bytea);
CREATE CAST (btml.model AS bytea) WITH FUNCTION btml_internal.model_to_bytea(btml.model);

-- Comparison, for DISTINCT, GROUP BY, UNION, indexes and logical replication.
CREATE FUNCTION btml_internal.model_compare(btml.model, btml.model) RETURNS integer
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_model_compare';
CREATE FUNCTION btml_internal.model_equal(btml.model, btml.model) RETURNS boolean
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_model_equal';
CREATE FUNCTION btml_internal.model_not_equal(btml.model, btml.model) RETURNS boolean
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_model_not_equal';
CREATE FUNCTION btml_internal.model_less(btml.model, btml.model) RETURNS boolean
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_model_less';
CREATE FUNCTION btml_internal.model_less_equal(btml.model, btml.model) RETURNS boolean
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_model_less_equal';
CREATE FUNCTION btml_internal.model_greater(btml.model, btml.model) RETURNS boolean
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_model_greater';
CREATE FUNCTION btml_internal.model_greater_equal(btml.model, btml.model) RETURNS boolean
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_model_greater_equal';
CREATE FUNCTION btml_internal.model_hash(btml.model) RETURNS integer
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_model_hash';
CREATE FUNCTION btml_internal.model_hash_extended(btml.model, bigint) RETURNS bigint
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_model_hash_extended';
COMMENT ON FUNCTION btml_internal.model_compare(btml.model, btml.model) IS 'order of the portable bytes: -1, 0 or 1';
COMMENT ON FUNCTION btml_internal.model_equal(btml.model, btml.model) IS 'whether two models have the same portable bytes; seconds are no part of them';
COMMENT ON FUNCTION btml_internal.model_not_equal(btml.model, btml.model) IS 'whether two models have different portable bytes';
COMMENT ON FUNCTION btml_internal.model_less(btml.model, btml.model) IS 'order of the portable bytes';
COMMENT ON FUNCTION btml_internal.model_less_equal(btml.model, btml.model) IS 'order of the portable bytes';
COMMENT ON FUNCTION btml_internal.model_greater(btml.model, btml.model) IS 'order of the portable bytes';
COMMENT ON FUNCTION btml_internal.model_greater_equal(btml.model, btml.model) IS 'order of the portable bytes';
COMMENT ON FUNCTION btml_internal.model_hash(btml.model) IS 'hash of the header of a model, with its digest';
COMMENT ON FUNCTION btml_internal.model_hash_extended(btml.model, bigint) IS 'hash of the header of a model, with its digest, by a seed';

CREATE OPERATOR btml.= (LEFTARG = btml.model, RIGHTARG = btml.model, FUNCTION = btml_internal.model_equal,
    COMMUTATOR = OPERATOR(btml.=), NEGATOR = OPERATOR(btml.<>), RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
CREATE OPERATOR btml.<> (LEFTARG = btml.model, RIGHTARG = btml.model, FUNCTION = btml_internal.model_not_equal,
    COMMUTATOR = OPERATOR(btml.<>), NEGATOR = OPERATOR(btml.=), RESTRICT = neqsel, JOIN = neqjoinsel);
CREATE OPERATOR btml.< (LEFTARG = btml.model, RIGHTARG = btml.model, FUNCTION = btml_internal.model_less,
    COMMUTATOR = OPERATOR(btml.>), NEGATOR = OPERATOR(btml.>=), RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
CREATE OPERATOR btml.<= (LEFTARG = btml.model, RIGHTARG = btml.model, FUNCTION = btml_internal.model_less_equal,
    COMMUTATOR = OPERATOR(btml.>=), NEGATOR = OPERATOR(btml.>), RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
CREATE OPERATOR btml.> (LEFTARG = btml.model, RIGHTARG = btml.model, FUNCTION = btml_internal.model_greater,
    COMMUTATOR = OPERATOR(btml.<), NEGATOR = OPERATOR(btml.<=), RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
CREATE OPERATOR btml.>= (LEFTARG = btml.model, RIGHTARG = btml.model, FUNCTION = btml_internal.model_greater_equal,
    COMMUTATOR = OPERATOR(btml.<=), NEGATOR = OPERATOR(btml.<), RESTRICT = scalargesel, JOIN = scalargejoinsel);
CREATE OPERATOR CLASS btml.model_ops DEFAULT FOR TYPE btml.model USING btree AS
    OPERATOR 1 btml.<, OPERATOR 2 btml.<=, OPERATOR 3 btml.=, OPERATOR 4 btml.>=, OPERATOR 5 btml.>,
    FUNCTION 1 btml_internal.model_compare(btml.model, btml.model);
CREATE OPERATOR CLASS btml.model_ops DEFAULT FOR TYPE btml.model USING hash AS
    OPERATOR 1 btml.=, FUNCTION 1 btml_internal.model_hash(btml.model), FUNCTION 2 btml_internal.model_hash_extended(btml.model, bigint);

CREATE FUNCTION btml.predict(model btml.model, input record) RETURNS float8
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_record';
COMMENT ON FUNCTION btml.predict(btml.model, record) IS
'prediction for a row: of boosted trees the number, the mean (objectives poisson, gamma, tweedie) or the probability of the second label (binary), of a Gaussian process and a linear model the mean (of two labels the probability of the second); features by column name (write t.* for the whole row of t); other columns are ignored, a NULL is a missing value, a category never seen goes right in boosted trees and is unknown to a Gaussian process; error 42703 naming a missing column, 42701 one that the record has twice, 42804 one of the wrong type; 42804 for objective multiclass, which has btml.predict_class, btml.predict_probability and btml.predict_probabilities; 22004 for an offset that is NULL';

CREATE FUNCTION btml.predict(model btml.model, features float8[]) RETURNS float8
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_array';
COMMENT ON FUNCTION btml.predict(btml.model, float8[]) IS
'prediction for features by position, in the order of btml.summary(model)->''features''; a categorical by its code there, counted from 0; a NULL element is a missing value; error 22023 for the wrong number of elements';

CREATE FUNCTION btml.predict(model btml.model, input record, trees numeric) RETURNS float8
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_first_record';
COMMENT ON FUNCTION btml.predict(btml.model, record, numeric) IS
'prediction of the first trees of boosted trees alone, as of a fit with so many; 0: the base; error 22023 for more than the model has, 42804 for a Gaussian process';

CREATE FUNCTION btml.predict(model btml.model, features float8[], trees numeric) RETURNS float8
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_first_array';
COMMENT ON FUNCTION btml.predict(btml.model, float8[], numeric) IS
'prediction of the first trees of boosted trees alone, for features by position';

CREATE FUNCTION btml.predict_score(model btml.model, input record) RETURNS float8
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_score_record';
CREATE FUNCTION btml.predict_score(model btml.model, features float8[]) RETURNS float8
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_score_array';
COMMENT ON FUNCTION btml.predict_score(btml.model, record) IS
'score of boosted trees or a linear model for a row: base + offset + sum of the leaves'' values or contributions, of which the prediction is the mean or probability; features and errors as for btml.predict; error 42804 for objective multiclass, which has btml.predict_scores';
COMMENT ON FUNCTION btml.predict_score(btml.model, float8[]) IS
'score of boosted trees for features by position, as btml.predict takes them';

CREATE FUNCTION btml.predict_scores(model btml.model, input record) RETURNS float8[]
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_scores_record';
CREATE FUNCTION btml.predict_scores(model btml.model, features float8[]) RETURNS float8[]
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_scores_array';
COMMENT ON FUNCTION btml.predict_scores(btml.model, record) IS
'scores of boosted trees for a row: of objective multiclass one for each label, in the order of btml.summary(model)->''labels'', of the others one; features and errors as for btml.predict';
COMMENT ON FUNCTION btml.predict_scores(btml.model, float8[]) IS
'scores of boosted trees for features by position, as btml.predict takes them';

CREATE FUNCTION btml.predict_leaf(model btml.model, input record) RETURNS integer[]
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_leaf_record';
CREATE FUNCTION btml.predict_leaf(model btml.model, features float8[]) RETURNS integer[]
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_leaf_array';
COMMENT ON FUNCTION btml.predict_leaf(btml.model, record) IS
'the leaf that a row ends in, for each of the boosted trees: a node of btml.trees(model), in the order of trees; features and errors as for btml.predict';
COMMENT ON FUNCTION btml.predict_leaf(btml.model, float8[]) IS
'the leaf of each of the boosted trees for features by position, as btml.predict takes them';

CREATE FUNCTION btml.predict_class(model btml.model, input record) RETURNS text
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_class_record';
CREATE FUNCTION btml.predict_class(model btml.model, features float8[]) RETURNS text
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_class_array';
COMMENT ON FUNCTION btml.predict_class(btml.model, record) IS
'the likeliest label of a row, the first of several; features and errors as for btml.predict; error 42804 for a model whose target was a number';
COMMENT ON FUNCTION btml.predict_class(btml.model, float8[]) IS
'the likeliest label for features by position, as btml.predict takes them';

CREATE FUNCTION btml.predict_probabilities(model btml.model, input record) RETURNS float8[]
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_probabilities_record';
CREATE FUNCTION btml.predict_probabilities(model btml.model, features float8[]) RETURNS float8[]
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_probabilities_array';
COMMENT ON FUNCTION btml.predict_probabilities(btml.model, record) IS
'the probability of each label for a row, in the order of btml.summary(model)->''labels''; features and errors as for btml.predict; error 42804 for a model whose target was a number';
COMMENT ON FUNCTION btml.predict_probabilities(btml.model, float8[]) IS
'the probability of each label for features by position, as btml.predict takes them';

CREATE FUNCTION btml.predict_probability(model btml.model, input record, label text) RETURNS float8
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_probability_record';
CREATE FUNCTION btml.predict_probability(model btml.model, features float8[], label text) RETURNS float8
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_probability_array';
COMMENT ON FUNCTION btml.predict_probability(btml.model, record, text) IS
'the probability of a label for a row; features and errors as for btml.predict; error 22023 for a label that the model does not have, 42804 for a model whose target was a number';
COMMENT ON FUNCTION btml.predict_probability(btml.model, float8[], text) IS
'the probability of a label for features by position, as btml.predict takes them';

CREATE FUNCTION btml.predict_normal(model btml.model, input record) RETURNS btml.normal
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_normal_record';
CREATE FUNCTION btml.predict_normal(model btml.model, features float8[]) RETURNS btml.normal
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_normal_array';
COMMENT ON FUNCTION btml.predict_normal(btml.model, record) IS
'distribution of an observation for a row, of a Gaussian process or of boosted trees with deviation => ''learned'', in the target''s units: mean and standard deviation, noise of an observation of weight 1 included, the variance calibrated (summary''s calibration.variance); of a mixture, those of the mixture; features and errors as for btml.predict; use it in LATERAL for its fields; error 42804 for boosted trees that have not learned a deviation';
COMMENT ON FUNCTION btml.predict_normal(btml.model, float8[]) IS
'distribution of an observation for features by position, as btml.predict takes them; the result as for a row';

CREATE FUNCTION btml.predict_latent(model btml.model, input record) RETURNS btml.normal
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_latent_record';
CREATE FUNCTION btml.predict_latent(model btml.model, features float8[]) RETURNS btml.normal
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_predict_latent_array';
COMMENT ON FUNCTION btml.predict_latent(btml.model, record) IS
'distribution of the latent function for a row: as btml.predict_normal, without observation noise';
COMMENT ON FUNCTION btml.predict_latent(btml.model, float8[]) IS
'distribution of the latent function for features by position: as btml.predict_normal, without observation noise';

CREATE FUNCTION btml.describe(model btml.model) RETURNS text
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_describe';
COMMENT ON FUNCTION btml.describe(btml.model) IS
'a model in one line: kind, size, number of features, target, objective, training rows, and the mean loss of held-out rows (of training rows where none were held out) beside that of the best constant; of a Gaussian process the mean negative log likelihood, of a linear model the part of the deviance that it explains; meant for people: btml.summary has each as a value';

CREATE FUNCTION btml.feature_names(model btml.model) RETURNS text[]
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_feature_names';
COMMENT ON FUNCTION btml.feature_names(btml.model) IS
'names of the features in the order in which btml.predict takes them by position';

CREATE FUNCTION btml.summary(model btml.model) RETURNS jsonb
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_summary';
COMMENT ON FUNCTION btml.summary(btml.model) IS
'what a model is: kind, format, target, base (an array for objective multiclass; of a Gaussian process the mean, and scale the deviation, of its targets: over trees, of what these leave), labels and class_weights of targets that have them, features (name, type, categories, direction, offset), params, rows, holdout_rows, rows_skipped (rows whose target was NULL), metrics (mean losses of trees, and of the best constant as baseline_…; of a Gaussian process log likelihood, noise and signal in units of the target''s variance, members, scores; of a linear model deviance, dispersion, r_squared, aic), strategy and why, seconds by phase (not kept by the text and binary forms); NULL for NULL';
