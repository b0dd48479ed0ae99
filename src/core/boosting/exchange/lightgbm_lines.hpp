// Lines of LightGBM's text, and what they hold.
#pragma once

#include "core/boosting/exchange/imported_model.hpp"

#include <charconv>
#include <map>

namespace btml::boosting {

inline constexpr char lightgbm[] = "LightGBM";

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
        const size_t end = std::min(rest_.find('\n'), rest_.size());
        std::string_view line = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        number_++;
        context_.worked(line.size() + 1);
        return line;
    }

  private:
    std::string_view rest_;
    size_t number_ = 0;
    RunContext& context_;
};

inline std::string shown(std::string_view text) {
    size_t end = std::min<size_t>(text.size(), 40);
    while (end < text.size() && (text[end] & 0xc0) == 0x80) end--; // A character is shown whole.
    return "\"" + std::string(text.substr(0, end)) + (end < text.size() ? "...\"" : "\"");
}

template <class Number>
Number number_of(std::string_view word, size_t line, const char* key) {
    Number number{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size())
        refuse_line(line, format("%s has ", key) + shown(word) + ", which is no such number or out of range");
    return number;
}

// Calls body(word) for each of the words that spaces separate.
template <class Body>
void for_each_word(std::string_view text, const Body& body) {
    while (true) {
        const size_t begin = text.find_first_not_of(' ');
        if (begin == std::string_view::npos) return;
        text.remove_prefix(begin);
        const size_t end = std::min(text.find(' '), text.size());
        body(text.substr(0, end));
        text.remove_prefix(end);
    }
}

// Reads as many numbers as there must be; nothing is allocated for those that are not there.
template <class Number>
void read_numbers(const LineValue& value, const char* key, size_t count, Buffer<Number>& numbers, RunContext& context) {
    numbers.resize(0);
    for_each_word(value.text, [&](std::string_view word) {
        if (numbers.size() == count) refuse_line(value.line, format("%s has more than %zu numbers", key, count));
        numbers.push_back(number_of<Number>(word, value.line, key));
        context.worked(word.size());
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
