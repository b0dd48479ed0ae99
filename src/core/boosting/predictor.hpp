// Prediction with a decoded model, compiled for speed.
#pragma once

#include "core/base/run_context.hpp"
#include "core/boosting/model.hpp"

#include <memory>
#include <span>

namespace btml::boosting {

class Objective;

class Predictor {
  public:
    // Copies what it needs of the model, into the memory of the context.
    Predictor(const Model& model, RunContext& context);
    ~Predictor();
    Predictor(Predictor&& other) noexcept;
    Predictor& operator=(Predictor&& other) noexcept;

    // One value per feature in the model's order: a number, a category's code (as a double; a code that the model does
    // not know, or -1, is a category never seen), or null_number. Not thread-safe (scratch space).
    double operator()(std::span<const double> features);

    class Scorer;

  private:
    std::unique_ptr<Scorer> scorer_;
    const Objective* objective_;
};

// The definition that Predictor must agree with to the last bit: a plain walk from root to leaf.
double predict_by_walking(const Model& model, std::span<const double> features);

} // namespace btml::boosting
