// SVG as text, whose memory is counted. Numbers are tenths of a pixel; only our own markup is written as it is.
#pragma once

#include "core/base/text_builder.hpp"
#include "core/plot/canvas/text.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace btml::plot {

struct Point {
    double x, y;
};

class Svg {
  public:
    explicit Svg(RunContext& context) : text_(context, "a picture") {}

    // Writes markup, numbers and texts that are escaped(), one after the other.
    template <class... Parts>
    Svg& put(const Parts&... parts) {
        (write(parts), ...);
        return *this;
    }
    // Writes a command of a path, such as 'M'.
    Svg& put_point(char command, Point at) { return put(command, at.x, ' ', at.y); }

    std::string_view text() const { return text_.text(); }

  private:
    void write(double x) {
        const auto tenths = std::isfinite(x) ? std::llround(std::clamp(x, -1e5, 1e5) * 10) : 0;
        text_ << (tenths < 0 ? "-" : "") << std::abs(tenths / 10);
        if (tenths % 10 != 0) text_ << '.' << std::abs(tenths % 10);
    }
    template <class Markup>
    requires(!std::is_floating_point_v<Markup>) void write(const Markup& markup) { text_ << markup; }

    TextBuilder text_;
};

} // namespace btml::plot
