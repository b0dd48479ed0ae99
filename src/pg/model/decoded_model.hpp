// Models ready to predict, or to explain predictions. A session keeps those it used last from one statement to the
// next.
#pragma once

#include "core/boosting/explanations/explainer.hpp"
#include "core/boosting/trees/boosting_predictor.hpp"
#include "core/gp/gp_predictor.hpp"
#include "core/linear/linear_predictor.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/model/model_value.hpp"
#include "pg/values/record.hpp"

#include <memory>

namespace btml::pg {

// Says what boosted trees are decoded for.
enum class ModelUse { predict, explain };

class DecodedModel {
    BackendContext run_;                // counts the rest
    Reservation held_;                  // of the features, labels and calibration
    std::optional<StoredModel> stored_; // which the predictor of what is no trees refers to

    void keep(const std::optional<uncertainty::Calibration>& found);
    void keep_trees(const boosting::Model& model);
    void keep_labels(const std::vector<std::string>& found);

  public:
    // Holds at most max_bytes. Errors corrupt_model, memory_limit.
    DecodedModel(Datum value, ModelUse use, uint64_t max_bytes);

    uint64_t bytes() { return sizeof(*this) + run_.memory().used(); }

    std::vector<Feature> features;
    const char* kind;                // what people call such a model, with an article
    std::vector<std::string> labels; // of the target
    CategoryCodes codes;
    // One of these is there.
    std::optional<boosting::Predictor> trees;
    std::optional<boosting::Explainer> explainer;
    std::optional<gp::Predictor> gp;
    std::optional<linear::Predictor> linear;
    std::optional<uncertainty::Calibration> calibration;
    // The deviation of trees that learned one: ln of its square, and what e^(half of that) takes.
    std::optional<boosting::Predictor> log_variance;
    double deviation_factor = 1;
    // What says why there is none.
    boosting::ObjectiveNumber objective = boosting::ObjectiveNumber::automatic;
    std::string strategy;
    bool is_imported = false;
};

// Returns the session's copy, or else decodes one, of at most max_bytes, and keeps it where btml.model_cache allows.
std::shared_ptr<DecodedModel> decoded_model(Datum value, ModelUse use, uint64_t max_bytes);

} // namespace btml::pg
