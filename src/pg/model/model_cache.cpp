#include "pg/model/model_cache.hpp"

#include "pg/bridge/call_site.hpp"
#include "pg/values/bytes.hpp"

namespace btml::pg {

static constexpr size_t max_models = 256;

static ModelIdentity identity_of(Datum value) {
    ModelIdentity identity{};
    auto& [first_bytes, size] = identity;
    const auto* const stored = reinterpret_cast<const struct varlena*>(DatumGetPointer(value));
    if (VARATT_IS_EXTERNAL_ONDISK(stored)) {
        // The address of the value in its TOAST table.
        memcpy(first_bytes.data(), stored, std::min<size_t>(VARSIZE_EXTERNAL(stored), first_bytes.size()));
        return identity;
    }
    const std::span<const std::byte> bytes = datum_bytes(value);
    size = bytes.size();
    memcpy(first_bytes.data(), bytes.data(), std::min(bytes.size(), first_bytes.size()));
    return identity;
}

CachedModel::CachedModel(const ModelIdentity& seen, std::shared_ptr<DecodedModel> decoded, MemoryContext parent,
                         RunContext& run)
    : identity(seen),
      model(std::move(decoded)),
      held(run.memory(), "models ready to predict", model->bytes()),
      record(model->features, model->codes,
             pg_call([=] { return AllocSetContextCreate(parent, "btml cached model", ALLOCSET_SMALL_SIZES); })),
      values(model->features.size()) {}

gp::Predictor& CachedModel::gp_predictor(const char* function) {
    if (model->gp) return *model->gp;
    throw Error(ErrorCode::wrong_type, format("model is %s, btml.%s needs a Gaussian process", model->kind, function),
                model->trees ? "Boosted trees predict a number without a distribution." : "",
                "btml.predict predicts with any model.");
}

size_t CachedModel::code_of_label(std::string_view label) {
    if (model->labels[last_label] != label) last_label = pg::code_of_label(model->labels, label);
    return last_label;
}

ModelCache::ModelCache(ModelUse use, MemoryContext context)
    : use_(use),
      context_(context),
      of_models_(pg_call([=] { return AllocSetContextCreate(context, "btml cached models", ALLOCSET_SMALL_SIZES); })) {}

CachedModel& ModelCache::load(Datum model) {
    const ModelIdentity seen = identity_of(model);
    const auto found =
        std::find_if(models_.begin(), models_.end(), [&](const auto& cached) { return cached->identity == seen; });
    if (found != models_.end()) {
        if (found != models_.begin()) std::rotate(models_.begin(), found, found + 1);
        return *models_.front();
    }
    if (models_.size() == max_models) forget();
    models_.insert(models_.begin(), decode(seen, model));
    return *models_.front();
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
    const auto made = [&] {
        return std::make_unique<CachedModel>(seen, decoded_model(value, use_, run_.memory().left()), of_models_, run_);
    };
    try {
        return made();
    } catch (const Error& error) {
        if (error.code() != ErrorCode::memory_limit || models_.empty()) throw;
    }
    forget();
    return made();
}

void ModelCache::forget() {
    models_.clear();
    pg_call([this] { MemoryContextReset(of_models_); });
}

ModelCache& model_cache(FunctionCallInfo fcinfo, ModelUse use) {
    return kept_at_call_site<ModelCache>(fcinfo,
                                         [=] { return std::make_unique<ModelCache>(use, fcinfo->flinfo->fn_mcxt); });
}

} // namespace btml::pg
