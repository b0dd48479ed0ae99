#include "core/validation/folds.hpp"

namespace btml::validation {

using boosting::HoldoutMetric;

namespace {

constexpr const char* other_folds = "Ask for fewer folds, or name another column as fold.";

// Rows by label: of each fold, and of all that some model is trained on.
struct LabelCounts {
    LabelCounts(const Dataset& dataset, const Folds& folds, RunContext& context)
        : labels(dataset.labels.size()),
          of_fold(context.memory(), "labels of folds", folds.size() * labels, uint64_t{0}),
          all(labels, 0) {
        for_each_used(dataset, folds.of_row, context, [&](uint64_t row, size_t at) {
            const auto label = static_cast<size_t>(dataset.target[at]);
            all[label]++;
            if (folds.of_row[row] != Folds::always) of_fold[folds.of_row[row] * labels + label]++;
        });
    }

    uint64_t count(size_t fold, size_t label) const { return of_fold[fold * labels + label]; }
    bool is_alone(size_t fold, size_t label) const { return all[label] > 0 && count(fold, label) == all[label]; }

    const size_t labels;
    Buffer<uint64_t> of_fold;
    std::vector<uint64_t> all;
};

// A target of one label in all is refused where it is trained on.
void check_trained(const Dataset& dataset, const Folds& folds, const LabelCounts& counts) {
    if (counts.labels != 2 || counts.all[0] == 0 || counts.all[1] == 0) return;
    for (size_t fold = 0; fold < folds.size(); fold++)
        for (size_t label = 0; label < 2; label++)
            if (counts.is_alone(fold, label))
                throw Error(ErrorCode::invalid_argument,
                            format("fold \"%s\" leaves rows of one label to train on", folds.names[fold].c_str()),
                            format("All rows of the label \"%s\" are in it.", dataset.labels[label].c_str()),
                            other_folds);
}

// Areas under curves take rows of both of two labels, or of the second.
void check_scored(const Dataset& dataset, const Folds& folds, const LabelCounts& counts, HoldoutMetric metric) {
    const bool is_auc = metric == HoldoutMetric::auc;
    if (!is_auc && metric != HoldoutMetric::average_precision) return;
    for (size_t fold = 0; fold < folds.size(); fold++)
        for (size_t label = is_auc ? 0 : 1; label < counts.labels; label++)
            if (counts.count(fold, label) == 0)
                throw Error(ErrorCode::invalid_argument,
                            format("metric '%s' is not defined for fold \"%s\"",
                                   boosting::holdout_metric_names[static_cast<size_t>(metric)],
                                   folds.names[fold].c_str()),
                            format("It has no rows of the label \"%s\".", dataset.labels[label].c_str()),
                            "Ask for fewer folds, name another column as fold, or take metric => 'log_loss'.");
}

} // namespace

LoneLabels check_labels(const Dataset& dataset, const Folds& folds, HoldoutMetric metric, RunContext& context) {
    if (dataset.labels.empty()) return {};
    const LabelCounts counts(dataset, folds, context);
    check_trained(dataset, folds, counts);
    check_scored(dataset, folds, counts, metric);
    LoneLabels lone;
    for (size_t label = 0; label < counts.labels; label++)
        for (size_t fold = 0; fold < folds.size(); fold++)
            if (counts.is_alone(fold, label)) lone.emplace_back(dataset.labels[label], folds.names[fold]);
    return lone;
}

} // namespace btml::validation
