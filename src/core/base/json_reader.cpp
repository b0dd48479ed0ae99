#include "core/base/json_reader.hpp"

#include "core/base/utf8.hpp"

#include <charconv>
#include <cmath>

namespace btml {

void JsonReader::fail(const std::string& what) const {
    refuse_(format("Byte %zu: ", at_ + 1) + what + ".");
    __builtin_unreachable();
}

// Returns the next character that is no space, without taking it; 0 at the end.
char JsonReader::next_character() {
    const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
    size_t begin = at_;
    for (; at_ < text_.size() && is_space(text_[at_]); at_++) {
        if (at_ - begin < block_bytes) continue;
        context_.worked(at_ - begin);
        begin = at_;
    }
    context_.worked(at_ - begin + 1);
    return at_ < text_.size() ? text_[at_] : '\0';
}

void JsonReader::expect(char wanted) {
    if (next_character() != wanted)
        fail(at_ < text_.size() ? format("'%c' is missing", wanted)
                                : format("the text ends where '%c' is missing", wanted));
    at_++;
}

bool JsonReader::take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
}

JsonReader::Kind JsonReader::peek() {
    switch (next_character()) {
    case '{':
        return Kind::object;
    case '[':
        return Kind::array;
    case '"':
        return Kind::string;
    case 't':
    case 'f':
        return Kind::boolean;
    case 'n':
        return Kind::null;
    case '\0':
        fail(at_ < text_.size() ? "a zero byte" : "the text ends where a value is missing");
    default:
        return Kind::number;
    }
}

bool JsonReader::enter(char bracket, const char* what) {
    if (next_character() != bracket) fail(format("%s is missing", what));
    if (++depth_ > max_depth) fail(format("values are nested more than %zu deep", max_depth));
    at_++;
    return true;
}

// Says whether there is another member or element, and goes to it.
bool JsonReader::next(bool first, char end) {
    if (next_character() == end) {
        at_++;
        depth_--;
        return false;
    }
    if (!first) {
        expect(',');
        next_character();
    }
    return true;
}

uint32_t JsonReader::hexadecimals() {
    uint32_t code = 0;
    const std::string_view digits = text_.substr(at_, 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() < 4 || end != digits.data() + 4) fail("four hexadecimal digits are missing after \\u");
    at_ += 4;
    return code;
}

// Reads what comes after a backslash.
std::string JsonReader::escape() {
    static constexpr std::string_view letters = "\"\\/bfnrt", characters = "\"\\/\b\f\n\r\t";
    if (at_ == text_.size()) fail("the text ends within a string");
    const char letter = text_[at_++];
    if (letter != 'u') {
        const size_t found = letters.find(letter);
        if (found == std::string_view::npos) fail("a backslash is followed by what is no escape");
        return {characters[found]};
    }
    uint32_t code = hexadecimals();
    if (code >= 0xd800 && code < 0xe000) {
        const bool high = code < 0xdc00;
        const uint32_t low = high && take("\\u") ? hexadecimals() : 0;
        if (low < 0xdc00 || low >= 0xe000) fail("half of a surrogate pair is missing");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code == 0) fail("a string has the character \\u0000, which no text has");
    std::string character;
    append_utf8(character, code);
    return character;
}

// Calls piece(bytes) for the pieces of a string, one after the other. None is long, so that a cancel is seen soon.
template <class Piece>
void JsonReader::read_string(const Piece& piece) {
    if (next_character() != '"') fail("a string is missing");
    at_++;
    while (true) {
        const size_t begin = at_, end = begin + std::min(block_bytes, text_.size() - begin);
        while (at_ < end && text_[at_] != '"' && text_[at_] != '\\' && text_[at_] != '\0') at_++;
        piece(text_.substr(begin, at_ - begin));
        context_.worked(at_ - begin + 1);
        if (at_ == text_.size()) fail("the text ends within a string");
        if (at_ == end) continue;
        const char last = text_[at_];
        if (last == '\0') fail("a string has a zero byte");
        at_++;
        if (last == '"') return;
        const size_t escaped = at_;
        piece(std::string_view(escape()));
        context_.worked(at_ - escaped);
    }
}

// Measures the string before it is built.
std::string JsonReader::string() {
    const size_t begin = at_;
    size_t bytes = 0;
    read_string([&](std::string_view piece) { bytes += piece.size(); });
    std::string result;
    if (bytes > std::max(result.capacity(), held_bytes_)) { // A short string is within its object.
        held_.grow(bytes - held_bytes_);
        held_bytes_ = bytes;
    }
    result.reserve(bytes);
    at_ = begin;
    read_string([&](std::string_view piece) { result.append(piece); });
    return result;
}

std::string_view JsonReader::number_text() {
    next_character();
    const size_t begin = at_;
    const auto is_of_number = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '+' || c == '.';
    };
    while (at_ < text_.size() && is_of_number(text_[at_]))
        if (++at_ - begin > max_number_characters)
            fail(format("a number has more than %zu characters", max_number_characters));
    context_.worked(at_ - begin);
    if (at_ == begin) fail("a number is missing");
    return text_.substr(begin, at_ - begin);
}

std::string_view JsonReader::next_number_text() {
    const std::string_view text = number_text();
    at_ -= text.size();
    return text;
}

template <class Number>
Number JsonReader::parsed_number() {
    const std::string_view word = number_text();
    if (word == "NaN") return std::numeric_limits<Number>::quiet_NaN();
    if (word == "Infinity") return std::numeric_limits<Number>::infinity();
    if (word == "-Infinity") return -std::numeric_limits<Number>::infinity();
    Number value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    constexpr size_t max_shown = 40;
    const std::string shown(word.substr(0, max_shown));
    if (error == std::errc::invalid_argument || end != word.data() + word.size() || !std::isfinite(value))
        fail("\"" + shown + "\" is no number");
    if (error == std::errc::result_out_of_range) fail("the number " + shown + " is out of range");
    return value;
}

double JsonReader::number() {
    return parsed_number<double>();
}

float JsonReader::number_of_32_bits() {
    return parsed_number<float>();
}

int64_t JsonReader::integer(int64_t min, int64_t max) {
    const double value = number();
    if (!(value >= static_cast<double>(min) && value <= static_cast<double>(max)) || value != std::floor(value))
        fail(format("a whole number from %" PRId64 " to %" PRId64 " is missing", min, max));
    return static_cast<int64_t>(value);
}

bool JsonReader::boolean() {
    next_character();
    if (take("true") || take("1")) return true;
    if (take("false") || take("0")) return false;
    fail("true or false is missing");
}

void JsonReader::skip() {
    switch (peek()) {
    case Kind::object:
        for (bool first = enter('{', "an object"); next(first, '}'); first = false) {
            read_string([](std::string_view) {});
            expect(':');
            skip();
        }
        return;
    case Kind::array:
        return array([&] { skip(); });
    case Kind::string:
        return read_string([](std::string_view) {});
    case Kind::boolean:
        boolean();
        return;
    case Kind::null:
        if (!take("null")) fail("a value is missing");
        return;
    case Kind::number:
        number();
        return;
    }
}

void JsonReader::finish() {
    next_character();
    if (at_ < text_.size()) fail("text follows the end");
}

} // namespace btml
