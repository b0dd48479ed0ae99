// SQL functions of boosted trees: btml.boost_fit, btml.tree_fit, btml.boost_fit_agg, and what looks into a model.
#include "core/boosting/booster.hpp"
#include "core/boosting/strategy.hpp"
#include "core/boosting/to_sql.hpp"
#include "core/boosting/training_sample.hpp"
#include "core/relational/join_rows.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/result.hpp"
#include "pg/model.hpp"
#include "pg/options.hpp"
#include "pg/training_join.hpp"
#include "pg/training_rows.hpp"

namespace btml::pg {

using namespace boosting;

namespace {

struct FitRequest : TrainingRequest {
    Options options; // validated
};

[[noreturn]] void only_with_sketch(const char* option) {
    throw Error(ErrorCode::invalid_argument, format("%s needs residuals => 'sketch'", option),
                "With exact residuals there is no sketch.");
}

// `defaults` are those of the function. Errors: null_value, invalid_argument naming the option and its valid values.
FitRequest read_request(const NamedArguments& arguments, const Options& defaults) {
    FitRequest request{read_training_request(arguments), defaults};
    read_options(arguments, options_table, request.options);
    const Options& options = request.options;
    if (options.sketch_size > 0 && !options.sketch_residuals) only_with_sketch("sketch_size");
    if (options.verify && !options.sketch_residuals) only_with_sketch("verify");
    if (options.early_stopping > 0 && !request.holdout)
        throw Error(ErrorCode::invalid_argument, "early_stopping needs a holdout", "",
                    "Name a boolean column in holdout.");
    return request;
}

// Names the way out before it sketches for more than a minute.
void warn_of_long_sketches(const relational::Join& join, const Options& options, RunContext& context) {
    constexpr double long_seconds = 60;
    const double seconds = sketching_seconds(join, options, context);
    if (seconds <= long_seconds) return;
    notice(format("sketches of the residuals over this join will take about %.0f minutes", std::ceil(seconds / 60)), "",
           format("Cancel and give a %ssketch_size; the time is proportional to it.",
                  options.sketch_size > 0 ? "smaller " : ""));
}

// Tells those who asked to verify how large the error was.
void report_sketch_error(const Model& model) {
    if (!model.options.verify) return;
    std::string text = "no sum of squared residuals was estimated: they were all exact";
    if (model.sketch) {
        text = format("the largest relative error of the sum of squared residuals at the root of a tree is %.3f",
                      model.sketch->error.value_or(0));
        if (model.options.sketch_size == 0)
            text += format("; promised is %.3g with probability %.3g for each tree", model.options.epsilon,
                           1 - model.options.delta);
    }
    const char* const message = text.c_str();
    pg_call([=] { ereport(INFO, (errmsg("%s", message))); });
}

// Trees that cannot be split at all are rarely what was wanted.
void notice_too_few_rows(const Model& model) {
    const double least = model.options.min_leaf_rows;
    if (model.trees.empty() || model.trees[0][0].rows >= 2 * least) return;
    const std::string rows = shortest(model.trees[0][0].rows), both = shortest(2 * least);
    notice("no tree has a split: the rows are " + rows + ", two leaves need " + both, "", "Lower min_leaf_rows.");
}

// Joins that may have to be sampled are read with the contents of their rows.
RowContents contents_for(const Options& options) {
    const bool may_sample = options.strategy == Strategy::sample ||
                            (options.strategy == Strategy::automatic && !objective_of(options.objective).factorises());
    return may_sample ? RowContents::read : RowContents::unread;
}

// Says how to have the same model again, where the number of rows was not asked for.
void notice_sample(const TrainingSample& sample, const StrategyChoice& choice, const Options& options) {
    const std::string rows = std::to_string(sample.report.sample_rows);
    const bool automatic = options.strategy == Strategy::automatic;
    if (!automatic && !sample.limited) return;
    notice("trained on a sample of " + rows + " of the join's " + decimal(sample.report.join_rows) + " rows",
           automatic ? "The " + choice.reason + "." : "A larger sample does not fit into btml.memory_limit.",
           "strategy => 'sample', sample_rows => " + rows + " repeats it with any limit.");
}

// The rows to hold: all of them, or a sample, which the choice then says.
struct HeldRows {
    relational::JoinRows rows;
    std::optional<SampleReport> sample;
};

HeldRows hold_rows(TrainingJoin& training, StrategyChoice& choice, const Options& options, RunContext& context) {
    relational::Join& join = training.join;
    if (choice.strategy == Strategy::sample) {
        if (auto sample = draw_training_sample(join, training.plan.holdout, options, context)) {
            notice_sample(*sample, choice, options);
            keep_rows_of(join, sample->rows, context);
            return {std::move(sample->rows), sample->report};
        }
        Options all = options;
        all.strategy = Strategy::enumerate;
        all.sample_rows = 0;
        choice = choose_strategy(join, all, context);
    }
    return {relational::enumerate(join, context), {}};
}

FitResult fit_over_source(const FitRequest& request, RunContext& context) {
    TrainingJoin training = read_training_join(request, context, contents_for(request.options));
    const auto join_start = std::chrono::steady_clock::now();
    relational::Join& join = training.join;
    StrategyChoice choice = choose_strategy(join, request.options, context);
    double joining = 0;
    const auto fit_join = [&] {
        if (choice.strategy == Strategy::factorize) {
            warn_of_long_sketches(join, request.options, context);
            relational::GroupedJoin grouped(join, context);
            Dataset dataset = make_dataset(std::move(join), grouped, training.plan, context);
            joining = seconds_since(join_start);
            return fit_factorised(std::move(dataset), std::move(grouped), request.options, context);
        }
        HeldRows held = hold_rows(training, choice, request.options, context);
        Dataset dataset = make_dataset(std::move(join), std::move(held.rows), training.plan);
        joining = seconds_since(join_start);
        FitResult result = fit(std::move(dataset), request.options, context);
        result.model.sample = held.sample;
        return result;
    };
    FitResult result = fit_join();
    result.model.target = request.target;
    result.model.rows_skipped = training.rows_skipped;
    result.model.strategy = name_of(choice.strategy);
    result.model.strategy_reason = choice.reason;
    report_sketch_error(result.model);
    notice_too_few_rows(result.model);
    result.timings.insert(result.timings.begin(), {{"reading tables", training.seconds_reading},
                                                   {"joining tables", training.seconds_joining + joining}});
    return result;
}

} // namespace

// btml.boost_fit(source, target, trees, learning_rate, …) → model
BTML_FUNCTION(btml_boost_fit) {
    const FitRequest request = read_request(NamedArguments(fcinfo), boost_fit_defaults());
    BackendContext context("boost_fit", request.verbose);
    return model_datum(fit_over_source(request, context), context);
}

// btml.tree_fit(source, target, max_leaves, …) → model
BTML_FUNCTION(btml_tree_fit) {
    const FitRequest request = read_request(NamedArguments(fcinfo), tree_fit_defaults());
    BackendContext context("tree_fit", request.verbose);
    return model_datum(fit_over_source(request, context), context);
}

// btml.feature_importance(model) → table(feature text, gain float8, splits bigint), most important first
BTML_FUNCTION(btml_feature_importance) {
    ResultRows rows(fcinfo);
    if (PG_ARGISNULL(0)) return rows.done();
    BackendContext context;
    StoredModel stored = read_model(PG_GETARG_DATUM(0), context);
    const Model& model = boosted_trees(stored, "feature_importance",
                                       "btml.gp_relevance tells what each feature adds to a Gaussian process.");
    const std::vector<Importance> importance = feature_importance(model, context);
    std::vector<size_t> order(importance.size());
    for (size_t i = 0; i < order.size(); i++) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return importance[a].gain > importance[b].gain; });
    for (size_t i : order) rows.add_row(model.features[i].name, importance[i].gain, importance[i].splits);
    return rows.done();
}

