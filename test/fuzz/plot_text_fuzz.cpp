// Any bytes as a title, labels and categories of a picture: what is written is XML in ASCII that holds no markup of
// theirs.
#include "core/plot/picture.hpp"

#include <cstdlib>

using namespace btml;
using namespace btml::plot;

static void check(bool holds) {
    if (!holds) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    QuietContext context;
    Rows rows({parts(Part::x, Part::y, Part::series, Part::label), ValueKind::category}, context.memory());
    Row row;
    row.mark = size == 0 ? 0 : data[0] % std::size(marks);
    row.numbers[0] = rows.category(Part::x, text);
    row.numbers[1] = 1;
    row.texts = {rows.text_code(Part::series, text), rows.text_code(Part::label, text)};
    rows.add(row, parts(Part::x), true);
    Options options;
    options.title = options.x_label = options.y_label = text;
    if ((marks[row.mark]->columns & ~rows.shape().present) != 0) return 0;
    const std::string picture = draw_picture(rows, options, context);
    for (const char c : picture) check(c == '\n' || (c >= ' ' && c <= '~'));
    for (const char* const markup : {"<script", "<a ", "<image", "<use", "<foreignObject", "<!", "onload=\""})
        check(picture.find(markup) == std::string::npos);
    check(picture.ends_with("</svg>"));
    return 0;
}
