// The SQL type btml.model: input, output and casts.
#include "pg/model/model_value.hpp"

#include "pg/bridge/backend_context.hpp"
#include "pg/values/bytes.hpp"

extern "C" {
#include "access/detoast.h"
}

namespace btml::pg {

namespace {

std::vector<Timing> decode_timings(std::span<const std::byte> note) {
    if (note.empty()) return {};
    Reader reader(note);
    std::vector<Timing> timings = reader.get_list(reader.get_count(sizeof(uint32_t) + sizeof(double)), [&] {
        return Timing{reader.get_string(), reader.get_finite()};
    });
    reader.finish();
    return timings;
}

Digest digest_of(std::span<const std::byte> payload) {
    const auto whole = sha256(payload);
    Digest digest;
    std::copy_n(whole.begin(), digest.size(), digest.begin());
    return digest;
}

// Checks what an envelope says of its payload, which is only its writer's word.
Envelope open_verified(std::span<const std::byte> bytes) {
    const Envelope envelope = open_envelope(bytes);
    if (digest_of(envelope.payload) != envelope.digest) corrupt_model("Its checksum is wrong.");
    return envelope;
}

StoredModel decode_model(const Envelope& envelope, RunContext& context) {
    Reader reader(envelope.payload, context);
    std::variant<boosting::Model, gp::Model, linear::Model> model;
    if (envelope.kind == ModelKind::boosted_trees)
        model = boosting::decode(reader);
    else if (envelope.kind == ModelKind::gaussian_process)
        model = gp::decode(reader, context);
    else
        model = linear::decode(reader);
    reader.finish();
    return {reader.held(), std::move(model), decode_timings(envelope.note)};
}

// Refuses to detoast a value that does not fit into memory beside what is there, and counts it while it is read.
Reservation reserve_value(Datum value, RunContext& context) {
    return {context.memory(), "the bytes of a model", pg_call([=] { return toast_raw_datum_size(value); })};
}

// Names and labels leave as text, so they must be text in the encoding of this database.
template <class Model>
void check_texts(const Model& model, RunContext& context) {
    check_stored_text(model.target);
    check_stored_text(model.strategy);
    check_stored_text(model.strategy_reason);
    for (const Feature& feature : model.features) {
        check_stored_text(feature.name);
        check_stored_text(feature.type);
        for (const std::string& category : feature.categories) {
            check_stored_text(category);
            context.worked(category.size());
        }
    }
}

void check_labels(const gp::Model&) {}

void check_labels(const linear::Model& model) {
    for (const std::string& label : model.labels) check_stored_text(label);
}

void check_labels(const boosting::Model& model) {
    for (const std::string& label : model.labels) check_stored_text(label);
    if (!model.imported) return;
    check_stored_text(model.imported->library);
    check_stored_text(model.imported->objective);
}

// Validates bytes from outside and makes a value of them.
Datum model_from_outside(std::span<const std::byte> bytes, RunContext& context) {
    const Reservation copy(context.memory(), "the bytes of a model", bytes.size());
    const Envelope envelope = open_verified(bytes);
    if (!envelope.note.empty()) corrupt_model(format("%zu bytes follow its end.", envelope.note.size()));
    const StoredModel stored = decode_model(envelope, context);
    std::visit(
        [&](const auto& model) {
            check_texts(model, context);
            check_labels(model);
        },
        stored.model);
    return bytes_datum(bytes);
}

// The part of a stored value that leaves the database.
std::span<const std::byte> portable_bytes(Datum value) {
    return open_verified(datum_bytes(value)).portable;
}

Datum portable_datum(Datum value) {
    BackendContext context;
    const Reservation bytes = reserve_value(value, context), copy = reserve_value(value, context);
    return bytes_datum(portable_bytes(value));
}

// A value that cannot be read is found where it is made, in builds that check assertions.
void require_readable([[maybe_unused]] std::span<const std::byte> bytes) {
#ifdef USE_ASSERT_CHECKING
    QuietContext unlimited;
    decode_model(open_verified(bytes), unlimited);
#endif
}

template <class Model>
Datum make_datum(ModelKind kind, const Model& model, const std::vector<Timing>& timings, RunContext& context) {
    Writer payload(context), note(context);
    encode(model, payload);
    note.put_list(timings, [&](const Timing& timing) {
        note.put(std::string_view(timing.phase));
        note.put(timing.seconds);
    });
    const Writer envelope = make_envelope(kind, digest_of(payload.bytes()), payload.bytes(), note.bytes(), context);
    require_readable(envelope.bytes());
    const Reservation value(context.memory(), "the bytes of a model", envelope.bytes().size());
    return bytes_datum(envelope.bytes());
}

constexpr const char* kinds[] = {"boosted trees", "a Gaussian process", "a linear model"}; // in StoredModel's order

template <size_t kind>
auto& model_of_kind(StoredModel& stored, const char* function, const char* instead) {
    if (auto* const model = std::get_if<kind>(&stored.model)) return *model;
    throw Error(ErrorCode::wrong_type, format("model is %s, btml.%s needs %s", kind_of(stored), function, kinds[kind]),
                "", instead);
}

} // namespace

Datum model_datum(const boosting::FitResult& result, RunContext& context) {
    return make_datum(ModelKind::boosted_trees, result.model, result.timings, context);
}

Datum model_datum(const gp::FitResult& result, RunContext& context) {
    return make_datum(ModelKind::gaussian_process, result.model, result.timings, context);
}

Datum model_datum(const gp::Model& model, RunContext& context) {
    return make_datum(ModelKind::gaussian_process, model, {}, context);
}

Datum model_datum(const linear::FitResult& result, RunContext& context) {
    return make_datum(ModelKind::linear_model, result.model, result.timings, context);
}

Datum imported_model_datum(const boosting::Model& model, RunContext& context) {
    check_texts(model, context);
    check_labels(model);
    return make_datum(ModelKind::boosted_trees, model, {}, context);
}

StoredModel read_model(Datum value, RunContext& context) {
    const Reservation counted = reserve_value(value, context);
    const std::span<const std::byte> bytes = datum_bytes(value);
    StoredModel stored = decode_model(open_verified(bytes), context);
    free_copy(value, bytes);
    return stored;
}

boosting::Model& boosted_trees(StoredModel& stored, const char* function, const char* instead) {
    return model_of_kind<0>(stored, function, instead);
}

gp::Model& gaussian_process(StoredModel& stored, const char* function, const char* instead) {
    return model_of_kind<1>(stored, function, instead);
}

linear::Model& linear_model(StoredModel& stored, const char* function, const char* instead) {
    return model_of_kind<2>(stored, function, instead);
}

const char* kind_of(const StoredModel& stored) {
    return kinds[stored.model.index()];
}

static size_t place_of(std::string_view wanted, const std::vector<std::string>& names, const char* what) {
    const auto found = std::find(names.begin(), names.end(), wanted);
    if (found != names.end()) return static_cast<size_t>(found - names.begin());
    const std::string name(wanted), nearest = nearest_name(name, names);
    throw Error(ErrorCode::invalid_argument, format("model has no %s \"%s\"", what, name.c_str()),
                format("Its %ss are ", what) + quoted_list(names) + ".",
                nearest.empty() ? "" : format("Perhaps you meant \"%s\".", nearest.c_str()));
}

size_t code_of_label(const std::vector<std::string>& labels, std::string_view label) {
    return place_of(label, labels, "label");
}

size_t place_of_feature(const std::vector<Feature>& features, std::string_view feature) {
    std::vector<std::string> names;
    for (const Feature& each : features) names.push_back(each.name);
    for (const Feature& each : features)
        if (each.element == 1 && each.column() == feature)
            throw Error(ErrorCode::invalid_argument,
                        format("model has no feature \"%s\"", std::string(feature).c_str()),
                        "It is a column of arrays, whose elements are features.",
                        format("Name one of them, as in '%s'.", each.name.c_str()));
    return place_of(feature, names, "feature");
}

const std::vector<Feature>& features_of(const StoredModel& stored) {
    return std::visit([](const auto& model) -> const std::vector<Feature>& { return model.features; }, stored.model);
}

// btml_internal.model_in(cstring): base64 of the portable form
BTML_FUNCTION(btml_model_in) {
    BackendContext context;
    const std::span<const std::byte> bytes = decode_base64(
        PG_GETARG_CSTRING(0), "btml.model", context,
        "A model is a value and has no name of its own: write (SELECT model FROM models WHERE name = 'x') for it.");
    const Reservation counted(context.memory(), "the bytes of a model", bytes.size());
    return model_from_outside(bytes, context);
}

BTML_FUNCTION(btml_model_out) {
    BackendContext context;
    const Datum value = PG_GETARG_DATUM(0);
    const Reservation counted = reserve_value(value, context);
    return encode_base64(portable_bytes(value), context);
}

BTML_FUNCTION(btml_model_recv) {
    BackendContext context;
    return model_from_outside(message_bytes(reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0))), context);
}

BTML_FUNCTION(btml_model_send) {
    return portable_datum(PG_GETARG_DATUM(0));
}

BTML_FUNCTION(btml_model_from_bytea) {
    BackendContext context;
    const Datum value = PG_GETARG_DATUM(0);
    const Reservation counted = reserve_value(value, context);
    return model_from_outside(datum_bytes(value), context);
}

BTML_FUNCTION(btml_model_to_bytea) {
    return portable_datum(PG_GETARG_DATUM(0));
}

} // namespace btml::pg
