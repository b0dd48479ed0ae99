// Writes and reads portable bytes, little-endian and within their bounds. A Reader treats its input as hostile.
#pragma once

#include "core/base/buffer.hpp"

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace btml {

// Its bytes are counted against the memory of the context, which is polled while they are written.
class Writer {
  public:
    explicit Writer(RunContext& context) : context_(context), bytes_(context.memory(), "the bytes of a model") {}

    template <std::integral T>
    void put(T value) {
        const auto bits = static_cast<std::make_unsigned_t<T>>(value);
        std::array<std::byte, sizeof(T)> field;
        for (size_t i = 0; i < sizeof(T); i++) field[i] = static_cast<std::byte>(bits >> (8 * i));
        append(field);
    }
    void put(bool value) { put(static_cast<uint8_t>(value)); }
    void put(double value) { put(std::bit_cast<uint64_t>(value)); }
    // Writes a length in bytes (32 bits), then the bytes. Error limit_exceeded beyond 4 GB.
    void put(std::string_view text);
    // Writes a count (32 bits), which as many elements must follow.
    void put_count(size_t count);

    void append(std::span<const std::byte> bytes);

    std::span<const std::byte> bytes() const { return bytes_.span(); }

  private:
    RunContext& context_;
    Buffer<std::byte> bytes_;
};

class Reader {
  public:
    // Reads a few bytes only: it neither polls nor counts.
    explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
    // Polls while it reads, and counts what hold() is told and every string against the memory of the context.
    Reader(std::span<const std::byte> bytes, RunContext& context)
        : rest_(bytes), context_(&context), held_(std::in_place, context.memory(), "a decoded model") {}

    template <std::integral T>
    T get() {
        const std::span<const std::byte> field = take(sizeof(T));
        std::make_unsigned_t<T> bits = 0;
        for (size_t i = 0; i < sizeof(T); i++)
            bits = static_cast<std::make_unsigned_t<T>>(bits |
                                                        (static_cast<std::make_unsigned_t<T>>(field[i]) << (8 * i)));
        return static_cast<T>(bits);
    }
    bool get_bool();
    double get_double() { return std::bit_cast<double>(get<uint64_t>()); }
    // Throws corrupt_model unless the number is finite.
    double get_finite();
    std::string get_string();
    // Reads a count of elements of at least `min_bytes` each. It is refused when the rest cannot hold them, so that a
    // hostile count allocates nothing.
    size_t get_count(size_t min_bytes);

    // Counts memory that what is being decoded takes beside the strings; to be called before it is taken.
    void hold(uint64_t bytes) {
        if (held_) held_->grow(bytes);
    }
    // Hands over all that was counted to whoever keeps what was decoded.
    Reservation held() { return std::move(*held_); }

    size_t remaining() const noexcept { return rest_.size(); }
    // Throws corrupt_model unless everything was read.
    void finish() const;

  private:
    std::span<const std::byte> take(size_t length);

    std::span<const std::byte> rest_;
    RunContext* context_ = nullptr;
    std::optional<Reservation> held_;
};

// Throws corrupt_model with this detail.
[[noreturn]] void corrupt_model(std::string detail);

} // namespace btml
