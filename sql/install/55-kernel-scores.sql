-- Cross-validation scores of kernel methods by stratified multi-stage Monte Carlo.

CREATE FUNCTION btml.kde_score(source text, bandwidth float8, epsilon float8 DEFAULT 0.1,
    confidence float8 DEFAULT 0.95, method text DEFAULT 'auto', strata integer DEFAULT NULL,
    min_samples integer DEFAULT NULL, tolerance float8 DEFAULT NULL, seed bigint DEFAULT 0,
    scale text DEFAULT 'none') RETURNS btml.estimate
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_kde_score';
COMMENT ON FUNCTION btml.kde_score(text, float8, float8, float8, text, integer, integer, float8, bigint, text) IS
'least-squares leave-one-out score of kernel density estimation, S_KDE (Holmes, Gray, Isbell: Ultrafast Monte Carlo for Statistical Summations, section 2), lower is better: (1/n) sum_i [integral of the squared density of the other rows - 2 times that density at row i], Gaussian kernels of this bandwidth in column units; points: an array column x, or every column of numbers but id and weight (no weights are taken); method: exact (all pairs), sampled (stratified Monte Carlo in two stages, until the error is at most epsilon times the score, or tolerance, with probability confidence by the normal approximation; exact where that would cost less) or auto (exact up to 20,000 rows or where sampling would not pay); strata: of the rows (default 64), min_samples: rows drawn at least (default 1000); scale: none, or sd to divide each coordinate by its standard deviation; std_error 0: exact; evaluations: of the kernel; same rows in any order, options and seed: same bytes, whatever btml.threads; a NOTICE counts rows whose weights all underflow; errors name the option and the valid values';

CREATE FUNCTION btml.kr_score(source text, target name, bandwidth float8, epsilon float8 DEFAULT 0.1,
    confidence float8 DEFAULT 0.95, method text DEFAULT 'auto', strata integer DEFAULT NULL,
    min_samples integer DEFAULT NULL, tolerance float8 DEFAULT NULL, seed bigint DEFAULT 0,
    scale text DEFAULT 'none') RETURNS btml.estimate
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_kr_score';
COMMENT ON FUNCTION btml.kr_score(text, name, float8, float8, float8, text, integer, integer, float8, bigint, text) IS
'leave-one-out mean squared error of kernel regression, S_KR: (1/n) sum_i (target_i - the other rows'' targets averaged with Gaussian weights of their distance to row i)^2; rows with a NULL target are left out, with a NOTICE; where all weights of a row underflow, its nearest row alone counts; the other arguments and the result as for btml.kde_score';

CREATE FUNCTION btml.kcde_score(source text, target name, bandwidth float8, target_bandwidth float8,
    epsilon float8 DEFAULT 0.1, confidence float8 DEFAULT 0.95, method text DEFAULT 'auto',
    strata integer DEFAULT NULL, min_samples integer DEFAULT NULL, tolerance float8 DEFAULT NULL,
    seed bigint DEFAULT 0, scale text DEFAULT 'none') RETURNS btml.estimate
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_kcde_score';
COMMENT ON FUNCTION btml.kcde_score(text, name, float8, float8, float8, float8, text, integer, integer, float8, bigint, text) IS
'least-squares leave-one-out score of kernel conditional density estimation, S_KCDE, lower is better: (1/n) sum_i [integral of f_i(y)^2 dy - 2 f_i(target_i)], f_i the conditional density of the target at row i from the other rows, with Gaussian weights of bandwidth in the coordinates and Gaussian kernels of target_bandwidth in the target; the other arguments and the result as for btml.kr_score';
