// SQL functions of Gaussian processes: btml.gp_fit and its kin, and what looks into a model or updates it.
#include "core/gp/fit.hpp"
#include "core/gp/gp_predictor.hpp"
#include "core/gp/sampler.hpp"
#include "core/gp/update.hpp"
#include "core/relational/join/join_rows.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/given_exemplars.hpp"
#include "pg/model/model_value.hpp"
#include "pg/model/prediction.hpp"
#include "pg/source/aggregated_rows.hpp"
#include "pg/source/fit_arguments.hpp"
#include "pg/source/query_points.hpp"
#include "pg/source/training_join.hpp"
#include "pg/values/record.hpp"
#include "pg/values/result.hpp"

namespace btml::pg {

using gp::FitResult;
using gp::Model;

namespace {

struct GpRequest : TrainingRequest {
    gp::Options options; // validated
    std::optional<GivenSource> exemplar_source;

    // `defaults` are those of the function. Errors: null_value, invalid_argument naming the option and its valid
    // values.
    GpRequest(const FitArguments& arguments, const gp::Options& defaults)
        : TrainingRequest(read_training_request(arguments)),
          options(read_options(arguments, defaults)),
          exemplar_source(read_exemplar_source(arguments, args, options)) {
        options.validate();
        set_holdout_fraction(*this, options.holdout_fraction, options.seed);
    }

  private:
    static gp::Options read_options(const FitArguments& arguments, gp::Options options) {
        arguments.read(gp::options_table, options);
        return options;
    }
};

GpRequest read_request(const NamedArguments& call, const gp::Options& defaults) {
    const FitArguments arguments(call);
    arguments.check_names(gp::options_table);
    return {arguments, defaults};
}

void tell_warnings(const FitResult& result) {
    for (const std::string& warning : result.warnings) notice(warning);
}

// Takes the rows out of the join.
Dataset take_dataset(TrainingJoin& training, RunContext& context) {
    notice_repeats(training.repeats, one_row_each);
    const Stopwatch joining(training.timings.back().seconds);
    relational::JoinRows rows = relational::enumerate(training.join, context);
    return make_dataset(std::move(training.join), std::move(rows), training.plan, context);
}

// Says of a model what it was trained on.
void complete(FitResult& result, const GpRequest& request, const TrainingJoin& training) {
    result.model.target = request.target;
    result.model.rows_skipped = training.rows_skipped;
    result.model.strategy = "enumerate";
    const bool is_smooth = std::holds_alternative<gp::SparseModel>(result.model.posterior);
    result.model.strategy_reason =
        is_smooth ? "a smooth kernel sums over every row" : "a Gaussian process keeps every row";
    result.timings.insert(result.timings.begin(), training.timings.begin(), training.timings.end());
    tell_warnings(result);
    if (request.holdout && result.model.holdout_rows == 0)
        notice("holdout \"" + *request.holdout + "\" is true for no row", "Rows left out in turn calibrate the model.");
}

} // namespace

// btml.gp_fit(source, target, features, …) → model
BTML_FUNCTION(btml_gp_fit) {
    GpRequest request = read_request(NamedArguments(fcinfo), {});
    BackendContext context("gp_fit", request.verbose);
    context.tell_minutes();
    TrainingJoin training = read_training_join(request, context);
    hold_out(training, request, context);
    Dataset dataset = take_dataset(training, context);
    const Reservation exemplars = read_exemplars(request.exemplar_source, dataset, request.options, context);
    FitResult result = gp::fit(std::move(dataset), request.options, context);
    complete(result, request, training);
    tell_device_failure(context);
    return model_datum(result, context);
}

// btml.gp_fit_members(source, target, features, …) → table(member, log_likelihood, noise, signal, evaluations, model)
BTML_FUNCTION(btml_gp_fit_members) {
    const GpRequest request = read_request(NamedArguments(fcinfo), gp::gp_fit_members_defaults());
    ResultRows rows(fcinfo);
    BackendContext context("gp_fit_members", request.verbose);
    context.tell_minutes();
    TrainingJoin training = read_training_join(request, context);
    Dataset dataset = take_dataset(training, context);
    std::vector<FitResult> members = gp::fit_members(std::move(dataset), request.options, context);
    for (size_t m = 0; m < members.size(); m++) {
        complete(members[m], request, training);
        const Model& model = members[m].model;
        const Datum value = model_datum(members[m], context);
        rows.add_row(static_cast<int>(m) + 1, *model.log_likelihood(), model.noise, gp::signal(model),
                     static_cast<int>(model.evaluations), SqlValue{value});
        pg_call([=] { pfree(DatumGetPointer(value)); });
    }
    tell_device_failure(context);
    return rows.done();
}

// btml.gp_regression(source, target, queries, features, …) → table(id text, mean float8, sd float8)
BTML_FUNCTION(btml_gp_regression) {
    const NamedArguments arguments(fcinfo);
    GpRequest request = read_request(arguments, {});
    const GivenSource queries{arguments.string("queries"), request.args};
    ResultRows rows(fcinfo);
    BackendContext context("gp_regression", request.verbose);
    context.tell_minutes();
    TrainingJoin training = read_training_join(request, context);
    Dataset dataset = take_dataset(training, context);
    const QueryPoints points(queries, gp::features_of(dataset), context, "queries");
    const Reservation exemplars = read_exemplars(request.exemplar_source, dataset, request.options, context);
    FitResult result = gp::fit(std::move(dataset), request.options, context);
    complete(result, request, training);
    gp::Predictor::for_each_point(
        result.model, points.rows(),
        [&](size_t row, std::span<double> features) { std::ranges::copy(points.values(row), features.begin()); },
        [&](size_t row, gp::Predictor& predictor, std::span<const double> features) {
            const gp::Normal at = predictor.calibrated(predictor.observation(features));
            rows.add_row(points.id(row), at.mean, std::sqrt(at.variance));
        },
        context);
    tell_device_failure(context);
    return rows.done();
}

// btml_internal.gp_fit_accumulate(state, y float8, x float8[], options btml.json) → state
BTML_FUNCTION(btml_gp_fit_accumulate) {
    return accumulate_with_options(fcinfo,
                                   [](const std::string& options) { parse_options(options, gp::options_table); });
}

// btml_internal.gp_fit_final(state) → model; NULL when there was no row
BTML_FUNCTION(btml_gp_fit_final) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    BackendContext context("gp_fit_agg");
    context.tell_minutes();
    return train_on_rows(fcinfo, context, [&](const RowCollection& rows) {
        if (rows.target() != TargetKind::number)
            throw Error(ErrorCode::wrong_type, "targets of a Gaussian process are numbers");
        const gp::Options options =
            rows.options().empty() ? gp::Options{} : parse_options(rows.options(), gp::options_table);
        FitResult result = gp::fit(rows.dataset(context), options, context);
        result.model.target = "y";
        result.model.rows_skipped = rows.rows_skipped();
        result.model.strategy = "enumerate";
        result.model.strategy_reason = "the rows were aggregated";
        tell_warnings(result);
        tell_device_failure(context);
        return model_datum(result, context);
    });
}

