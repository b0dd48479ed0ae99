// Predictions for single rows: btml.predict, btml.predict_normal and btml.predict_latent.
#include "pg/prediction.hpp"

#include "core/boosting/predictor.hpp"
#include "core/gp/predictor.hpp"
#include "pg/bridge/arguments.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/bytes.hpp"
#include "pg/bridge/call_site.hpp"
#include "pg/bridge/record.hpp"
#include "pg/model.hpp"

namespace btml::pg {

namespace {

// Tells whether two calls of a function got the same model, without detoasting what is stored out of line: by its place
// there, or by its header, where the digest is. Every way to make a value has checked the digest, and so does decoding.
class ModelIdentity {
  public:
    bool operator==(const ModelIdentity&) const = default;

    static ModelIdentity of(Datum value) {
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

  private:
    std::array<std::byte, envelope_header_size> bytes_{};
    size_t size_ = 0;
};

// Holds a Gaussian process, which its predictor refers to.
struct GpPredictor {
    StoredModel stored;
    gp::Predictor predict{std::get<gp::Model>(stored.model)};
};

using AnyPredictor = std::variant<boosting::Predictor, std::unique_ptr<GpPredictor>>;

AnyPredictor make_predictor(StoredModel stored, RunContext& context) {
    if (const auto* const trees = std::get_if<boosting::Model>(&stored.model))
        return boosting::Predictor(*trees, context);
    return std::unique_ptr<GpPredictor>(new GpPredictor{std::move(stored)});
}

// The features of a model with what finds their categories.
uint64_t bytes_of_features(const std::vector<Feature>& features) {
    constexpr size_t bytes_of_entry = 64; // of a hash table
    uint64_t bytes = 0;
    for (const Feature& feature : features)
        for (const std::string& category : feature.categories)
            bytes += category.size() + sizeof(std::string) + bytes_of_entry;
    return bytes;
}

// A model as btml.predict and its kin keep it between calls of one query.
struct CachedModel {
    CachedModel(const ModelIdentity& seen, StoredModel decoded, MemoryContext parent, RunContext& run)
        : identity(seen),
          held(run.memory(), "features of a model", bytes_of_features(features_of(decoded))),
          features(features_of(decoded)),
          predictor(make_predictor(std::move(decoded), run)),
          context(pg_call([=] { return AllocSetContextCreate(parent, "btml cached model", ALLOCSET_SMALL_SIZES); })),
          record(features, context),
          values(features.size()) {}

    gp::Predictor& gp_predictor(const char* function) {
        if (auto* const found = std::get_if<std::unique_ptr<GpPredictor>>(&predictor)) return (*found)->predict;
        throw Error(ErrorCode::wrong_type, format("model is boosted trees, btml.%s needs a Gaussian process", function),
                    "Boosted trees predict a number without a distribution.", "btml.predict predicts with any model.");
    }

    const ModelIdentity identity;
    const Reservation held; // of the features
    const std::vector<Feature> features;
    AnyPredictor predictor;
    const MemoryContext context;
    RecordReader record;
    std::vector<double> values; // of the features, in the row at hand
};

// The models of a call site: one for a scan, several where rows bring their own.
class PredictCache {
  public:
    explicit PredictCache(MemoryContext context) : context_(context) {}

    CachedModel& load(Datum value) {
        const ModelIdentity seen = ModelIdentity::of(value);
        const auto found =
            std::find_if(recent_.begin(), recent_.end(), [&](const auto& cached) { return cached->identity == seen; });
        if (found != recent_.end()) {
            if (found != recent_.begin()) std::rotate(recent_.begin(), found, found + 1);
            return *recent_.front();
        }
        if (recent_.size() == max_models) drop_oldest();
        recent_.insert(recent_.begin(), decode(seen, value));
        return *recent_.front();
    }

    // Returns the columns of the call's composite type.
    TupleDesc result_columns(FunctionCallInfo fcinfo) {
        if (!columns_)
            columns_ = pg_call([=, this] {
                const MemoryContext before = MemoryContextSwitchTo(context_);
                TupleDesc found;
                if (get_call_result_type(fcinfo, nullptr, &found) != TYPEFUNC_COMPOSITE)
                    ereport(ERROR,
                            (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("the function must return btml.normal")));
                found = BlessTupleDesc(CreateTupleDescCopy(found));
                MemoryContextSwitchTo(before);
                return found;
            });
        return columns_;
    }

