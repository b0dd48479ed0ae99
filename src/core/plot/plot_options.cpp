#include "core/plot/plot_options.hpp"

namespace btml::plot {

static constexpr OtherNames foreign_marks[] = {
    {"point", {"scatter", "points", "circle", "errorbar"}},
    {"bar", {"hist", "histogram", "column", "barh"}},
    {"box", {"boxplot"}},
    {"heatmap", {"rect", "tile"}},
    {"line", {"lines"}},
    {"band", {"ribbon"}},
    {"step", {"steps"}},
};

static constexpr Option<Options> options[] = {
    option<&Options::mark>("mark", mark_names, "what rows are drawn as that have no `mark` of their own")
        .elsewhere_called(foreign_marks),
    argument<Options>("title", "any text", "above the picture").null_means("none"),
    argument<Options>("x_label", "any text", "beside the axis of `x`").null_means("none"),
    argument<Options>("y_label", "any text", "beside the axis of `y`").null_means("none"),
    option<&Options::x_scale>("x_scale", scale_names, "`log`: powers of ten lie at equal distances"),
    option<&Options::y_scale>("y_scale", scale_names, "the same of `y`"),
    option<&Options::width>("width", between(160, 4000), "in pixels"),
    option<&Options::height>("height", between(120, 4000), "in pixels"),
};

constinit const OptionsTable<Options> options_table{options};

} // namespace btml::plot
