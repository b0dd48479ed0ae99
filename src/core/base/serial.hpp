// Writes and reads portable bytes, little-endian and within their bounds. A Reader treats its input as hostile.
#pragma once

#include "core/base/buffer.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace btml {

// A part of a model that is stored with its name. Its version grows with what is stored in it: whoever adds a field
// writes it last, and reads it from that version on (Reader::section_version()).
struct SectionKind {
    const char* name;
    uint16_t version = 1;
};

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
    // Write a number that Reader::get_finite() takes, and a positive one. Error out_of_range, naming the section, for
    // any other: what is stored can be read.
    void put_finite(double value) {
        require_finite(value);
        put(value);
    }
    void put_positive(double value) {
        if (!(value > 0)) refuse_number("is not positive");
        put_finite(value);
    }
    void require_finite(double value) const {
        if (!std::isfinite(value)) refuse_number("is not finite");
    }
    // Writes a length in bytes (32 bits), then the bytes. Error limit_exceeded beyond 4 GB.
    void put(std::string_view text);
    void put(const char* text) = delete; // It would be taken for a boolean.
    // Writes a count (32 bits), which as many elements must follow.
    void put_count(size_t count);
    // Writes a count, and put(element) each of a list's elements.
    template <class List, class Put>
    void put_list(const List& list, const Put& put_element) {
        put_count(list.size());
        for (const auto& element : list) put_element(element);
    }
    // Writes whether there is a number, and the number, which is finite.
    void put_optional(const std::optional<double>& number) {
        put(number.has_value());
        if (number) put_finite(*number);
    }

    void append(std::span<const std::byte> bytes);

    RunContext& context() const { return context_; }
    // Returns an empty one with the same context.
    Writer another() const { return Writer(context_); }

    // Writes what body() writes as a section: its name, its version, its length in bytes, itself.
    template <class Body>
    void section(const SectionKind& kind, const Body& body) {
        put(std::string_view(kind.name));
        put(kind.version);
        const size_t begin = bytes_.size();
        put(uint64_t{0});
        const char* const outer = std::exchange(section_, kind.name);
        body();
        section_ = outer;
        put_at(begin, bytes_.size() - begin - sizeof(uint64_t));
    }

    std::span<const std::byte> bytes() const { return bytes_.span(); }

  private:
    void put_at(size_t begin, uint64_t value);
    [[noreturn]] void refuse_number(const char* what) const;

    RunContext& context_;
    const char* section_ = nullptr; // that is being written
    Buffer<std::byte> bytes_;
};

// Throws corrupt_model with this detail.
[[noreturn]] void corrupt_model(std::string detail);

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
    // Reads so many elements, each by get(), which are counted.
    template <class Get>
    auto get_list(size_t count, const Get& get_element) {
        std::vector<decltype(get_element())> list;
        hold(count * sizeof(list[0]));
        list.reserve(count);
        while (list.size() < count) list.push_back(get_element());
        return list;
    }

    // Counts memory that what is being decoded takes beside the strings; to be called before it is taken.
    void hold(uint64_t bytes) {
        if (held_) held_->grow(bytes);
    }
    // Hands over all that was counted to whoever keeps what was decoded.
    Reservation held() { return std::move(*held_); }

    // Reads with body() from these bytes instead, all of which it must read.
    template <class Body>
    void within(std::span<const std::byte> bytes, const Body& body, uint16_t section_version = 0) {
        const std::span<const std::byte> outside = std::exchange(rest_, bytes);
        const uint16_t outer_version = std::exchange(section_version_, section_version);
        body();
        finish();
        rest_ = outside;
        section_version_ = outer_version;
    }
    // Returns the version of the section that is being read, 0 outside of all.
    uint16_t section_version() const noexcept { return section_version_; }
    // Takes bytes unread.
    std::span<const std::byte> take(size_t length);

    size_t remaining() const noexcept { return rest_.size(); }
    // Throws corrupt_model unless everything was read.
    void finish() const;

  private:
    std::span<const std::byte> rest_;
    RunContext* context_ = nullptr;
    std::optional<Reservation> held_;
    uint16_t section_version_ = 0;
};

// The sections of a payload, in whatever order they are stored.
class Sections {
  public:
    // Takes all that `reader` has left. Throws corrupt_model for a section that is not among those known, or is newer,
    // naming it, and for one that is there twice.
    Sections(Reader& reader, std::span<const SectionKind> known);

    // Calls body() to read a section. Returns false where there is none.
    template <class Body>
    bool read(const SectionKind& kind, const Body& body) {
        const Section* const section = find(kind.name);
        if (section) reader_.within(section->bytes, body, section->version);
        return section;
    }
    // Does the same for a section that every model has.
    template <class Body>
    void require(const SectionKind& kind, const Body& body) {
        if (!read(kind, body)) corrupt_model("It has no section \"" + std::string(kind.name) + "\".");
    }

  private:
    struct Section {
        std::string name;
        uint16_t version;
        std::span<const std::byte> bytes;
    };
    const Section* find(std::string_view name) const;

    Reader& reader_;
    std::vector<Section> sections_;
};

} // namespace btml
