// Portable bytes: little-endian, bounds-checked. A Reader treats its input as hostile.
#pragma once

#include "core/base/error.hpp"

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace btml {

class Writer {
  public:
    template <std::integral T>
    void put(T value) {
        const auto bits = static_cast<std::make_unsigned_t<T>>(value);
        for (size_t i = 0; i < sizeof(T); i++) bytes_.push_back(static_cast<std::byte>(bits >> (8 * i)));
    }
    void put(bool value) { put(static_cast<uint8_t>(value)); }
    void put(double value) { put(std::bit_cast<uint64_t>(value)); }
    // A length in bytes (32 bits), then the bytes. Error limit_exceeded beyond 4 GB.
    void put(std::string_view text);
    // A count (32 bits), to be followed by as many elements.
    void put_count(size_t count);

    std::span<const std::byte> bytes() const { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

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
    // Error corrupt_model unless finite.
    double get_finite();
    std::string get_string();
    // A count of elements of at least `least_bytes` each: refused when the rest cannot hold them, so that a hostile
    // count allocates nothing.
    size_t get_count(size_t least_bytes);

    size_t remaining() const noexcept { return rest_.size(); }
    // Error corrupt_model unless everything was read.
    void finish() const;

  private:
    std::span<const std::byte> take(size_t length);

    std::span<const std::byte> rest_;
};

// Error corrupt_model with this detail.
[[noreturn]] void corrupt_model(std::string detail);

} // namespace btml
