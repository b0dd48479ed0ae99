#include "pg/model/model_cache.hpp"

#include "pg/bridge/call_site.hpp"
#include "pg/values/bytes.hpp"

namespace btml::pg {

static constexpr size_t max_models = 256;

ModelIdentity ModelIdentity::of(Datum value) {
    ModelIdentity identity;
    const auto* const stored = reinterpret_cast<const struct varlena*>(DatumGetPointer(value));
    if (VARATT_IS_EXTERNAL_ONDISK(stored)) {
        // The address of the value in its TOAST table.
        memcpy(identity.bytes_.data(), stored, std::min<size_t>(VARSIZE_EXTERNAL(stored), identity.bytes_.size()));
        return identity;
    }
    const std::span<const std::byte> bytes = datum_bytes(value);
    identity.size_ = bytes.size();
    memcpy(identity.bytes_.data(), bytes.data(), std::min(bytes.size(), identity.bytes_.size()));
    return identity;
}

CachedModel::CachedModel(const ModelIdentity& seen, std::shared_ptr<DecodedModel> decoded, MemoryContext parent,
                         RunContext& run)
    : identity(seen),
      model(std::move(decoded)),
      held(run.memory(), "models ready to predict", model->bytes()),
      context(pg_call([=] { return AllocSetContextCreate(parent, "btml cached model", ALLOCSET_SMALL_SIZES); })),
      record(model->features, model->codes, context),
      values(model->features.size()) {}

gp::Predictor& CachedModel::gp_predictor(const char* function) {
    if (model->process) return model->process->predict;
    throw Error(ErrorCode::wrong_type, format("model is boosted trees, btml.%s needs a Gaussian process", function),
                "Boosted trees predict a number without a distribution.", "btml.predict predicts with any model.");
}

size_t CachedModel::code_of_label(std::string_view label) {
    if (model->labels[last_label] != label) last_label = pg::code_of_label(model->labels, label);
    return last_label;
}

CachedModel& ModelCache::load(Datum model) {
    const ModelIdentity seen = ModelIdentity::of(model);
    const auto found =
        std::find_if(recent_.begin(), recent_.end(), [&](const auto& cached) { return cached->identity == seen; });
    if (found != recent_.end()) {
        if (found != recent_.begin()) std::rotate(recent_.begin(), found, found + 1);
        return *recent_.front();
    }
    if (recent_.size() == max_models) drop_oldest();
    recent_.insert(recent_.begin(), decode(seen, model));
    return *recent_.front();
}

TupleDesc ModelCache::result_columns(FunctionCallInfo fcinfo) {
    if (!columns_)
        columns_ = pg_call([=, this] {
            const MemoryContext before = MemoryContextSwitchTo(context_);
            TupleDesc found;
            if (get_call_result_type(fcinfo, nullptr, &found) != TYPEFUNC_COMPOSITE)
                ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("the function must return btml.normal")));
            found = BlessTupleDesc(CreateTupleDescCopy(found));
            MemoryContextSwitchTo(before);
            return found;
        });
    return columns_;
}

// Lets the other models go where there is no room for this one beside them.
std::unique_ptr<CachedModel> ModelCache::decode(const ModelIdentity& seen, Datum value) {
    try {
        return decode_once(seen, value);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::memory_limit || recent_.empty()) throw;
    }
    while (!recent_.empty()) drop_oldest();
    return decode_once(seen, value);
}

std::unique_ptr<CachedModel> ModelCache::decode_once(const ModelIdentity& seen, Datum value) {
    return std::make_unique<CachedModel>(seen, decoded_model(value, use_, run_.memory().left()), context_, run_);
}

void ModelCache::drop_oldest() {
    const MemoryContext oldest = recent_.back()->context;
    recent_.pop_back();
    pg_call([=] { MemoryContextDelete(oldest); });
}

ModelCache& model_cache(FunctionCallInfo fcinfo, ModelUse use) {
    return kept_at_call_site<ModelCache>(fcinfo,
                                         [=] { return std::make_unique<ModelCache>(use, fcinfo->flinfo->fn_mcxt); });
}

} // namespace btml::pg
