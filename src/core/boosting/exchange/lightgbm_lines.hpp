// Lines of LightGBM's text, and what they hold.
#pragma once

#include "core/boosting/exchange/imported_model.hpp"

#include <charconv>
#include <map>

namespace btml::boosting {

inline constexpr char lightgbm[] = "LightGBM";

// Bits of a node's decision_type: above default_left_bit stands a MissingType.
inline constexpr int categorical_bit = 1, default_left_bit = 2, missing_shift = 2;
enum class MissingType : uint8_t { none, zero, nan };

// A line's value, and where it is.
struct LineValue {
    std::string_view text;
    size_t line = 0;

    explicit operator bool() const { return line > 0; }
};

[[noreturn]] inline void refuse_line(size_t line, const std::string& what) {
    refuse_model(lightgbm, format("Line %zu: ", line) + what + ".");
}

// Goes through a text line by line.
class TextLines {
  public:
    TextLines(std::string_view text, RunContext& context) : rest_(text), context_(context) {}

    bool at_end() const { return rest_.empty(); }
    size_t number() const { return number_; } // of the line that was read last
    std::string_view next() {
        size_t end = std::string_view::npos;
        for (size_t begin = 0; begin < rest_.size() && end == std::string_view::npos; begin += block_bytes) {
            const std::string_view block = rest_.substr(begin, block_bytes);
            const size_t found = block.find('\n');
            if (found != std::string_view::npos) end = begin + found;
            context_.worked(std::min(found, block.size()));
        }
        end = std::min(end, rest_.size());
        std::string_view line = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        number_++;
        context_.worked(1);
        return line;
    }

  private:
    static constexpr size_t block_bytes = size_t{1} << 16;

    std::string_view rest_;
    size_t number_ = 0;
    RunContext& context_;
};

template <class Number>
Number number_of(std::string_view word, size_t line, const char* key) {
    if (word.size() > max_number_characters)
        refuse_line(line, format("%s has a number of more than %zu characters", key, max_number_characters));
    Number number{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size())
        refuse_line(line, format("%s has ", key) + shown(word) + ", which is no such number or out of range");
    return number;
}

// Calls body(word) for each of the words that a character separates.
template <class Body>
void for_each_word(std::string_view text, RunContext& context, const Body& body, char separator = ' ') {
    constexpr size_t block_bytes = size_t{1} << 16;
    while (!text.empty()) {
        const std::string_view block = text.substr(0, block_bytes);
        const size_t spaces = std::min(block.find_first_not_of(separator), block.size());
        context.worked(spaces);
        text.remove_prefix(spaces);
        if (spaces == block.size()) continue;
        const size_t end = std::min(text.find(separator), text.size());
        context.worked(end);
        body(text.substr(0, end));
        text.remove_prefix(end);
    }
}

// Reads as many numbers as there must be; nothing is allocated for those that are not there.
template <class Number>
void read_numbers(const LineValue& value, const char* key, size_t count, Buffer<Number>& numbers, RunContext& context) {
    numbers.resize(0);
    for_each_word(value.text, context, [&](std::string_view word) {
        if (numbers.size() == count) refuse_line(value.line, format("%s has more than %zu numbers", key, count));
        numbers.push_back(number_of<Number>(word, value.line, key));
    });
    if (numbers.size() < count)
        refuse_line(value.line, format("%s has %zu numbers, %zu are needed", key, numbers.size(), count));
}

// Keys that are read, with their values. The first of a name counts.
class LineFields {
  public:
    explicit LineFields(std::initializer_list<const char*> keys) {
        for (const char* const key : keys) values_[key] = {};
    }

    void clear() {
        for (auto& [key, value] : values_) value = {};
    }
    // Takes a line key=value, or a key alone.
    void add(std::string_view line, size_t number) {
        const size_t end = std::min(line.find('='), line.size());
        const auto found = values_.find(line.substr(0, end));
        if (found != values_.end() && !found->second)
            found->second = {line.substr(std::min(end + 1, line.size())), number};
    }
    const LineValue& find(const char* key) const { return values_.at(key); }
    // Refuses a text that lacks the key; `where` is what lacks it.
    const LineValue& require(const char* key, const std::string& where) const {
        const LineValue& value = find(key);
        if (!value) refuse_model(lightgbm, where + " has no " + key + ".");
        return value;
    }

  private:
    std::map<std::string_view, LineValue> values_;
};

} // namespace btml::boosting
