// Options of pictures.
#pragma once

#include "core/base/options_table.hpp"
#include "core/plot/marks/mark.hpp"

namespace btml::plot {

enum class MarkNumber : uint8_t {}; // into marks
enum class ScaleKind : uint8_t { linear, log };
inline constexpr const char* scale_names[] = {"linear", "log"};

struct Options {
    MarkNumber mark = MarkNumber{mark_number("line")};
    ScaleKind x_scale = ScaleKind::linear, y_scale = ScaleKind::linear;
    int width = 640, height = 400;
    std::string title = {}, x_label = {}, y_label = {}; // arguments: any bytes
};

extern const OptionsTable<Options> options_table;

} // namespace btml::plot
