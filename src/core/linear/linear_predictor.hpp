// Predicts with a decoded linear model.
#pragma once

#include "core/linear/linear_model.hpp"

#include <array>

namespace btml::linear {

class Predictor {
  public:
    struct Interval {
        double lower, upper;
    };

    // Keeps a reference to the model.
    explicit Predictor(const Model& model);

    // Takes one value per feature in the model's order: a number, a category's code (as a double; one that the model
    // does not know, or -1, counts as the category of reference), or null_number, which counts as the mean or the
    // category of reference where training rows had no NULL. Returns the prediction on the target's scale. Error
    // null_value or out_of_range for an offset that is NULL or not finite.
    double operator()(std::span<const double> features) { return response(score(features)); }
    // Returns the linear predictor: base() + Σ of the contributions, added in the features' order. A number that is NaN
    // or infinite makes it so, unless the coefficient is 0.
    double score(std::span<const double> features);
    double base() const { return base_; }
    // Puts what each feature adds to the score, over what it adds on average; 0 of one that was dropped. An offset adds
    // itself.
    void contributions(std::span<const double> features, std::span<double> to);
    // Returns the mean of a target with this score.
    double response(double score) const;
    // Returns the probabilities of both labels of a binomial.
    std::array<double, 2> probabilities(std::span<const double> features);

    // Says whether a feature is a number whose coefficient is not 0, and no offset.
    bool takes_number(size_t feature) const { return terms_[feature].number && !terms_[feature].is_offset(); }

    const Model& model() const { return model_; }
    // Says whether the model has the covariance of its coefficients, which the others need.
    bool has_errors() const { return !model_.covariance.empty(); }
    // Returns the standard error of the score.
    double standard_error(std::span<const double> features);
    // Returns an interval of the mean, on the target's scale: that of the score, brought there. An infinite score has
    // all numbers in its interval.
    Interval mean_interval(std::span<const double> features, double confidence);
    // Says whether observations have intervals: of a gaussian with errors.
    bool has_observation_interval() const { return has_errors() && model_.options.family == Family::gaussian; }
    // Returns an interval of an observation of weight 1, of a gaussian.
    Interval observation_interval(std::span<const double> features, double confidence);

  private:
    const Column* one_of(const FeatureTerms& terms, double value) const;
    double contribution(const FeatureTerms& terms, double value) const;
    void place(std::span<const double> features);
    // Returns how many standard errors an interval has on either side.
    double quantile(double confidence);

    const Model& model_;
    const std::vector<FeatureTerms> terms_; // by feature
    const double base_;
    const std::string offset_name_;        // in errors
    std::vector<double> point_;            // 1, then the kept columns, less their means and over their scales
    std::vector<size_t> kept_;             // numbers of the columns that were kept
    double confidence_ = 0, quantile_ = 0; // of the last interval
};

} // namespace btml::linear
