// How far off predictions are: btml.predict_interval, btml.predict_quantile and btml.predict_distribution.
#include "core/numbers/student_t.hpp"
#include "pg/model/prediction.hpp"
#include "pg/values/result.hpp"

namespace btml::pg {

namespace {

[[noreturn]] void refuse_without_calibration(const DecodedModel& model, const char* function) {
    std::string detail,
        hint = "Train it with a holdout, a boolean column that is true for the rows to calibrate by, or with "
               "deviation => 'learned'.";
    if (model.is_imported) {
        detail = "It was trained by another library.";
        hint = "Train it with btml.boost_fit and a holdout.";
    } else if (model.strategy == "factorize" || model.strategy == "distributed") {
        detail = "Its strategy '" + model.strategy + "' holds no rows to calibrate by.";
        hint = "Train it with strategy => 'enumerate' or 'sample', and a holdout.";
    }
    throw Error(ErrorCode::invalid_argument, format("model has no calibration, btml.%s needs one", function), detail,
                hint);
}

// Says why a linear model has no intervals, or none of observations.
[[noreturn]] void refuse_linear_interval(const linear::Model& model) {
    const auto refuse = [](const char* message, const char* hint) {
        throw Error(ErrorCode::wrong_type, message, "", hint);
    };
    if (model.options.penalty > 0) refuse("a penalised model has no intervals", "Fit it with penalty => 0.");
    if (!model.has_errors())
        refuse("a model with as many coefficients as rows has no intervals",
               "Fit it to more rows, or with fewer features.");
    if (model.covariance.empty())
        refuse("a model of so many coefficients has no intervals",
               "Intervals need at most 511 coefficients beside the intercept.");
    throw Error(ErrorCode::wrong_type, format("a %s model has intervals of means alone", name_of(model.options.family)),
                "", "Give btml.predict_interval of => 'mean'.");
}

[[noreturn]] void refuse_linear_model(const linear::Predictor& model, const char* function) {
    if (!model.has_observation_interval()) refuse_linear_interval(model.model());
    throw Error(ErrorCode::wrong_type, format("btml.%s is not for linear models", function), "",
                "btml.predict_interval gives the quantiles (1 - level)/2 and (1 + level)/2.");
}

const uncertainty::Calibration& calibration_of(const DecodedModel& model, const char* function) {
    if (model.linear) refuse_linear_model(*model.linear, function);
    if (model.calibration) return *model.calibration;
    if (!model.gp && !boosting::objective_of(model.objective).has_interval())
        throw Error(ErrorCode::wrong_type,
                    format("model has objective '%s', whose predictions have no interval: btml.%s needs another",
                           boosting::name_of(model.objective), function),
                    "Intervals are for targets that are numbers, which predictions are off by some number.");
    refuse_without_calibration(model, function);
}

// A prediction, and what z is in units of.
struct Centre {
    double prediction, deviation;
    bool is_positive; // as all targets
    bool is_of_gp;
};

Centre centre_of(CachedModel& cached) {
    if (!cached.model->gp) {
        boosting::Predictor& trees = *cached.model->trees;
        return {trees(cached.values), deviation_of_trees(cached), trees.link() == boosting::Link::exponential, false};
    }
    const gp::Normal at = cached.model->gp->observation(cached.values);
    return {at.mean, std::sqrt(at.variance), false, true};
}

// Ends lie outwards by what rounding may take, so that a target is within that many rows have in common. Predictions of
// a gp that were found together, as those that calibrate, differ a little more from those that are asked for.
double bound(const Centre& centre, double z, bool is_lower) {
    const double offset = centre.deviation * z, number = centre.prediction + offset;
    constexpr double of_numbers = 4 * std::numeric_limits<double>::epsilon(), of_deviation = 1e-8;
    const double rounding = of_numbers * (std::abs(centre.prediction) + std::abs(offset)) +
                            (centre.is_of_gp ? of_deviation * centre.deviation : 0);
    const double outer = std::isfinite(number) ? number + (is_lower ? -rounding : rounding) : number;
    return centre.is_positive ? std::max(0.0, outer) : outer;
}

void notice_too_few_rows(CachedModel& cached, const std::string& what, double q) {
    if (std::exchange(cached.told, true)) return;
    const uncertainty::Calibration& calibration = *cached.model->calibration;
    notice(what + " is infinite: that takes " + std::to_string(uncertainty::rows_for_quantile(q)) +
           " rows to calibrate by, the model has " + std::to_string(calibration.rows));
}

// Error invalid_argument.
double probability(FunctionCallInfo fcinfo, const char* name) {
    const double value = PG_GETARG_FLOAT8(2);
    if (value > 0 && value < 1) return value;
    throw Error(ErrorCode::invalid_argument,
                format("%s must be greater than 0 and less than 1, not %s", name, shortest(value).c_str()));
}

constexpr const char* intervals[] = {"observation", "mean"};
constexpr OtherNames foreign_intervals[] = {{"observation", {"prediction", "obs", "target"}},
                                            {"mean", {"confidence", "expectation"}}};
constexpr OptionFacts interval_option{.name = "of",
                                      .type = OptionType::choice,
                                      .meaning = "what lies in the interval",
                                      .choices = intervals,
                                      .foreign_names = foreign_intervals};

// Error invalid_argument.
bool is_of_mean(FunctionCallInfo fcinfo) {
    const std::string of(pg_call([=] { return bytes_of(PG_GETARG_DATUM(3), TEXTOID); }));
    interval_option.check(of);
    return of == "mean";
}

// Returns the interval of the mean that observations of such a row have: noise has no part in it.
Datum mean_interval(FunctionCallInfo fcinfo, CachedModel& cached, double level) {
    DecodedModel& model = *cached.model;
    if (model.linear && model.linear->has_errors()) {
        const linear::Predictor::Interval found = model.linear->mean_interval(cached.values, level);
        return composite(fcinfo, {found.lower, found.upper});
    }
    if (model.linear) refuse_linear_interval(model.linear->model());
    if (!model.gp)
        throw Error(
            ErrorCode::wrong_type,
            format("model is %s, an interval of the mean needs a linear model or a Gaussian process", model.kind), "",
            "Leave out of => 'mean' for an interval of the target.");
    const gp::Normal at = model.gp->calibrated_latent(model.gp->latent(cached.values));
    const double half = student_t_quantile(1 - level, std::numeric_limits<double>::infinity()) * std::sqrt(at.variance);
    return composite(fcinfo, {at.mean - half, at.mean + half});
}

Datum predict_interval(FunctionCallInfo fcinfo, CachedModel& cached) {
    const double level = probability(fcinfo, "level");
    if (is_of_mean(fcinfo)) return mean_interval(fcinfo, cached, level);
    if (cached.model->linear && cached.model->linear->has_observation_interval()) {
        const linear::Predictor::Interval found = cached.model->linear->observation_interval(cached.values, level);
        return composite(fcinfo, {found.lower, found.upper});
    }
    const uncertainty::Calibration& calibration = calibration_of(*cached.model, "predict_interval");
    const double lower = calibration.quantile((1 - level) / 2), upper = calibration.quantile((1 + level) / 2);
    if (std::isinf(lower) || std::isinf(upper))
        notice_too_few_rows(cached, "an interval of level " + shortest(level), (1 - level) / 2);
    const Centre centre = centre_of(cached);
    return composite(fcinfo, {bound(centre, lower, true), bound(centre, upper, false)});
}

Datum predict_quantile(FunctionCallInfo fcinfo, CachedModel& cached) {
    const double q = probability(fcinfo, "q");
    const double z = calibration_of(*cached.model, "predict_quantile").quantile(q);
    if (std::isinf(z)) notice_too_few_rows(cached, "the quantile " + shortest(q), q);
    return Float8GetDatum(bound(centre_of(cached), z, q < 0.5));
}

Datum predict_distribution(FunctionCallInfo fcinfo, CachedModel& cached) {
    constexpr uint64_t few_rows = 20;
    const uncertainty::Calibration& calibration = calibration_of(*cached.model, "predict_distribution");
    if (calibration.rows < few_rows && !std::exchange(cached.told, true))
        notice("the distribution may be far off: it is fitted to the errors of " + std::to_string(calibration.rows) +
               (calibration.rows == 1 ? " row" : " rows"));
    const Centre centre = centre_of(cached);
    return composite(fcinfo, {centre.prediction, centre.deviation * calibration.student.scale, calibration.student.df});
}

} // namespace

BTML_PREDICTION(predict_interval)     // (…, level float8, of text) → btml.bounds
BTML_PREDICTION(predict_quantile)     // (…, q float8) → float8
BTML_PREDICTION(predict_distribution) // → btml.student_t

} // namespace btml::pg
