#include "pg/distributed/distributed_messages.hpp"

#include "core/base/version.hpp"
#include "pg/values/bytes.hpp"

#include <bit>

extern "C" {
#include "mb/pg_wchar.h"
}

namespace btml::pg {

using namespace boosting;

static Bytes bytes_of(const Writer& writer) {
    const std::span<const std::byte> bytes = writer.bytes();
    return {bytes.begin(), bytes.end()};
}

Bytes encode(const Model& model, RunContext& context) {
    Writer writer(context);
    encode(model, writer);
    return bytes_of(writer);
}

Model decode_model(std::span<const std::byte> bytes, RunContext& context) {
    Reader reader(bytes, context);
    Model model = decode(reader);
    reader.finish();
    return model;
}

void fill_with_random_bytes(void* to, size_t size) {
    pg_call([=] {
        if (!pg_strong_random(to, size)) elog(ERROR, "no random numbers are to be had");
    });
}

HeldCounts& HeldCounts::operator+=(const HeldCounts& other) {
    rows += other.rows;
    skipped += other.skipped;
    target_rows += other.target_rows;
    most_repeats = std::max(most_repeats, other.most_repeats);
    unmatched += other.unmatched;
    return *this;
}

Bytes encode(const FitPlan& plan, RunContext& context) {
    Writer writer(context);
    writer.append(plan.token);
    writer.put(std::string_view(version));
    writer.put(std::string_view(GetDatabaseEncodingName()));
    writer.put(std::endian::native == std::endian::little);
    writer.put(std::string_view(plan.target));
    writer.put(std::string_view(plan.weight));
    writer.put(plan.has_holdout);
    writer.put(static_cast<uint8_t>(plan.target_kind));
    writer.put(plan.has_start);
    writer.put(plan.has_addresses);
    encode(plan.model, writer);
    return bytes_of(writer);
}

// A text that may stand in an error.
static std::string get_printable(Reader& reader) {
    const std::string text = reader.get_string();
    const bool is_valid = pg_call(
        [&] { return pg_verify_mbstr(GetDatabaseEncoding(), text.c_str(), static_cast<int>(text.size()), true); });
    if (!is_valid) refuse_message();
    return text;
}

FitPlan decode_fit_plan(std::span<const std::byte> bytes, RunContext& context) {
    FitPlan plan;
    Reader reader(bytes, context);
    const std::span<const std::byte> token = reader.take(plan.token.size());
    std::copy(token.begin(), token.end(), plan.token.begin());
    if (const std::string other = get_printable(reader); other != version)
        throw Error(ErrorCode::not_supported,
                    format("the server that leads the fit has btml %s, this one has %s", other.c_str(), version), "",
                    "Install the same version everywhere.");
    if (const std::string other = get_printable(reader); other != GetDatabaseEncodingName())
        throw Error(ErrorCode::not_supported,
                    format("the database that leads the fit has encoding %s, this one %s", other.c_str(),
                           GetDatabaseEncodingName()),
                    "", "Categories are compared by their bytes, which must be of one encoding.");
    if (reader.get_bool() != (std::endian::native == std::endian::little))
        throw Error(ErrorCode::not_supported, "the server that leads the fit has another order of bytes",
                    "Messages are in the layout of the processors' memory.");
    plan.target = get_printable(reader);
    plan.weight = get_printable(reader);
    plan.has_holdout = reader.get_bool();
    const auto kind = reader.get<uint8_t>();
    if (kind > static_cast<uint8_t>(TargetKind::label)) refuse_message();
    plan.target_kind = static_cast<TargetKind>(kind);
    plan.has_start = reader.get_bool();
    plan.has_addresses = reader.get_bool();
    plan.model = decode(reader);
    reader.finish();
    return plan;
}

std::vector<BackendAnswer> backend_answers(Datum state) {
    std::vector<BackendAnswer> answers;
    std::span<const std::byte> bytes = datum_bytes(state);
    while (!bytes.empty()) {
        uint64_t header[3];
        if (bytes.size() < sizeof(header)) refuse_message();
        memcpy(header, bytes.data(), sizeof(header));
        bytes = bytes.subspan(sizeof(header));
        if (bytes.size() < header[2]) refuse_message();
        answers.push_back(
            {header[0], header[1] != 0, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header[2])}});
        bytes = bytes.subspan(header[2]);
    }
    return answers;
}

} // namespace btml::pg
