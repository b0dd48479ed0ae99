#include "core/boosting/findings.hpp"

#include "core/boosting/rows/row_sums.hpp"
#include "core/numbers/rng.hpp"

#include <map>

namespace btml::boosting {

namespace {

constexpr uint64_t min_rows_of_findings = 100;
constexpr double min_explained = 0.999;

constexpr size_t max_ranges = 256;

class Examination {
  public:
    Examination(const BinnedData& data, const Dataset& dataset, const TrainingRows& training, RunContext& context)
        : data_(data),
          dataset_(dataset),
          training_(training),
          context_(context),
          held_(context.memory(), "a sample of rows",
                std::min(training.rows(), max_sample_of_findings) * (2 * sizeof(uint32_t) + sizeof(double)) +
                    (max_ranges + 1) * (dataset.labels.size() + 8) * sizeof(double)) {
        sample_targets();
    }

    Findings find() {
        Findings findings;
        findings.constant_target = constant_target();
        for (size_t f = 0; f < data_.features.size(); f++) {
            context_.progress("looking at features", f, data_.features.size());
            context_.poll();
            const std::string& name = dataset_.features[f].name;
            if (is_constant(data_.features[f]))
                findings.constant.push_back(name);
            else if (identifies(f))
                findings.identifying.push_back(name);
            else if (nearly_identifies(data_.features[f]))
                findings.nearly_identifying.push_back(name);
            else if (!findings.constant_target && explains(data_.features[f]))
                add_column(dataset_.features[f], findings.explaining);
        }
        return findings;
    }

  private:
    // What is to be left out are columns, each of which is named once.
    static void add_column(const Feature& feature, std::vector<std::string>& names) {
        if (names.empty() || names.back() != feature.column()) names.emplace_back(feature.column());
    }

    bool is_trained(uint64_t row) const { return training_.role(static_cast<uint32_t>(row)) == Role::train; }
    double target(uint32_t row) const { return dataset_.target[training_.target_row(row)]; }

    // Takes a random row of each few, since every n-th might be of one kind.
    void sample_targets() {
        const uint64_t step = 1 + training_.rows() / max_sample_of_findings;
        for (uint64_t begin = 0; begin < training_.rows(); begin += step) {
            context_.worked(2);
            const uint64_t row = begin + random_bits(0, 0, begin) % step;
            if (row >= training_.rows() || !is_trained(row)) continue;
            sample_.push_back(static_cast<uint32_t>(row));
            targets_.push_back(target(static_cast<uint32_t>(row)));
        }
    }

    std::optional<double> constant_target() const {
        if (!dataset_.labels.empty() || targets_.empty()) return {}; // of labels, that is an error
        for (uint64_t row = 0; row < training_.rows(); row++) {
            context_.worked(1);
            if (is_trained(row) && target(static_cast<uint32_t>(row)) != targets_[0]) return {};
        }
        return targets_[0];
    }

    // Says whether holds(bin) of every row to train on; stops at the first for which it does not.
    template <class Body>
    bool all_rows(const FeatureBins& feature, const Body& holds) const {
        const RowIds ids = data_.tables[feature.table].ids();
        bool all = true;
        with_bins(data_, feature, [&](const auto& bin_of) {
            for (uint64_t row = 0; row < training_.rows() && all; row++) {
                context_.worked(1);
                if (is_trained(row)) all = holds(bin_of(ids[row]));
            }
        });
        return all;
    }

    bool is_constant(const FeatureBins& feature) const {
        if (feature.categorical ? feature.values > 1 : feature.distinct > 1) return false;
        std::optional<uint32_t> first;
        return all_rows(feature, [&](uint32_t bin) {
            if (!first) first = bin;
            return bin == *first;
        });
    }

    bool identifies(size_t f) const {
        const FeatureColumn& column = dataset_.features[f];
        const FeatureBins& feature = data_.features[f];
        const auto is_type = [&](std::initializer_list<const char*> types) {
            return std::find(types.begin(), types.end(), column.type) != types.end();
        };
        if (!feature.categorical)
            return feature.distinct == training_.train_rows() && is_type({"smallint", "integer", "bigint"});
        if (feature.values < training_.train_rows() || is_type({"boolean"})) return false;
        std::vector<bool> seen(feature.values, false);
        return all_rows(feature, [&](uint32_t bin) {
            if (bin == feature.null_bin() || seen[bin]) return false;
            seen[bin] = true;
            return true;
        });
    }

    // A category of two rows or fewer, on average, says hardly anything of other rows.
    bool nearly_identifies(const FeatureBins& feature) const {
        if (!feature.categorical || 2 * uint64_t{feature.values} < training_.train_rows()) return false;
        std::vector<bool> seen(feature.values, false);
        uint64_t distinct = 0;
        all_rows(feature, [&](uint32_t bin) {
            if (bin != feature.null_bin() && !seen[bin]) {
                seen[bin] = true;
                distinct++;
            }
            return true;
        });
        return 2 * distinct >= training_.train_rows();
    }

    bool explains(const FeatureBins& feature) const {
        const std::vector<uint32_t> ranges = ranges_of(feature);
        if (ranges.empty()) return false;
        return (dataset_.labels.size() == 2 ? auc(ranges) : explained_part(ranges)) > min_explained;
    }

