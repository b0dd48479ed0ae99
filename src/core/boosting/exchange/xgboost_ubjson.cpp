// Universal Binary JSON, draft 12: every value has a marker of its type in front, numbers have their highest byte
// first, and a container may say of how many values it is, and of which type all of them are.
#include "core/base/text_builder.hpp"
#include "core/boosting/exchange/xgboost_json.hpp"
#include "core/boosting/exchange/xgboost_tree.hpp"

#include <bit>
#include <cmath>
#include <optional>

namespace btml::boosting {

namespace {

class UbjsonReader {
  public:
    UbjsonReader(std::string_view bytes, RunContext& context)
        : bytes_(bytes), json_(context, "the JSON form of a model") {}

    Buffer<char> read() {
        value(marker());
        if (at_ < bytes_.size()) fail("bytes follow the end");
        return json_.take();
    }

  private:
    [[noreturn]] void fail(const std::string& what) const {
        refuse_model(xgboost, format("Byte %zu: ", at_ + 1) + what + ".");
    }
    char peek() const {
        if (at_ == bytes_.size()) fail("the bytes end where a value is missing");
        return bytes_[at_];
    }
    char marker() {
        const char next = peek();
        at_++;
        return next;
    }
    std::string_view take(uint64_t count) {
        if (count > bytes_.size() - at_) fail("the bytes end within a value");
        at_ += count;
        return bytes_.substr(at_ - count, count);
    }
    template <std::unsigned_integral Bits>
    Bits bits() {
        uint64_t bits = 0;
        for (const char byte : take(sizeof(Bits))) bits = bits << 8 | static_cast<unsigned char>(byte);
        return static_cast<Bits>(bits);
    }
    template <std::floating_point Number>
    void number(Number number) {
        if (std::isfinite(number))
            json_ << number;
        else
            json_ << (std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
    }

    int64_t integer(char type) {
        switch (type) {
        case 'i':
            return static_cast<int8_t>(bits<uint8_t>());
        case 'U':
            return bits<uint8_t>();
        case 'I':
            return static_cast<int16_t>(bits<uint16_t>());
        case 'l':
            return static_cast<int32_t>(bits<uint32_t>());
        case 'L':
            return static_cast<int64_t>(bits<uint64_t>());
        default:
            at_--;
            fail("no integer begins here");
        }
    }

    uint64_t length() {
        const int64_t found = integer(marker());
        if (found < 0) fail("a length is negative");
        return static_cast<uint64_t>(found);
    }

    void string() { json_.json_string(take(length())); }

    void value(char type) {
        switch (type) {
        case 'Z':
            json_ << "null";
            return;
        case 'T':
            json_ << "true";
            return;
        case 'F':
            json_ << "false";
            return;
        case 'd':
            return number(std::bit_cast<float>(bits<uint32_t>()));
        case 'D':
            return number(std::bit_cast<double>(bits<uint64_t>()));
        case 'C':
            return json_.json_string(take(1));
        case 'S':
            return string();
        case '[':
            json_ << "[";
            container(']', [&](char of) { value(of ? of : marker()); });
            json_ << "]";
            return;
        case '{':
            json_ << "{";
            container('}', [&](char of) {
                string();
                json_ << ":";
                value(of ? of : marker());
            });
            json_ << "}";
            return;
        default:
            json_ << integer(type);
        }
    }

    // Returns the type of a container's values, 0 where each has a marker of its own, and how many there are; without
    // a count it ends at its closing bracket.
    std::pair<char, std::optional<uint64_t>> contents() {
        char type = 0;
        std::optional<uint64_t> count;
        if (peek() == '$') {
            at_++;
            type = marker();
            // Values without bytes would make a short text as long as its count says.
            if (std::string_view("ZTFN").find(type) != std::string_view::npos)
                fail("values of this type have no bytes");
            if (peek() != '#') fail("a type without a count");
        }
        if (peek() == '#') {
            at_++;
            count = length();
            if (*count > bytes_.size() - at_)
                fail(format("%" PRIu64 " values are claimed, %zu bytes are left", *count, bytes_.size() - at_));
        }
        return {type, count};
    }

    template <class Member>
    void container(char end, const Member& member) {
        if (++depth_ > max_depth) fail(format("values are nested more than %d deep", max_depth));
        const auto [type, count] = contents();
        for (uint64_t i = 0; count ? i < *count : peek() != end; i++) {
            if (i > 0) json_ << ",";
            member(type);
        }
        if (!count) at_++;
        depth_--;
    }

    static constexpr int max_depth = 64;

    const std::string_view bytes_;
    size_t at_ = 0;
    int depth_ = 0;
    TextBuilder json_;
};

bool is_json(std::string_view bytes) {
    const size_t begin = bytes.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos || bytes[begin] != '{') return false;
    return begin + 1 == bytes.size() || std::string_view("\" \t\r\n").find(bytes[begin + 1]) != std::string_view::npos;
}

} // namespace

Buffer<char> json_of_ubjson(std::string_view bytes, RunContext& context) {
    if (!is_json(bytes)) return UbjsonReader(bytes, context).read();
    Buffer<char> json(context.memory(), "the JSON form of a model", bytes.size());
    std::copy(bytes.begin(), bytes.end(), json.begin());
    return json;
}

} // namespace btml::boosting
