// The outer form of every model value: magic, format version, kind, length, digest, payload. What follows the payload
// is a note that is stored with the value but is no part of its portable form.
#pragma once

#include "core/base/serial.hpp"

#include <array>

namespace btml {

enum class ModelKind : uint16_t { boosted_trees = 1, gaussian_process = 2, linear_model = 3 };

inline constexpr uint16_t model_format = 1;
inline constexpr size_t envelope_header_size = 32; // magic 4, format 2, kind 2, length 8, digest 16

// SHA-256 of a payload, cut to 128 bits: models with equal headers are equal.
using Digest = std::array<std::byte, 16>;

struct Envelope {
    ModelKind kind;
    Digest digest;                       // as the envelope says: it may not be the payload's
    std::span<const std::byte> portable; // header and payload
    std::span<const std::byte> payload;
    std::span<const std::byte> note;
};

Writer make_envelope(ModelKind kind, const Digest& digest, std::span<const std::byte> payload,
                     std::span<const std::byte> note, RunContext& context);

// Error corrupt_model unless magic, format, kind and length are right. Whoever can compute digests checks that one.
Envelope open_envelope(std::span<const std::byte> bytes);

} // namespace btml
