// SVG as text, whose memory is counted. Numbers are tenths of a pixel; only our own markup is written as it is.
#pragma once

#include "core/base/buffer.hpp"
#include "core/plot/canvas/text.hpp"

namespace btml::plot {

struct Point {
    double x, y;
};

class Svg {
  public:
    explicit Svg(RunContext& context) : context_(context), text_(context.memory(), "a picture") {}

    // Writes markup, numbers and texts that are escaped(), one after the other.
    template <class... Parts>
    Svg& put(const Parts&... parts) {
        (write(parts), ...);
        return *this;
    }
    // Writes a command of a path, such as 'M'.
    Svg& put_point(char command, Point at) { return put(std::string_view(&command, 1), at.x, ' ', at.y); }

    std::string_view text() const { return {text_.data(), text_.size()}; }

  private:
    void write(char c) { text_.push_back(c); }
    void write(double x);
    void write(std::string_view markup);
    void write(const char* markup) { write(std::string_view(markup)); }
    void write(const std::string& markup) { write(std::string_view(markup)); }
    void write(int number) { write(std::to_string(number)); }

    RunContext& context_;
    Buffer<char> text_;
};

} // namespace btml::plot
