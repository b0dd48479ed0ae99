#include "core/linear/linear_predictor.hpp"

#include "core/data/dataset.hpp"
#include "core/linear/family.hpp"
#include "core/numbers/number.hpp"
#include "core/numbers/student_t.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace btml::linear {

Predictor::Predictor(const Model& model)
    : model_(model),
      terms_(terms_of(model)),
      base_(base_of(model)),
      offset_name_(model.has_offset() ? "offset \"" + model.features.back().name + '"' : "") {
    for (size_t c = 0; c < model.columns.size(); c++)
        if (model.columns[c].state == ColumnState::kept) kept_.push_back(c);
    point_.resize(kept_.size() + 1);
}

// Returns the column of zeros and ones that is 1 where the feature has this value.
const Column* Predictor::one_of(const FeatureTerms& terms, double value) const {
    if (is_null(value)) return terms.missing;
    if (!(value >= 0 && value < static_cast<double>(terms.categories.size()))) return nullptr;
    const auto code = static_cast<size_t>(value);
    return static_cast<double>(code) == value ? terms.categories[code] : nullptr;
}

double Predictor::contribution(const FeatureTerms& terms, double value) const {
    if (terms.is_offset()) {
        check_given(value, offset_name_.c_str());
        return value;
    }
    double sum = terms.otherwise();
    if (const Column* const one = one_of(terms, value)) sum += one->estimate;
    if (terms.number && !is_null(value)) sum += terms.number->estimate * (value - terms.number->mean);
    return sum;
}

double Predictor::score(std::span<const double> features) {
    double sum = base();
    for (size_t f = 0; f < terms_.size(); f++) sum += contribution(terms_[f], features[f]);
    return sum;
}

void Predictor::contributions(std::span<const double> features, std::span<double> to) {
    for (size_t f = 0; f < terms_.size(); f++) to[f] = contribution(terms_[f], features[f]);
}

double Predictor::response(double score) const {
    return mean_of_score(model_.options.family, score);
}

std::array<double, 2> Predictor::probabilities(std::span<const double> features) {
    const double second = score(features);
    return {response(-second), response(second)};
}

void Predictor::place(std::span<const double> features) {
    point_[0] = 1;
    for (size_t k = 0; k < kept_.size(); k++) {
        const Column& column = model_.columns[kept_[k]];
        const double value = features[column.feature];
        const bool is_number = column.kind == ColumnKind::number;
        const double of_column = is_number ? (is_null(value) ? column.mean : value)
                                           : (one_of(terms_[column.feature], value) == &column ? 1 : 0);
        point_[k + 1] = (of_column - column.mean) / column.scale;
    }
}

double Predictor::standard_error(std::span<const double> features) {
    place(features);
    double variance = 0;
    const double* row = model_.covariance.data();
    for (size_t i = 0; i < point_.size(); row += ++i) {
        double sum = 0;
        for (size_t j = 0; j < i; j++) sum += row[j] * point_[j];
        variance += point_[i] * (2 * sum + row[i] * point_[i]);
    }
    return std::isnan(variance) ? variance : std::sqrt(std::max(0.0, variance));
}

// It is found by bisection, which takes far longer than the rest of an interval.
double Predictor::quantile(double confidence) {
    if (confidence != confidence_) {
        quantile_ = student_t_quantile(1 - confidence, model_.test_degrees_of_freedom());
        confidence_ = confidence;
    }
    return quantile_;
}

// Where a feature is infinite, nothing bounds the score.
static Predictor::Interval around(double at, double half) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (std::isnan(at)) return {at, at};
    if (!std::isfinite(at) || !std::isfinite(half)) return {-infinity, infinity};
    return {at - half, at + half};
}

Predictor::Interval Predictor::mean_interval(std::span<const double> features, double confidence) {
    const auto [lower, upper] = around(score(features), quantile(confidence) * standard_error(features));
    return {response(lower), response(upper)};
}

Predictor::Interval Predictor::observation_interval(std::span<const double> features, double confidence) {
    const double error = standard_error(features);
    const double half = quantile(confidence) * std::sqrt(error * error + model_.statistics.dispersion.value_or(0));
    return around(score(features), half);
}

} // namespace btml::linear
