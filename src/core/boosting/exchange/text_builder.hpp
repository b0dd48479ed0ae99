// Text that grows piece by piece: counted, and polled.
#pragma once

#include "core/base/buffer.hpp"

#include <array>
#include <charconv>
#include <string>
#include <string_view>

namespace btml::boosting {

class TextBuilder {
  public:
    TextBuilder(RunContext& context, const char* what) : text_(context.memory(), what), context_(context) {}

    TextBuilder& operator<<(std::string_view piece) {
        const size_t begin = text_.size();
        text_.reserve(begin + piece.size());
        text_.resize(begin + piece.size());
        std::copy(piece.begin(), piece.end(), text_.begin() + begin);
        context_.worked(piece.size());
        return *this;
    }
    // Writes the shortest decimal that reads back as the number; inf for infinity.
    template <std::floating_point Number>
    TextBuilder& operator<<(Number number) {
        std::array<char, 32> digits;
        return *this << std::string_view(digits.begin(), std::to_chars(digits.begin(), digits.end(), number).ptr);
    }
    template <std::integral Number>
    TextBuilder& operator<<(Number number) {
        return *this << std::string_view(std::to_string(number));
    }
    // Writes a line key=value value …
    template <class List, class Of>
    void line(const char* key, const List& list, const Of& of) {
        *this << key << "=";
        const char* separator = "";
        for (const auto& element : list) {
            *this << separator << of(element);
            separator = " ";
        }
        *this << "\n";
    }
    void json_string(std::string_view value) {
        *this << "\"";
        for (const char c : value) {
            if (c == '"' || c == '\\')
                *this << "\\" << std::string_view(&c, 1);
            else if (static_cast<unsigned char>(c) < 0x20)
                *this << format("\\u%04x", c);
            else
                *this << std::string_view(&c, 1);
        }
        *this << "\"";
    }
    Buffer<char> take() { return std::move(text_); }

  private:
    Buffer<char> text_;
    RunContext& context_;
};

} // namespace btml::boosting
