#include "core/base/envelope.hpp"

namespace btml {

static constexpr uint32_t magic = 0x4c4d5442; // "BTML" as little-endian bytes

Writer make_envelope(ModelKind kind, const Digest& digest, std::span<const std::byte> payload,
                     std::span<const std::byte> note, RunContext& context) {
    Writer writer(context);
    writer.put(magic);
    writer.put(model_format);
    writer.put(static_cast<uint16_t>(kind));
    writer.put(static_cast<uint64_t>(payload.size()));
    writer.append(digest);
    writer.append(payload);
    writer.append(note);
    return writer;
}

Envelope open_envelope(std::span<const std::byte> bytes) {
    Reader header(bytes);
    if (header.get<uint32_t>() != magic) corrupt_model("It does not begin with the bytes of a model.");
    const auto format_version = header.get<uint16_t>();
    if (format_version != model_format)
        corrupt_model(format("Its format is %d, this version of btml reads format %d.", format_version, model_format));
    const auto kind = header.get<uint16_t>();
    if (kind < static_cast<uint16_t>(ModelKind::boosted_trees) || kind > static_cast<uint16_t>(ModelKind::linear_model))
        corrupt_model(format("Its kind %d is unknown.", kind));
    const auto length = header.get<uint64_t>();
    Digest digest;
    for (std::byte& byte : digest) byte = static_cast<std::byte>(header.get<uint8_t>());
    const std::span<const std::byte> rest = bytes.subspan(envelope_header_size);
    if (length > rest.size())
        corrupt_model(format("It ends early: %zu bytes are left where %" PRIu64 " are needed.", rest.size(), length));
    const std::span<const std::byte> payload = rest.first(static_cast<size_t>(length));
    return {static_cast<ModelKind>(kind), digest, bytes.first(envelope_header_size + payload.size()), payload,
            rest.subspan(payload.size())};
}

} // namespace btml
