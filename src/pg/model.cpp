// The SQL type btml.model: input, output, casts, btml.predict and btml.summary.
#include "pg/model.hpp"

#include "core/boosting/predictor.hpp"
#include "pg/bridge/arguments.hpp"
#include "pg/bridge/bytes.hpp"
#include "pg/bridge/json.hpp"
#include "pg/bridge/record.hpp"
#include "pg/bridge/result.hpp"

extern "C" {
#include "utils/jsonb.h"
}

namespace btml::pg {

using boosting::Model;
using boosting::Timing;

namespace {

std::vector<Timing> decode_timings(std::span<const std::byte> note) {
    std::vector<Timing> timings;
    if (note.empty()) return timings;
    Reader reader(note);
    const size_t count = reader.get_count(sizeof(uint32_t) + sizeof(double));
    for (size_t i = 0; i < count; i++) {
        std::string phase = reader.get_string();
        timings.push_back({std::move(phase), reader.get_finite()});
    }
    reader.finish();
    return timings;
}

Model decode_payload(std::span<const std::byte> payload) {
    Reader reader(payload);
    Model model = boosting::decode(reader);
    reader.finish();
    return model;
}

// Names and labels leave as text, so they must be text in the encoding of this database.
void check_texts(const Model& model) {
    require_valid_text(model.target);
    require_valid_text(model.strategy);
    require_valid_text(model.strategy_reason);
    for (const Feature& feature : model.features) {
        require_valid_text(feature.name);
        require_valid_text(feature.type);
        for (const std::string& category : feature.categories) require_valid_text(category);
    }
}

// Validates bytes from outside and makes a value of them.
Datum model_from_outside(std::span<const std::byte> bytes) {
    const Envelope envelope = open_envelope(bytes);
    if (!envelope.note.empty()) corrupt_model(format("%zu bytes follow its end.", envelope.note.size()));
    check_texts(decode_payload(envelope.payload));
    return bytes_datum(bytes);
}

} // namespace

Datum model_datum(const boosting::FitResult& result) {
    Writer payload, note;
    boosting::encode(result.model, payload);
    note.put_count(result.timings.size());
    for (const Timing& timing : result.timings) {
        note.put(std::string_view(timing.phase));
        note.put(timing.seconds);
    }
    return bytes_datum(make_envelope(ModelKind::boosted_trees, payload.bytes(), note.bytes()));
}

StoredModel read_model(Datum value) {
    const Envelope envelope = open_envelope(datum_bytes(value));
    return {decode_payload(envelope.payload), decode_timings(envelope.note)};
}

// btml.model_in(cstring): base64 of the portable form
BTML_FUNCTION(btml_model_in) {
    return model_from_outside(decode_base64(PG_GETARG_CSTRING(0), "btml.model"));
}

BTML_FUNCTION(btml_model_out) {
    return encode_base64(open_envelope(datum_bytes(PG_GETARG_DATUM(0))).portable);
}

BTML_FUNCTION(btml_model_recv) {
    return model_from_outside(message_bytes(reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0))));
}

BTML_FUNCTION(btml_model_send) {
    return bytes_datum(open_envelope(datum_bytes(PG_GETARG_DATUM(0))).portable);
}

BTML_FUNCTION(btml_model_from_bytea) {
    return model_from_outside(datum_bytes(PG_GETARG_DATUM(0)));
}

BTML_FUNCTION(btml_model_to_bytea) {
    return bytes_datum(open_envelope(datum_bytes(PG_GETARG_DATUM(0))).portable);
}

namespace {

// Tells whether two calls of a function got the same model, without detoasting what is stored out of line.
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
        memcpy(identity.bytes_.data(), bytes.data(),
               std::min({bytes.size(), envelope_header_size, identity.bytes_.size()}));
        return identity;
    }

  private:
    std::array<std::byte, 32> bytes_{};
    size_t size_ = 0;
};

// A model as btml.predict keeps it between calls of one query.
struct CachedModel {
    CachedModel(const ModelIdentity& seen, Model decoded, MemoryContext own)
        : identity(seen),
          predictor(decoded),
          features(std::move(decoded.features)),
          record(features, own),
          values(features.size()),
          context(own) {}

    const ModelIdentity identity;
    boosting::Predictor predictor;
    const std::vector<Feature> features;
    RecordReader record;
    std::vector<double> values; // of the features, in the row at hand
    const MemoryContext context;
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
        Model decoded = read_model(value).model;
        if (recent_.size() == most_models) {
            const MemoryContext oldest = recent_.back()->context;
            recent_.pop_back();
            pg_call([=] { MemoryContextDelete(oldest); });
        }
        const MemoryContext own =
            pg_call([this] { return AllocSetContextCreate(context_, "btml cached model", ALLOCSET_SMALL_SIZES); });
        recent_.insert(recent_.begin(), std::make_unique<CachedModel>(seen, std::move(decoded), own));
        return *recent_.front();
    }

  private:
    static constexpr size_t most_models = 16;

    const MemoryContext context_;
    std::vector<std::unique_ptr<CachedModel>> recent_; // the latest first
};

