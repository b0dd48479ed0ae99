#include "core/gp/trees_mean.hpp"

#include "core/boosting/deviation_training.hpp"

namespace btml::gp {

namespace {

// Fewer of many rows, which know more without a fold, and take longer.
size_t folds_of(size_t rows) {
    constexpr size_t many = 16'384;
    return rows > many ? 3 : 5;
}

size_t spared_of(size_t rows) {
    static constexpr size_t min_rows = 200, max_spared = 4096;
    return rows < min_rows ? 0 : std::min(rows / 8, max_spared);
}

// As many trees as rows out of fold are the better for.
boosting::Options options_of_trees(uint64_t seed) {
    boosting::Options options = boosting::boost_fit_defaults();
    options.objective = boosting::ObjectiveNumber::squared;
    options.trees = 2000;
    options.early_stopping = 25;
    options.seed = static_cast<int64_t>(seed);
    return boosting::completed(options, 0);
}

// Lends the ids of a table, or finds where they are lent.
int table_of(const TrainingColumn& column, Dataset& dataset) {
    if (!column.ids) return 0;
    const uint32_t* const ids = column.ids->data();
    const auto lent = std::find_if(dataset.tables.begin(), dataset.tables.end(),
                                   [&](const DataTable& table) { return table.lent == ids; });
    return lent == dataset.tables.end() ? dataset.add_table(std::max(column.numbers.size(), column.codes.size()), ids)
                                        : static_cast<int>(lent - dataset.tables.begin());
}

// Makes a dataset that refers to the rows, which must outlive it.
Dataset dataset_of(const TrainingColumns& rows, const std::vector<Feature>& features, RunContext& context) {
    Dataset dataset(context.memory(), rows.rows());
    dataset.add_table(rows.rows());
    dataset.target = rows.target.copy(context);
    dataset.weight = rows.weight.copy(context);
    for (size_t f = 0; f < features.size(); f++) {
        FeatureColumn column(context.memory(), features[f], table_of(rows.features[f], dataset));
        column.numbers = rows.features[f].numbers.copy(context);
        column.codes = rows.features[f].codes.copy(context);
        dataset.features.push_back(std::move(column));
    }
    return dataset;
}

bool are_same(const std::vector<Feature>& some, const std::vector<Feature>& others) {
    return std::equal(some.begin(), some.end(), others.begin(), others.end(), [](const Feature& a, const Feature& b) {
        return a.name == b.name && a.categorical == b.categorical && a.categories == b.categories;
    });
}

} // namespace

TreesMean::TreesMean(boosting::Model trees, double mean_variance, RunContext& context)
    : trees_(std::move(trees)),
      mean_variance_(mean_variance),
      mean_(trees_, context),
      log_variance_(boosting::log_variance_of(trees_), context) {}

Placement TreesMean::at(std::span<const double> features) {
    const double score = log_variance_.scores(features)[0];
    return {mean_(features), trees_.deviation->factor * trees_.deviation->before_factor(score), 0, variance_ratio_};
}

std::vector<double> TreesMean::relevance() const {
    const double rate = trees_.options.learning_rate, share = rate * (2 - rate) / static_cast<double>(trees_.rows);
    std::vector<double> decrease(trees_.features.size());
    for (const boosting::Tree& tree : trees_.trees)
        for (const boosting::Node& node : tree)
            if (!node.is_leaf()) decrease[static_cast<size_t>(node.feature)] += share * node.gain;
    return decrease;
}

TreesFit fit_trees(const TrainingColumns& rows, const std::vector<Feature>& features, uint64_t seed,
                   RunContext& context) {
    const size_t folds = folds_of(rows.rows());
    if (rows.rows() < folds)
        throw Error(ErrorCode::invalid_argument,
                    format("mean => 'boosted' needs %zu rows to train on, and there are %zu", folds, rows.rows()), "",
                    "Use mean => 'zero'.");
    boosting::CrossFit fitted = boosting::cross_fit(dataset_of(rows, features, context), options_of_trees(seed), folds,
                                                    spared_of(rows.rows()), context);
    context.note(format("%zu trees for the mean, %zu for the deviation", fitted.model.trees.size(),
                        fitted.model.deviation->trees.size()));
    fitted.model.log.clear();
    double squares = 0;
    context.for_each(rows.rows(), 1, [&](size_t i) { squares += fitted.deviations[i] * fitted.deviations[i]; });
    std::vector<bool> is_spared(rows.rows());
    for (const uint32_t row : fitted.spared) is_spared[row] = true;
    return {TreesMean(std::move(fitted.model), squares / static_cast<double>(rows.rows()), context),
            std::move(fitted.errors), std::move(fitted.deviations), std::move(is_spared)};
}

uint64_t trees_bytes(uint64_t rows, const std::vector<Feature>& features, RunContext& context) {
    Dataset dataset(context.memory(), rows);
    dataset.add_table(rows);
    uint64_t copied = 2 * sizeof(double) * rows; // targets and weights
    for (const Feature& feature : features) {
        dataset.features.emplace_back(context.memory(), feature, 0);
        copied += rows * (feature.categorical ? sizeof(uint32_t) : sizeof(double));
    }
    static constexpr uint64_t bytes_of_node = 64; // to predict with, of trees for the mean and for the deviation
    const boosting::Options options = options_of_trees(0);
    const uint64_t leaves = std::min<uint64_t>(options.max_leaves, rows / options.min_leaf_rows + 1);
    const uint64_t trees = 2 * folds_of(rows) * static_cast<uint64_t>(options.trees) * 2 * leaves * bytes_of_node;
    return copied + trees + boosting::cross_fit_bytes(dataset, options, folds_of(rows), context);
}

void encode(const TreesMean& mean, Writer& writer) {
    writer.section(mean_section, [&] {
        writer.put_positive(mean.mean_variance());
        writer.put_positive(mean.variance_ratio());
        boosting::encode(mean.trees(), writer);
    });
}

TreesMean decode_trees_mean(Reader& reader, const std::vector<Feature>& features, RunContext& context) {
    const double mean_variance = reader.get_finite();
    const double variance_ratio = reader.get_finite();
    if (!(mean_variance > 0)) corrupt_model("The mean variance of what its trees leave over is not positive.");
    if (!(variance_ratio >= TreesMean::min_variance_ratio && variance_ratio <= TreesMean::max_variance_ratio))
        corrupt_model("The ratio of variances over its trees is out of range.");
    boosting::Model trees = boosting::decode(reader);
    if (trees.rows == 0) corrupt_model("Its trees have no rows.");
    if (!are_same(trees.features, features)) corrupt_model("Its trees have other features than it.");
    if (trees.scores() != 1 || trees.link() != boosting::Link::identity || trees.imported || trees.offset ||
        !trees.deviation)
        corrupt_model("Its trees are no mean of targets with a deviation.");
    TreesMean mean(std::move(trees), mean_variance, context);
    mean.set_variance_ratio(variance_ratio);
    return mean;
}

} // namespace btml::gp