// btml.trees(model) → table(tree, node, parent, depth, feature, threshold, categories, null_left, left_child,
// right_child, value, rows, gain)
BTML_FUNCTION(btml_trees) {
    ResultRows rows(fcinfo);
    if (PG_ARGISNULL(0)) return rows.done();
    BackendContext context;
    StoredModel stored = read_model(PG_GETARG_DATUM(0), context);
    const Model& model = boosted_trees(stored, "trees", "btml.summary describes any model.");
    for (size_t t = 0; t < model.trees.size(); t++) {
        std::vector<int> depth(model.trees[t].size(), 0);
        for (size_t n = 0; n < model.trees[t].size(); n++) {
            const Node& node = model.trees[t][n];
            if (node.parent >= 0) depth[n] = depth[node.parent] + 1;
            const bool leaf = node.is_leaf();
            const Feature* const feature = leaf ? nullptr : &model.features[node.feature];
            const bool categorical = feature && feature->categorical;
            std::vector<std::string_view> labels;
            if (categorical)
                for (uint32_t code : node.categories) labels.push_back(feature->categories[code]);
            rows.add_row(static_cast<int>(t), static_cast<int>(n), null_if(node.parent < 0, node.parent), depth[n],
                         null_if<std::string_view>(leaf, feature ? feature->name : ""),
                         null_if(leaf || categorical, node.threshold), null_if(!categorical, labels),
                         null_if(leaf, node.null_left), null_if(leaf, node.left), null_if(leaf, node.right),
                         null_if(!leaf, node.value), node.rows, null_if(leaf, node.gain));
        }
    }
    return rows.done();
}