// The cache of a call site, freed with the query.
PredictCache& predict_cache(FunctionCallInfo fcinfo) {
    FmgrInfo* const function = fcinfo->flinfo;
    if (!function->fn_extra) {
        auto* const callback = pg_call([=] {
            return static_cast<MemoryContextCallback*>(
                MemoryContextAllocZero(function->fn_mcxt, sizeof(MemoryContextCallback)));
        });
        auto* const cache = new PredictCache(function->fn_mcxt);
        callback->func = [](void* object) { delete static_cast<PredictCache*>(object); };
        callback->arg = cache;
        pg_call([=] { MemoryContextRegisterResetCallback(function->fn_mcxt, callback); });
        function->fn_extra = cache;
    }
    return *static_cast<PredictCache*>(function->fn_extra);
}

} // namespace

// btml.predict(model, record) → float8
BTML_FUNCTION(btml_predict_record) {
    CachedModel& cached = predict_cache(fcinfo).load(PG_GETARG_DATUM(0));
    cached.record.read(PG_GETARG_DATUM(1), cached.values);
    const double value = cached.predictor(cached.values);
    return Float8GetDatum(value);
}

// btml.predict(model, float8[]) → float8
BTML_FUNCTION(btml_predict_array) {
    CachedModel& cached = predict_cache(fcinfo).load(PG_GETARG_DATUM(0));
    const std::vector<double> features = Arguments(fcinfo).numbers(1, "features");
    if (features.size() != cached.features.size())
        throw Error(ErrorCode::invalid_argument,
                    format("features has %zu elements, model expects %zu", features.size(), cached.features.size()),
                    "btml.summary(model)->'features' lists them in order.");
    const double value = cached.predictor(features);
    return Float8GetDatum(value);
}

namespace {

void add_features(JsonWriter& json, const std::vector<Feature>& features) {
    json.begin_array("features");
    for (const Feature& feature : features) {
        json.begin_object();
        json.add("name", feature.name);
        json.add("type", feature.type);
        if (feature.categorical) {
            json.begin_array("categories");
            for (const std::string& category : feature.categories) json.add_item(category);
            json.end_array();
        }
        json.end_object();
    }
    json.end_array();
}

void add_options(JsonWriter& json, const boosting::Options& options) {
    json.begin_object("params");
    json.add("trees", options.trees);
    json.add("learning_rate", options.learning_rate);
    json.add("max_leaves", options.max_leaves);
    json.add("max_depth", options.max_depth);
    json.add("min_leaf_rows", options.min_leaf_rows);
    json.add("l2", options.l2);
    json.add("min_gain", options.min_gain);
    json.add("min_category_rows", options.min_category_rows);
    json.add("max_split_categories", options.max_split_categories);
    json.add("max_bins", options.max_bins);
    json.add("early_stopping", options.early_stopping);
    json.add("row_fraction", options.row_fraction);
    json.add("feature_fraction", options.feature_fraction);
    json.add("criterion", options.criterion == boosting::Criterion::variance ? "variance" : "mse_sum");
    json.add("residuals", options.sketch_residuals ? "sketch" : "exact");
    if (options.sketch_residuals) {
        if (options.sketch_size > 0) {
            json.add("sketch_size", options.sketch_size);
        } else {
            json.add("epsilon", options.epsilon);
            json.add("delta", options.delta);
        }
    }
    json.add("seed", options.seed);
    json.end_object();
}

void add_metrics(JsonWriter& json, const Model& model) {
    json.begin_object("metrics");
    json.add("trees", model.trees.size());
    // The log goes on behind the trees that early stopping kept.
    if (!model.trees.empty() && model.log.size() >= model.trees.size()) {
        const boosting::LogEntry& last = model.log[model.trees.size() - 1];
        json.add("train_loss", last.train_loss);
        if (last.holdout_loss) json.add("holdout_loss", *last.holdout_loss);
    }
    if (model.sketch) {
        json.add("sketch_size", model.sketch->size);
        json.add("sketches", model.sketch->sketches);
        if (model.sketch->error) json.add("sketch_error", *model.sketch->error);
    }
    json.end_object();
}

std::string summary_json(const StoredModel& stored) {
    const Model& model = stored.model;
    JsonWriter json;
    json.begin_object();
    json.add("kind", "boosted_trees");
    json.add("format", static_cast<int>(model_format));
    json.add("target", model.target);
    json.add("base", model.base);
    add_features(json, model.features);
    add_options(json, model.options);
    json.add("rows", model.rows);
    json.add("holdout_rows", model.holdout_rows);
    json.add("rows_skipped", model.rows_skipped);
    add_metrics(json, model);
    json.add("strategy", model.strategy);
    json.add("strategy_reason", model.strategy_reason);
    if (!stored.timings.empty()) {
        json.begin_object("seconds");
        for (const Timing& timing : stored.timings) json.add(timing.phase, timing.seconds);
        json.end_object();
    }
    json.end_object();
    return json.text();
}

} // namespace

// btml.summary(model) → jsonb
BTML_FUNCTION(btml_summary) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    const std::string json = summary_json(read_model(PG_GETARG_DATUM(0)));
    const char* const text = json.c_str();
    return pg_call([=] { return DirectFunctionCall1(jsonb_in, CStringGetDatum(text)); });
}

} // namespace btml::pg
