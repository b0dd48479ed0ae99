// The SQL type btml.model: input, output and casts.
#include "pg/model.hpp"

#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/bytes.hpp"

namespace btml::pg {

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

Digest digest_of(std::span<const std::byte> payload) {
    const auto whole = sha256(payload);
    Digest digest;
    std::copy_n(whole.begin(), digest.size(), digest.begin());
    return digest;
}

// What an envelope says of its payload is its writer's word until here.
Envelope open_verified(std::span<const std::byte> bytes) {
    const Envelope envelope = open_envelope(bytes);
    if (digest_of(envelope.payload) != envelope.digest) corrupt_model("Its checksum is wrong.");
    return envelope;
}

StoredModel decode_model(const Envelope& envelope) {
    StoredModel stored{std::make_unique<BackendContext>(), {}, decode_timings(envelope.note)};
    Reader reader(envelope.payload);
    if (envelope.kind == ModelKind::boosted_trees)
        stored.model = boosting::decode(reader);
    else
        stored.model = gp::decode(reader, *stored.context);
    reader.finish();
    return stored;
}

// Names and labels leave as text, so they must be text in the encoding of this database.
template <class Model>
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
    const Envelope envelope = open_verified(bytes);
    if (!envelope.note.empty()) corrupt_model(format("%zu bytes follow its end.", envelope.note.size()));
    const StoredModel stored = decode_model(envelope);
    std::visit([](const auto& model) { check_texts(model); }, stored.model);
    return bytes_datum(bytes);
}

template <class Model>
Datum make_datum(ModelKind kind, const Model& model, const std::vector<Timing>& timings) {
    Writer payload, note;
    encode(model, payload);
    note.put_count(timings.size());
    for (const Timing& timing : timings) {
        note.put(std::string_view(timing.phase));
        note.put(timing.seconds);
    }
    return bytes_datum(make_envelope(kind, digest_of(payload.bytes()), payload.bytes(), note.bytes()));
}

[[noreturn]] void wrong_kind(const char* is, const char* function, const char* needs, const char* instead) {
    throw Error(ErrorCode::wrong_type, format("model is %s, btml.%s needs %s", is, function, needs), "", instead);
}

} // namespace

Datum model_datum(const boosting::FitResult& result) {
    return make_datum(ModelKind::boosted_trees, result.model, result.timings);
}

Datum model_datum(const gp::FitResult& result) {
    return make_datum(ModelKind::gaussian_process, result.model, result.timings);
}

Datum model_datum(const gp::Model& model) {
    return make_datum(ModelKind::gaussian_process, model, {});
}

StoredModel read_model(Datum value) {
    return decode_model(open_verified(datum_bytes(value)));
}

boosting::Model& boosted_trees(StoredModel& stored, const char* function, const char* instead) {
    if (auto* const model = std::get_if<boosting::Model>(&stored.model)) return *model;
    wrong_kind("a Gaussian process", function, "boosted trees", instead);
}

gp::Model& gaussian_process(StoredModel& stored, const char* function, const char* instead) {
    if (auto* const model = std::get_if<gp::Model>(&stored.model)) return *model;
    wrong_kind("boosted trees", function, "a Gaussian process", instead);
}

const std::vector<Feature>& features_of(const StoredModel& stored) {
    return std::visit([](const auto& model) -> const std::vector<Feature>& { return model.features; }, stored.model);
}

// btml.model_in(cstring): base64 of the portable form
BTML_FUNCTION(btml_model_in) {
    return model_from_outside(decode_base64(PG_GETARG_CSTRING(0), "btml.model"));
}

BTML_FUNCTION(btml_model_out) {
    return encode_base64(open_verified(datum_bytes(PG_GETARG_DATUM(0))).portable);
}

BTML_FUNCTION(btml_model_recv) {
    return model_from_outside(message_bytes(reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0))));
}

BTML_FUNCTION(btml_model_send) {
    return bytes_datum(open_verified(datum_bytes(PG_GETARG_DATUM(0))).portable);
}

BTML_FUNCTION(btml_model_from_bytea) {
    return model_from_outside(datum_bytes(PG_GETARG_DATUM(0)));
}

BTML_FUNCTION(btml_model_to_bytea) {
    return bytes_datum(open_verified(datum_bytes(PG_GETARG_DATUM(0))).portable);
}

} // namespace btml::pg
