// The models that a call site of a function was given, each with what reads its rows. The session keeps models decoded
// (decoded_model.hpp); a call site holds those that it was given until it ends, or until their memory is needed.
#pragma once

#include "pg/model/decoded_model.hpp"

namespace btml::pg {

// Tells whether two calls of a function got the same model, without detoasting what is stored out of line: by its place
// there, or by its header, where the digest is. Every way to make a value has checked the digest, and so does decoding.
using ModelIdentity = std::pair<std::array<std::byte, envelope_header_size>, size_t>; // and the size, if it is known

struct CachedModel {
    CachedModel(const ModelIdentity& seen, std::shared_ptr<DecodedModel> decoded, MemoryContext parent,
                RunContext& run);

    // Error wrong_type for boosted trees: btml.`function` needs a Gaussian process.
    gp::Predictor& gp_predictor(const char* function);
    // Error invalid_argument with the labels in the DETAIL and the nearest in the HINT.
    size_t code_of_label(std::string_view label);

    const ModelIdentity identity;
    const std::shared_ptr<DecodedModel> model;
    const Reservation held; // of the model, which others may hold, too
    size_t last_label = 0;  // that was asked for
    bool told = false;      // that its bounds are infinite
    RecordReader record;
    std::vector<double> values; // of the features, in the row at hand
};

// Has one model for a scan, several where rows bring their own.
class ModelCache {
  public:
    ModelCache(ModelUse use, MemoryContext context);

    // Valid until the next call. Errors corrupt_model, memory_limit.
    CachedModel& load(Datum model);
    // Returns the columns of the call's composite type.
    TupleDesc result_columns(FunctionCallInfo fcinfo);

  private:
    std::unique_ptr<CachedModel> decode(const ModelIdentity& seen, Datum value);
    void forget();

    const ModelUse use_;
    const MemoryContext context_, of_models_;
    BackendContext run_; // counts them all
    TupleDesc columns_ = nullptr;
    std::vector<std::unique_ptr<CachedModel>> models_; // the latest first
};

// The cache of this call site, whose calls all have one use.
ModelCache& model_cache(FunctionCallInfo fcinfo, ModelUse use = ModelUse::predict);

} // namespace btml::pg
