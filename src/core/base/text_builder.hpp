// Text that grows piece by piece: counted, and polled.
#pragma once

#include "core/base/buffer.hpp"

#include <array>
#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace btml {

class TextBuilder {
  public:
    TextBuilder(RunContext& context, const char* what) : text_(context.memory(), what), context_(context) {}

    TextBuilder& operator<<(std::string_view piece) {
        text_.append(piece);
        context_.worked(1 + piece.size());
        return *this;
    }
    TextBuilder& operator<<(char c) {
        text_.push_back(c);
        context_.worked(1);
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
    void json_string(std::string_view value) {
        *this << '"';
        for (const char c : value) {
            if (static_cast<unsigned char>(c) < 0x20)
                *this << format("\\u%04x", c);
            else if (c == '"' || c == '\\')
                *this << '\\' << c;
            else
                *this << c;
        }
        *this << '"';
    }

    std::string_view text() const { return {text_.data(), text_.size()}; }
    Buffer<char> take() { return std::move(text_); }

  private:
    Buffer<char> text_;
    RunContext& context_;
};

} // namespace btml