// btml.gp_log_likelihood(model) → float8
BTML_FUNCTION(btml_gp_log_likelihood) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    BackendContext context;
    StoredModel stored = read_model(PG_GETARG_DATUM(0), context);
    const std::optional<double> likelihood =
        gaussian_process(stored, "gp_log_likelihood", "btml.training_log has the losses of boosted trees.")
            .log_likelihood();
    if (!likelihood) PG_RETURN_NULL();
    return Float8GetDatum(*likelihood);
}

// btml.gp_leave_one_out(model) → table(n bigint, mean_nll float8, rmse float8, coverage_90 float8,
// mean_nll_student_t float8)
BTML_FUNCTION(btml_gp_leave_one_out) {
    ResultRows rows(fcinfo);
    if (PG_ARGISNULL(0)) return rows.done();
    BackendContext context;
    StoredModel stored = read_model(PG_GETARG_DATUM(0), context);
    const Model& model =
        gaussian_process(stored, "gp_leave_one_out", "btml.training_log has the losses of boosted trees.");
    if (!model.leave_one_out) return rows.done();
    const gp::LeaveOneOut& score = *model.leave_one_out;
    rows.add_row(static_cast<int64>(score.rows), score.mean_nll, score.rmse, score.coverage_90,
                 score.mean_nll_student_t);
    return rows.done();
}

// btml.gp_relevance(model, elements boolean) → table(feature text, weight float8), most relevant first
BTML_FUNCTION(btml_gp_relevance) {
    ResultRows rows(fcinfo);
    if (PG_ARGISNULL(0)) return rows.done();
    BackendContext context;
    StoredModel stored = read_model(PG_GETARG_DATUM(0), context);
    const Model& model =
        gaussian_process(stored, "gp_relevance", "btml.feature_importance has the features of boosted trees.");
    const std::vector<double> weights = gp::relevance(model);
    const std::vector<FeatureGroup> groups = grouped(model.features, Arguments(fcinfo).boolean(1, "elements"));
    const auto weight = [&](size_t group) { return total_of(groups[group], weights); };
    for (const size_t g : largest_first(groups.size(), weight)) rows.add_row(groups[g].name, weight(g));
    return rows.done();
}

