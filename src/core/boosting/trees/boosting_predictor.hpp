// Prediction with a decoded model, compiled for speed.
#pragma once

#include "core/base/run_context.hpp"
#include "core/boosting/objectives/link.hpp"
#include "core/boosting/trees/missing_values.hpp"

#include <memory>
#include <span>

namespace btml::boosting {

class Predictor {
  public:
    // Copies what it needs of the model, into the memory of the context.
    Predictor(const Model& model, RunContext& context);
    ~Predictor();
    Predictor(Predictor&& other) noexcept;
    Predictor& operator=(Predictor&& other) noexcept;

    // Returns a row's scores. One value per feature in the model's order: a number, a category's code (as a double; a
    // code that the model does not know, or -1, is a category never seen), or null_number. Not thread-safe (scratch
    // space). Error null_value or out_of_range for an offset that is NULL or not finite.
    std::span<const double> scores(std::span<const double> features) { return scores(features, iterations()); }
    // Returns those of the first iterations, of which there are as many.
    std::span<const double> scores(std::span<const double> features, size_t iterations);
    // Returns, of one score, the prediction on the scale of the target; and the probabilities of all labels, of a
    // model that has labels.
    double operator()(std::span<const double> features) { return prediction(scores(features)[0]); }
    double prediction(double score) const { return prediction_of(link_, steepness_ * score); }
    std::span<const double> probabilities(std::span<const double> features);

    // Puts the number of the leaf node that each tree's walk ends in.
    void leaves(std::span<const double> features, std::span<int32_t> nodes);

    size_t trees() const { return trees_; }
    size_t iterations() const { return trees_ / scores_.size(); }
    size_t score_count() const { return scores_.size(); }
    Link link() const { return link_; }

    class Scorer;

  private:
    std::unique_ptr<Scorer> scorer_;
    std::vector<double> bases_;
    std::optional<int32_t> offset_; // the feature
    std::string offset_name_;       // in errors
    MissingValues missing_;
    Link link_;
    double steepness_; // as of Import, and so it is below
    bool averages_, sums_floats_;
    size_t trees_;
    std::vector<double> scores_, probabilities_; // of the row at hand
};

} // namespace btml::boosting