// btml.training_log(model) → table(iteration int, train_loss float8, holdout_loss float8)
BTML_FUNCTION(btml_training_log) {
    ResultRows rows(fcinfo);
    if (PG_ARGISNULL(0)) return rows.done();
    BackendContext context;
    StoredModel stored = read_model(PG_GETARG_DATUM(0), context);
    const Model& model = boosted_trees(stored, "training_log", "btml.gp_leave_one_out scores a Gaussian process.");
    for (size_t i = 0; i < model.log.size(); i++)
        rows.add_row(static_cast<int>(i) + 1, model.log[i].train_loss, model.log[i].holdout_loss);
    return rows.done();
}

// btml.to_sql(model) → text
BTML_FUNCTION(btml_to_sql) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    BackendContext context;
    StoredModel stored = read_model(PG_GETARG_DATUM(0), context);
    const Model& model = boosted_trees(stored, "to_sql", "btml.predict predicts with any model.");
    const uint64_t length = sql_length(model, context);
    if (length > MaxAllocSize - VARHDRSZ)
        throw Error(ErrorCode::limit_exceeded,
                    format("the SQL of the model has %" PRIu64 " bytes, a text may have %" PRIu64, length,
                           uint64_t{MaxAllocSize - VARHDRSZ}),
                    "", "btml.predict predicts with any model.");
    const Reservation counted(context.memory(), "the SQL of a model", length);
    text* const sql = pg_call([=] {
        auto* const made = static_cast<text*>(palloc(VARHDRSZ + length));
        SET_VARSIZE(made, VARHDRSZ + length);
        return made;
    });
    write_sql(model, VARDATA(sql), context);
    return PointerGetDatum(sql);
}

// btml.boost_fit_accumulate(state, y float8, x float8[], options jsonb) → state
BTML_FUNCTION(btml_boost_fit_accumulate) {
    return accumulate_with_options(fcinfo,
                                   [](const std::string& options) { parse_options(options, boosting::options_table); });
}

// btml.boost_fit_final(state) → model; NULL when there was no row
BTML_FUNCTION(btml_boost_fit_final) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    BackendContext context("boost_fit_agg");
    return train_on_rows(fcinfo, context, [&](const RowCollection& rows) {
        const boosting::Options options =
            rows.options().empty() ? boosting::Options{} : parse_options(rows.options(), boosting::options_table);
        boosting::FitResult result = boosting::fit(rows.dataset(context), options, context);
        result.model.target = "y";
        result.model.rows_skipped = rows.rows_skipped();
        result.model.strategy = "enumerate";
        result.model.strategy_reason = "the rows were aggregated";
        return model_datum(result, context);
    });
}

} // namespace btml::pg