// btml.gp_sample(model, source text, draws numeric, seed numeric) → table(draw int, row_number bigint, id text, value
// float8)
BTML_FUNCTION(btml_gp_sample) {
    const NamedArguments arguments(fcinfo);
    ResultRows rows(fcinfo);
    if (arguments.is_null("model")) return rows.done();
    const GivenSource source = given_source(arguments);
    gp::SampleOptions options;
    read_options(arguments, gp::sample_options_table, options);
    BackendContext context("gp_sample");
    StoredModel stored = read_model(arguments.datum("model"), context);
    Model& model = gaussian_process(stored, "gp_sample", "Boosted trees have no distribution to draw from.");
    const QueryPoints points(source, model.features, context);
    if (points.rows() == 0) return rows.done();
    gp::Sampler sampler(model, points.values(), context);
    Buffer<double> values(context.memory(), "a draw", points.rows());
    for (int draw = 0; draw < options.draws; draw++) {
        context.share_progress("drawing", static_cast<uint64_t>(draw), static_cast<uint64_t>(options.draws));
        sampler.draw(options.seed, static_cast<uint64_t>(draw), {values.data(), values.size()});
        for (uint64_t row = 0; row < points.rows(); row++)
            rows.add_row(draw + 1, static_cast<int64>(row) + 1, points.id(row), values[row]);
    }
    return rows.done();
}

namespace {

using Change = bool (*)(Model& model, std::span<const double> features, double target, RunContext& context);

void notice_outside(const Model& model, const std::vector<double>& features, bool changed) {
    for (const size_t f : gp::features_outside(model, features))
        notice("feature \"" + model.features[f].name + "\" is outside of the range of the training rows",
               !changed ? "The observation says nothing of any other, so the model stays as it is."
               : model.options.outside == gp::Outside::clamp
                   ? "The observation counts as one at the end of the range."
                   : "The observation counts as one at the end of the range, the less the farther out it is.");
}

// (model, x float8[], y) → model, or (model, input record, y) → model. NULL for a NULL model.
Datum update(FunctionCallInfo fcinfo, const char* function, bool record, Change change) {
    const Arguments arguments(fcinfo);
    if (arguments.is_null(0)) PG_RETURN_NULL();
    BackendContext context;
    StoredModel stored = read_model(arguments.datum(0, "model"), context);
    Model& model = gaussian_process(stored, function, "Boosted trees are trained anew, by btml.boost_fit.");
    std::vector<double> features(model.features.size());
    if (record) {
        const CategoryCodes codes(model.features);
        const MemoryContext memory =
            pg_call([] { return AllocSetContextCreate(CurrentMemoryContext, "btml record", ALLOCSET_SMALL_SIZES); });
        RecordReader reader(model.features, codes, memory);
        reader.read(arguments.datum(1, "input"), features);
    } else {
        features = arguments.numbers(1, "x");
        require_width(features, model.features);
    }
    const bool changed = change(model, features, arguments.number(2, "y"), context);
    notice_outside(model, features, changed);
    if (changed && gp::signal(model) == 0)
        notice("the Gaussian process has no signal, so that no prediction changes",
               model.mean ? "What the features tell is in the trees of its mean, which stay as trained." : "");
    return model_datum(model, context);
}

} // namespace

// btml.gp_update(model, x float8[], y float8) → model
BTML_FUNCTION(btml_gp_update_array) {
    return update(fcinfo, "gp_update", false, gp::insert);
}

// btml.gp_update(model, input record, y float8) → model
BTML_FUNCTION(btml_gp_update_record) {
    return update(fcinfo, "gp_update", true, gp::insert);
}

// btml.gp_downdate(model, x float8[], y float8) → model
BTML_FUNCTION(btml_gp_downdate_array) {
    return update(fcinfo, "gp_downdate", false, gp::remove);
}

// btml.gp_downdate(model, input record, y float8) → model
BTML_FUNCTION(btml_gp_downdate_record) {
    return update(fcinfo, "gp_downdate", true, gp::remove);
}

} // namespace btml::pg