  private:
    static constexpr size_t max_models = 256;

    // Where there is no room for the model beside the others, they go.
    std::unique_ptr<CachedModel> decode(const ModelIdentity& seen, Datum value) {
        try {
            return decode_once(seen, value);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::memory_limit || recent_.empty()) throw;
        }
        while (!recent_.empty()) drop_oldest();
        return decode_once(seen, value);
    }

    std::unique_ptr<CachedModel> decode_once(const ModelIdentity& seen, Datum value) {
        return std::make_unique<CachedModel>(seen, read_model(value, run_), context_, run_);
    }

    void drop_oldest() {
        const MemoryContext oldest = recent_.back()->context;
        recent_.pop_back();
        pg_call([=] { MemoryContextDelete(oldest); });
    }

    const MemoryContext context_;
    BackendContext run_; // counts them all
    TupleDesc columns_ = nullptr;
    std::vector<std::unique_ptr<CachedModel>> recent_; // the latest first
};

PredictCache& predict_cache(FunctionCallInfo fcinfo) {
    return kept_at_call_site<PredictCache>(fcinfo,
                                           [=] { return std::make_unique<PredictCache>(fcinfo->flinfo->fn_mcxt); });
}

// Features from a record.
CachedModel& load_record(FunctionCallInfo fcinfo) {
    CachedModel& cached = predict_cache(fcinfo).load(PG_GETARG_DATUM(0));
    cached.record.read(PG_GETARG_DATUM(1), cached.values);
    return cached;
}

// Features from an array.
CachedModel& load_array(FunctionCallInfo fcinfo) {
    CachedModel& cached = predict_cache(fcinfo).load(PG_GETARG_DATUM(0));
    Arguments(fcinfo).read_numbers(1, "features", cached.values);
    require_width(cached.values, cached.features);
    return cached;
}

Datum predict(CachedModel& cached) {
    double value;
    if (auto* const trees = std::get_if<boosting::Predictor>(&cached.predictor))
        value = (*trees)(cached.values);
    else
        value = cached.gp_predictor("predict").latent(cached.values).mean;
    return Float8GetDatum(value);
}

// btml.normal, the result type of the call.
Datum normal_datum(FunctionCallInfo fcinfo, const gp::Normal& normal) {
    const TupleDesc columns = predict_cache(fcinfo).result_columns(fcinfo);
    const double sd = std::sqrt(normal.variance);
    return pg_call([=] {
        Datum values[] = {Float8GetDatum(normal.mean), Float8GetDatum(sd)};
        bool nulls[std::size(values)] = {};
        return HeapTupleGetDatum(heap_form_tuple(columns, values, nulls));
    });
}

Datum predict_normal(FunctionCallInfo fcinfo, CachedModel& cached) {
    return normal_datum(fcinfo, cached.gp_predictor("predict_normal").observation(cached.values));
}

Datum predict_latent(FunctionCallInfo fcinfo, CachedModel& cached) {
    return normal_datum(fcinfo, cached.gp_predictor("predict_latent").latent(cached.values));
}

} // namespace

void require_width(const std::vector<double>& values, const std::vector<Feature>& features) {
    if (values.size() == features.size()) return;
    throw Error(ErrorCode::invalid_argument,
                format("features has %zu elements, model expects %zu", values.size(), features.size()),
                "btml.summary(model)->'features' lists them in order.");
}

// btml.predict(model, record) → float8
BTML_FUNCTION(btml_predict_record) {
    return predict(load_record(fcinfo));
}

// btml.predict(model, float8[]) → float8
BTML_FUNCTION(btml_predict_array) {
    return predict(load_array(fcinfo));
}

// btml.predict_normal(model, record) → btml.normal
BTML_FUNCTION(btml_predict_normal_record) {
    return predict_normal(fcinfo, load_record(fcinfo));
}

// btml.predict_normal(model, float8[]) → btml.normal
BTML_FUNCTION(btml_predict_normal_array) {
    return predict_normal(fcinfo, load_array(fcinfo));
}

// btml.predict_latent(model, record) → btml.normal
BTML_FUNCTION(btml_predict_latent_record) {
    return predict_latent(fcinfo, load_record(fcinfo));
}

// btml.predict_latent(model, float8[]) → btml.normal
BTML_FUNCTION(btml_predict_latent_array) {
    return predict_latent(fcinfo, load_array(fcinfo));
}

} // namespace btml::pg