    // The ranges of the sample's rows; none where there would be too many.
    std::vector<uint32_t> ranges_of(const FeatureBins& feature) const {
        if (feature.categorical && feature.values > max_ranges) return {};
        const uint64_t values = feature.values, max = feature.categorical ? values : sample_.size() / 3;
        const uint64_t ranges = std::min({values, uint64_t{max_ranges}, std::max<uint64_t>(max, 1)});
        const RowIds ids = data_.tables[feature.table].ids();
        std::vector<uint32_t> of_rows;
        of_rows.reserve(sample_.size());
        with_bins(data_, feature, [&](const auto& bin_of) {
            for (const uint32_t row : sample_) {
                context_.worked(2);
                const uint32_t bin = bin_of(ids[row]);
                of_rows.push_back(
                    static_cast<uint32_t>(bin == feature.null_bin() ? ranges : uint64_t{bin} * ranges / values));
            }
        });
        return of_rows;
    }

    // Returns the targets' sum and the number of rows by range; NULL has a range of its own.
    std::vector<WeightedSum<double>> sums_of(const std::vector<uint32_t>& ranges) const {
        std::vector<WeightedSum<double>> sums(max_ranges + 1);
        for (size_t i = 0; i < ranges.size(); i++) sums[ranges[i]] += {targets_[i], 1};
        return sums;
    }

    // Returns the AUC of a forecast, the share of label 1 among the other rows of a row's range: a feature without
    // meaning cannot gain by it. A row that is alone has half.
    double auc(const std::vector<uint32_t>& ranges) const {
        std::map<double, std::pair<double, double>> labels; // by forecast: the rows of either label
        for (const auto& [sum, rows] : sums_of(ranges)) {
            const double others = rows - 1;
            if (rows > sum) labels[others > 0 ? sum / others : 0.5].first += rows - sum;
            if (sum > 0) labels[others > 0 ? (sum - 1) / others : 0.5].second += sum;
        }
        static constexpr double min_rows_of_label = 10;
        double zeros = 0, ones = 0, ordered = 0;
        for (const auto& [forecast, rows] : labels) {
            ordered += rows.second * (zeros + rows.first / 2);
            zeros += rows.first;
            ones += rows.second;
        }
        return std::min(zeros, ones) < min_rows_of_label ? 0 : ordered / zeros / ones;
    }

    // R², or what it is of labels' indicators, adjusted for the number of ranges.
    double explained_part(const std::vector<uint32_t>& ranges) const {
        const auto left_by = [&](const std::vector<uint32_t>& of) {
            return dataset_.labels.empty() ? squares_within(of) : impurity_within(of);
        };
        std::vector<bool> used(max_ranges + 1, false);
        for (const uint32_t range : ranges) used[range] = true;
        const auto rows = static_cast<double>(ranges.size());
        const auto ranges_used = static_cast<double>(std::count(used.begin(), used.end(), true));
        const double all = left_by(std::vector<uint32_t>(ranges.size(), 0));
        if (all == 0 || rows <= 2 * ranges_used) return 0;
        return 1 - left_by(ranges) / (rows - ranges_used) / (all / (rows - 1));
    }

    // Σ of squared distances from the means of ranges.
    double squares_within(const std::vector<uint32_t>& ranges) const {
        const std::vector<WeightedSum<double>> sums = sums_of(ranges);
        double squares = 0;
        for (size_t i = 0; i < ranges.size(); i++) {
            const double distance = targets_[i] - sums[ranges[i]].sum / sums[ranges[i]].weight;
            squares += distance * distance;
        }
        return squares;
    }

    // Σ over ranges of rows · (1 − Σ over labels of share²): the same of the labels' indicators, together.
    double impurity_within(const std::vector<uint32_t>& ranges) const {
        const size_t labels = dataset_.labels.size();
        std::vector<double> counts((max_ranges + 1) * labels, 0);
        for (size_t i = 0; i < ranges.size(); i++) counts[ranges[i] * labels + static_cast<size_t>(targets_[i])]++;
        double impurity = 0;
        for (size_t range = 0; range <= max_ranges; range++) {
            double rows = 0, squares = 0;
            for (size_t label = 0; label < labels; label++) {
                const double count = counts[range * labels + label];
                rows += count;
                squares += count * count;
            }
            if (rows > 0) impurity += rows - squares / rows;
        }
        context_.worked(counts.size());
        return impurity;
    }

    const BinnedData& data_;
    const Dataset& dataset_;
    const TrainingRows& training_;
    RunContext& context_;
    const Reservation held_;
    std::vector<uint32_t> sample_; // rows of the join
    std::vector<double> targets_;  // of the sample
};

} // namespace

Findings examine(const BinnedData& data, const Dataset& dataset, const TrainingRows& training, RunContext& context) {
    if (training.train_rows() < min_rows_of_findings) return {};
    return Examination(data, dataset, training, context).find();
}

bool is_worse_than_constant(const Model& model) {
    const size_t iterations = model.iterations();
    if (!model.baseline || !model.baseline->holdout_loss || iterations == 0 || model.log.size() < iterations)
        return false;
    const std::optional<double> loss = model.log[iterations - 1].holdout_loss;
    const double of_constant = *model.baseline->holdout_loss;
    const Objective& objective = objective_of(model.options.objective);
    if (!loss || objective.ranks) return false;
    const double dispersion = objective.is_without_unit ? 1 : 2 * std::abs(of_constant);
    const double margin = std::max(8 / static_cast<double>(model.holdout_rows), 0.005) * dispersion;
    return *loss - of_constant > margin;
}

} // namespace btml::boosting
