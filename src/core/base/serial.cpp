#include "core/base/serial.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace btml {

void Writer::append(std::span<const std::byte> bytes) {
    bytes_.append(bytes);
    context_.worked(bytes.size());
}

void Writer::refuse_number(const char* what) const {
    throw Error(ErrorCode::out_of_range, format("a number of the model %s", what),
                section_ ? format("It would be stored in its section \"%s\".", section_) : "",
                "Weights, or targets, are too large or too small.");
}

void Writer::put(std::string_view text) {
    put_count(text.size());
    append(std::as_bytes(std::span(text)));
}

void Writer::put_count(size_t count) {
    if (count > std::numeric_limits<uint32_t>::max())
        throw Error(ErrorCode::limit_exceeded, format("a model holds lists of at most %u elements, this one has %zu",
                                                      std::numeric_limits<uint32_t>::max(), count));
    put(static_cast<uint32_t>(count));
}

void Writer::put_at(size_t begin, uint64_t value) {
    for (size_t i = 0; i < sizeof(value); i++) bytes_[begin + i] = static_cast<std::byte>(value >> (8 * i));
}

void corrupt_model(std::string detail) {
    throw Error(ErrorCode::corrupt_model, "invalid btml.model value", std::move(detail));
}

std::span<const std::byte> Reader::take(size_t length) {
    if (length > rest_.size())
        corrupt_model(format("It ends early: %zu bytes are left where %zu are needed.", rest_.size(), length));
    const auto field = rest_.first(length);
    rest_ = rest_.subspan(length);
    if (context_) context_->worked(length);
    return field;
}

bool Reader::get_bool() {
    const auto value = get<uint8_t>();
    if (value > 1) corrupt_model(format("A boolean has the value %d.", value));
    return value == 1;
}

double Reader::get_finite() {
    const double value = get_double();
    if (!std::isfinite(value)) corrupt_model("A number that must be finite is not.");
    return value;
}

std::string Reader::get_string() {
    const std::span<const std::byte> text = take(get_count(1));
    hold(text.size());
    return {reinterpret_cast<const char*>(text.data()), text.size()};
}

size_t Reader::get_count(size_t min_bytes) {
    const size_t count = get<uint32_t>();
    if (count > rest_.size() / min_bytes)
        corrupt_model(
            format("A list of %zu elements does not fit into the %zu bytes that are left.", count, rest_.size()));
    return count;
}

void Reader::finish() const {
    if (!rest_.empty()) corrupt_model(format("%zu bytes follow its end.", rest_.size()));
}

static void check_section(const std::string& name, uint16_t version, std::span<const SectionKind> known) {
    for (const SectionKind& kind : known) {
        if (kind.name != name) continue;
        if (version >= 1 && version <= kind.version) return;
        corrupt_model(format("Its section \"%s\" has version %d, this version of btml reads 1 to %d.", kind.name,
                             version, kind.version));
    }
    constexpr size_t max_shown = 63;
    corrupt_model("It has the section \"" + name.substr(0, max_shown) +
                  "\", which this version of btml does not know.");
}

Sections::Sections(Reader& reader, std::span<const SectionKind> known) : reader_(reader) {
    while (reader.remaining() > 0) {
        std::string name = reader.get_string();
        const auto version = reader.get<uint16_t>();
        check_section(name, version, known);
        if (find(name)) corrupt_model("It has the section \"" + name + "\" twice.");
        const auto length = reader.get<uint64_t>();
        sections_.push_back({std::move(name), version, reader.take(length)});
    }
}

const Sections::Section* Sections::find(std::string_view name) const {
    const auto found =
        std::find_if(sections_.begin(), sections_.end(), [&](const Section& s) { return s.name == name; });
    return found == sections_.end() ? nullptr : &*found;
}

} // namespace btml
