// The outer form of every model value: magic, format version, kind, length, checksum, payload. What follows the payload
// is a note that is stored with the value but is no part of its portable form.
#pragma once

#include "core/base/serial.hpp"

namespace btml {

enum class ModelKind : uint16_t { boosted_trees = 1, gaussian_process = 2 };

inline constexpr uint16_t model_format = 1;
inline constexpr size_t envelope_header_size = 20; // magic 4, format 2, kind 2, length 8, CRC-32C 4

struct Envelope {
    ModelKind kind;
    std::span<const std::byte> portable; // header and payload
    std::span<const std::byte> payload;
    std::span<const std::byte> note;
};

std::vector<std::byte> make_envelope(ModelKind kind, std::span<const std::byte> payload,
                                     std::span<const std::byte> note);

// Error corrupt_model unless magic, format, kind, length and checksum are right.
Envelope open_envelope(std::span<const std::byte> bytes);

} // namespace btml
