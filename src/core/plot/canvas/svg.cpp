#include "core/plot/canvas/svg.hpp"

#include <algorithm>
#include <cmath>

namespace btml::plot {

void Svg::write(std::string_view markup) {
    const size_t size = text_.size();
    text_.reserve(size + markup.size());
    text_.resize(size + markup.size());
    std::copy(markup.begin(), markup.end(), text_.begin() + size);
    context_.worked(1 + markup.size());
}

void Svg::write(double x) {
    const auto tenths = std::isfinite(x) ? std::llround(std::clamp(x, -1e5, 1e5) * 10) : 0;
    std::string text = std::to_string(tenths / 10);
    if (tenths < 0 && tenths > -10) text.insert(text.begin(), '-');
    if (tenths % 10 != 0) {
        text += '.';
        text += static_cast<char>('0' + std::abs(tenths % 10));
    }
    write(std::string_view(text));
}

} // namespace btml::plot
