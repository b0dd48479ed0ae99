#include "core/validation/folds.hpp"

namespace btml::validation {

using boosting::HoldoutMetric;

namespace {

constexpr const char* other_folds = "Ask for fewer folds, or name another column as fold.";

// Rows by label: of each fold, of those that its model is trained on, and of all.
class LabelCounts {
  public:
    LabelCounts(const Dataset& dataset, const Folds& folds, RunContext& context)
        : labels(dataset.labels.size()),
          all(labels, 0),
          of_fold_(context.memory(), "labels of folds", folds.size() * labels, uint64_t{0}),
          trained_(context.memory(), "labels of folds", folds.size() * labels, uint64_t{0}) {
        for_each_used(dataset, folds.of_row, context, [&](uint64_t row, size_t at) {
            const auto label = static_cast<size_t>(dataset.target[at]);
            all[label]++;
            const size_t fold = folds.of_row[row];
            if (fold != Folds::always) of_fold_[fold * labels + label]++;
            if (!folds.trains_from) return;
            const size_t first = (*folds.trains_from)[row];
            if (first < folds.size()) trained_[first * labels + label]++;
        });
        for (size_t i = 0; i < trained_.size(); i++) // those of an ordered fold train the later ones as well
            trained_[i] = !folds.trains_from ? all[i % labels] - of_fold_[i]
                          : i < labels       ? trained_[i]
                                             : trained_[i] + trained_[i - labels];
    }

    uint64_t count(size_t fold, size_t label) const { return of_fold_[fold * labels + label]; }
    uint64_t trained(size_t fold, size_t label) const { return trained_[fold * labels + label]; }

    const size_t labels;
    std::vector<uint64_t> all;

  private:
    Buffer<uint64_t> of_fold_, trained_;
};

// A target of one label in all is refused where it is trained on.
void check_trained(const Dataset& dataset, const Folds& folds, const LabelCounts& counts) {
    if (counts.labels != 2 || counts.all[0] == 0 || counts.all[1] == 0) return;
    for (size_t fold = 0; fold < folds.size(); fold++)
        for (size_t label = 0; label < 2; label++)
            if (counts.trained(fold, label) == 0)
                throw Error(ErrorCode::invalid_argument,
                            format("fold \"%s\" leaves rows of one label to train on", folds.names[fold].c_str()),
                            format(folds.trains_from ? "Its model would see no row of the label \"%s\"."
                                                     : "All rows of the label \"%s\" are in it.",
                                   dataset.labels[label].c_str()),
                            folds.trains_from ? "Ask for fewer folds." : other_folds);
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
            if (counts.count(fold, label) > 0 && counts.trained(fold, label) == 0)
                lone.emplace_back(dataset.labels[label], folds.names[fold]);
    return lone;
}

} // namespace btml::validation
