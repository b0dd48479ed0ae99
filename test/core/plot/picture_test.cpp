#include "core/plot/picture.hpp"

#include "core/numbers/rng.hpp"
#include "core/plot/domains.hpp"
#include "core/plot/marks/curve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

namespace btml::plot {
namespace {

struct Given {
    double x = 0, y = 0, lower = null_number, upper = null_number, value = null_number, size = null_number;
    std::string series = {}, label = {}, mark = "line";
};

constexpr Parts all_parts =
    parts(Part::x, Part::y, Part::lower, Part::upper, Part::value, Part::size, Part::series, Part::label);

void add(const Given& given, Rows& rows) {
    Row row;
    row.numbers = {given.x, given.y, given.lower, given.upper, given.value, given.size};
    if (!given.series.empty()) row.texts[0] = rows.text_code(Part::series, given.series);
    if (!given.label.empty()) row.texts[1] = rows.text_code(Part::label, given.label);
    row.mark = mark_number(given.mark);
    const Mark& mark = *marks[row.mark];
    rows.add(row, mark.needs, (mark.columns & bit(Part::y)) != 0);
}

std::string draw(const std::vector<Given>& given, const RowShape& shape, const Options& options = {}) {
    QuietContext context;
    Rows rows(shape, context.memory());
    for (const Given& row : given) add(row, rows);
    return draw_picture(rows, options, context);
}

// Says what is wrong with XML that has elements, attributes in double quotes and text alone.
std::string flaw_of_xml(std::string_view xml) {
    std::vector<std::string> open;
    while (!xml.empty()) {
        const size_t tag = xml.find('<');
        if (xml.substr(0, tag).find('>') != std::string_view::npos) return "a > outside of a tag";
        if (tag == std::string_view::npos) break;
        const size_t end = xml.find('>', tag);
        if (end == std::string_view::npos) return "a tag without end";
        const std::string_view inside = xml.substr(tag + 1, end - tag - 1);
        if (std::count(inside.begin(), inside.end(), '"') % 2 != 0) return "an attribute without end";
        const std::string name(inside.substr(0, inside.find_first_of(" /", 1)));
        if (name[0] == '/') {
            if (open.empty() || "/" + open.back() != name) return "a closing tag " + name;
            open.pop_back();
        } else if (!inside.ends_with("/")) {
            open.push_back(name);
        }
        xml.remove_prefix(end + 1);
    }
    return open.empty() ? "" : "an open tag " + open.back();
}

std::vector<Given> random_rows(const std::string& mark, size_t count, uint64_t seed) {
    std::vector<Given> rows;
    for (size_t i = 0; i < count; i++) {
        const auto unit = [&](uint64_t k) { return random_unit(seed, k, i); };
        Given row{std::floor(unit(0) * 50), unit(1) * 100 - 50};
        row.lower = row.y - unit(2);
        row.upper = unit(3) < 0.1 ? null_number : row.y + unit(4);
        row.value = unit(5);
        row.size = unit(6);
        row.series = i < 2 ? "ab"[i] + std::string() : unit(7) < 0.3 ? "" : unit(8) < 0.5 ? "a" : "b";
        row.label = unit(9) < 0.1 ? format("%zu", i) : "";
        if (unit(10) < 0.05) row.y = null_number;
        if (unit(11) < 0.05) row.y = HUGE_VAL;
        row.mark = mark;
        rows.push_back(row);
    }
    return rows;
}

TEST(PlotPicture, DoesNotDependOnTheOrderOfRows) {
    for (const char* const mark : mark_names)
        for (const size_t count : {30, 3000, 12'000}) {
            std::vector<Given> rows = random_rows(mark, count, count);
            for (const Parts present : {all_parts, parts(Part::x, Part::y, Part::series, Part::label),
                                        parts(Part::x, Part::y, Part::value, Part::lower, Part::upper)}) {
                if ((marks[mark_number(mark)]->columns & ~present) != 0) continue;
                const RowShape shape{present};
                const std::string picture = draw(rows, shape);
                EXPECT_EQ(flaw_of_xml(picture), "") << mark << ' ' << count;
                // The first rows of each series keep their places.
                for (size_t i = rows.size() - 1; i > 3; i--)
                    std::swap(rows[i], rows[2 + random_bits(1, count, i) % (i - 1)]);
                EXPECT_EQ(draw(rows, shape), picture) << mark << ' ' << count;
            }
        }
}

// Returns the circles and names of sizes that stand above the data.
std::vector<std::pair<std::string, std::string>> legend_of_sizes(const std::string& picture) {
    std::vector<std::pair<std::string, std::string>> entries;
    const auto between = [&](const char* before, const char* after, size_t& at) {
        const size_t begin = picture.find(before, at) + std::strlen(before);
        at = picture.find(after, begin);
        return picture.substr(begin, at - begin);
    };
    const char* const group = "<g class=\"other\" fill=\"none\" stroke=\"currentColor\">";
    for (size_t at = picture.find(group); at != std::string::npos; at = picture.find(group, at)) {
        const std::string radius = between(" r=\"", "\"", at);
        const std::string name = between("\">", "</text>", at = picture.find("<text", at));
        entries.emplace_back(radius, name);
    }
    return entries;
}

TEST(PlotPicture, ALegendSaysWhatSizesMean) {
    const auto sized = [](std::vector<double> sizes, const std::string& mark = "point", size_t copies = 1) {
        std::vector<Given> rows;
        for (size_t i = 0; i < sizes.size() * copies; i++) {
            Given row{static_cast<double>(i), 1};
            row.size = sizes[i % sizes.size()];
            row.mark = mark;
            rows.push_back(row);
        }
        return draw(rows, {parts(Part::x, Part::y, Part::size)});
    };
    using Entries = std::vector<std::pair<std::string, std::string>>;
    // The largest of 1, 2 and 5 times a power of ten, then of a quarter; the radius is that of a row of that size.
    EXPECT_EQ(legend_of_sizes(sized({1, 200})), (Entries{{"12", "200"}, {"6", "50"}, {"2.7", "10"}}));
    EXPECT_EQ(legend_of_sizes(sized({0, 288})), (Entries{{"10", "200"}, {"5", "50"}, {"2.2", "10"}}));
    EXPECT_EQ(legend_of_sizes(sized({3e-9, 9e-9})), (Entries{{"8.9", "5e-09"}}));
    EXPECT_EQ(legend_of_sizes(sized({1, 1e300})), (Entries{{"12", "1e+300"}, {"5.4", "2e+299"}, {"2.7", "5e+298"}}));
    EXPECT_EQ(legend_of_sizes(sized({0.999, 1000})), (Entries{{"12", "1000"}, {"5.4", "200"}, {"2.7", "50"}}));
    // None where there are no circles, or all are alike.
    for (const std::string& none : {sized({7, 7}), sized({0, 0}), sized({6, 9}), sized({1, 200}, "line"),
                                    sized({1, 200}, "point", 6000), sized({null_number, null_number})})
        EXPECT_EQ(legend_of_sizes(none), Entries{});
    for (int digits = -300; digits <= 300; digits += 7)
        for (double digit = 1; digit < 10; digit += 0.37) {
            const double high = digit * std::pow(10, digits);
            const Entries entries = legend_of_sizes(sized({0, high}));
            ASSERT_EQ(entries.size(), 3u) << high;
            const double first = std::stod(entries[0].second);
            EXPECT_LE(first, high * (1 + 1e-12));
            EXPECT_GT(first, high / 2.51);
        }
}

TEST(PlotPicture, EscapesEveryText) {
    const std::string evil = "</text><script>alert(\"1\")</script>\x01&'\xFF";
    Options options;
    options.title = options.x_label = options.y_label = evil;
    QuietContext context;
    Rows rows({all_parts, {ValueKind::category}}, context.memory());
    for (const char* const mark : {"bar", "point", "line"}) {
        Given row{rows.category(Part::x, evil), 1, 0, 2, 3, 4, evil, evil, mark};
        add(row, rows);
    }
    const std::string picture = draw_picture(rows, options, context);
    EXPECT_EQ(flaw_of_xml(picture), "");
    EXPECT_EQ(picture.find("<script"), std::string::npos);
    EXPECT_NE(picture.find("&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;&#xFFFD;&#38;&#39;&#xFFFD;"),
              std::string::npos);
    EXPECT_TRUE(
        std::all_of(picture.begin(), picture.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

TEST(PlotPicture, AnyNumbersMakeAPicture) {
    const double odd[] = {
        0,      -0.0, 1,        -1,       1e-320,    1e308,        -1e308,      1.7976931348623157e308,
        1e-300, 1e15, 1e15 + 1, HUGE_VAL, -HUGE_VAL, std::nan(""), null_number, 5e-324};
    for (const char* const mark : mark_names)
        for (uint64_t seed = 0; seed < 150; seed++) {
            std::vector<Given> rows;
            for (size_t i = 0; i < seed % 5; i++) {
                const auto any = [&](uint64_t k) { return odd[random_bits(seed, i, k) % std::size(odd)]; };
                rows.push_back({any(0), any(1), any(2), any(3), any(4), any(5), "", "", mark});
            }
            RowShape shape{all_parts};
            shape.x.logarithmic = seed % 3 == 1;
            shape.y.logarithmic = seed % 3 == 2;
            shape.x.kind = seed % 7 == 3 ? ValueKind::time : ValueKind::number;
            if (shape.x.kind == ValueKind::time) {
                for (Given& row : rows) row.x = std::clamp(row.x, -3e11, 9e12);
                shape.x.logarithmic = false;
            }
            Options options;
            options.width = seed % 2 ? 160 : 640;
            options.height = seed % 2 ? 120 : 400;
            const std::string picture = draw(rows, shape, options);
            EXPECT_EQ(flaw_of_xml(picture), "");
            EXPECT_EQ(picture.find("nan"), std::string::npos);
            EXPECT_EQ(picture.find("inf\""), std::string::npos);
        }
}

TEST(PlotPicture, CountsRowsThatAreNotDrawn) {
    std::vector<Given> rows = {{1, 1}, {2, null_number}, {3, std::nan("")}, {-1, 2}, {HUGE_VAL, 3}, {null_number, 4}};
    RowShape shape{parts(Part::x, Part::y)};
    shape.x.logarithmic = true;
    const std::string line = draw(rows, shape);
    EXPECT_NE(line.find("4 of 6 rows not drawn: x is NULL (1), x is NaN or infinite (1), x is not positive on a "
                        "logarithmic axis (1), y is NaN or infinite (1)"),
              std::string::npos)
        << line;
    for (Given& row : rows) row.mark = "point";
    EXPECT_NE(draw(rows, shape).find("5 of 6 rows not drawn"), std::string::npos);
    EXPECT_NE(draw({}, shape).find(">no rows<"), std::string::npos);
}

TEST(PlotPicture, StaysSmallOfManyRows) {
    for (const char* const mark : mark_names) {
        std::vector<Given> rows;
        for (size_t i = 0; i < 300'000; i++) {
            const double x = random_unit(5, 0, i), y = random_unit(5, 1, i);
            rows.push_back({x, y, y - 0.1, y + 0.1, x * y, x, "", "", mark});
            if (mark == std::string("box")) rows.back().x = std::floor(10 * x);
            if (i % 2) rows.back().y = mark == std::string("line") ? null_number : y;
        }
        EXPECT_LT(draw(rows, {all_parts}).size(), 400'000) << mark;
        EXPECT_LT(draw(rows, {parts(Part::x, Part::y, Part::lower, Part::upper, Part::value)}).size(), 400'000) << mark;
    }
}

// Every pixel of a dense curve has the lowest and the highest of its rows.
TEST(PlotCurve, KeepsTheOutline) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        QuietContext context;
        Rows rows({parts(Part::x, Part::y)}, context.memory());
        const size_t count = 3000 + 100 * seed;
        for (size_t i = 0; i < count; i++) add({static_cast<double>(i), random_unit(6, seed, i)}, rows);
        const Domain across{ValueKind::number, false, 0, static_cast<double>(count)}, up;
        const Frame frame{0, 0, 100, 100, Scale(across, 0, 100), Scale(up, 100, 0), false};
        Canvas canvas{rows, frame, {}, {}, context, Svg(context), {}, {}, 0};
        std::vector<uint32_t> order(count);
        std::iota(order.begin(), order.end(), 0U);
        const std::vector<plot::Run> runs = curve_runs(order, canvas);
        ASSERT_EQ(runs.size(), 1);
        EXPECT_LE(runs[0].size(), 4 * 101);
        std::map<int, std::pair<double, double>> expected, found;
        const auto note = [](std::map<int, std::pair<double, double>>& to, double along, double y) {
            auto& range = to.try_emplace(static_cast<int>(std::floor(along)), y, y).first->second;
            range = {std::min(range.first, y), std::max(range.second, y)};
        };
        for (const uint32_t row : order) note(expected, canvas.x(row), canvas.y(row));
        for (const Vertex& vertex : runs[0]) note(found, vertex.along, vertex.low);
        EXPECT_EQ(found, expected);
        EXPECT_TRUE(std::is_sorted(runs[0].begin(), runs[0].end(), [](auto& a, auto& b) { return a.along < b.along; }));
    }
}

TEST(PlotCurve, IsCutWhereYIsNull) {
    QuietContext context;
    Rows rows({parts(Part::x, Part::y)}, context.memory());
    const double y[] = {1, 2, null_number, null_number, 3, null_number, 4, 5};
    for (size_t i = 0; i < std::size(y); i++) add({static_cast<double>(i), y[i]}, rows);
    const Domain domain{ValueKind::number, false, 0, 8};
    const Frame frame{0, 0, 100, 100, Scale(domain, 0, 100), Scale(domain, 100, 0), false};
    Canvas canvas{rows, frame, {}, {}, context, Svg(context), {}, {}, 0};
    std::vector<uint32_t> order(std::size(y));
    std::iota(order.begin(), order.end(), 0U);
    const std::vector<plot::Run> runs = curve_runs(order, canvas);
    ASSERT_EQ(runs.size(), 3);
    EXPECT_EQ(runs[0].size(), 2);
    EXPECT_EQ(runs[1].size(), 1);
    EXPECT_EQ(runs[2].size(), 2);
}

// The middle line of a box is the median of its rows.
TEST(PlotBox, HasTheMedian) {
    for (uint64_t seed = 0; seed < 50; seed++) {
        QuietContext context;
        Rows rows({parts(Part::x, Part::y)}, context.memory());
        std::vector<double> values;
        for (size_t i = 0; i < 1 + seed; i++) {
            values.push_back(random_unit(7, seed, i));
            add({1, values.back(), null_number, null_number, null_number, null_number, "", "", "box"}, rows);
        }
        std::vector<uint32_t> order(values.size());
        std::iota(order.begin(), order.end(), 0U);
        const Layer layer{mark_number("box"), order};
        const Domain domain = domain_of(Part::y, rows, {&layer, 1}, context);
        const std::string picture = draw_picture(rows, {}, context);
        const size_t at = picture.find("class=\"median\" d=\"M");
        ASSERT_NE(at, std::string::npos);
        double x = 0, y = 0;
        ASSERT_EQ(std::sscanf(picture.c_str() + at, "class=\"median\" d=\"M%lf %lf", &x, &y), 2);
        std::sort(values.begin(), values.end());
        const double median = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
        EXPECT_NEAR(Scale(domain, 369, 14)(median), y, 0.2);
    }
}

TEST(PlotPicture, HeatmapsShowMeans) {
    const RowShape shape{parts(Part::x, Part::y, Part::value)};
    const auto cell = [](double x, double y, double value) {
        return Given{x, y, null_number, null_number, value, null_number, "", "", "heatmap"};
    };
    const std::string once = draw({cell(0, 0, 0), cell(1, 0, 10), cell(0, 1, 5), cell(1, 1, 2)}, shape);
    const std::string twice = draw({cell(0, 0, 0), cell(1, 0, 10), cell(0, 1, 4), cell(0, 1, 6), cell(1, 1, 2)}, shape);
    EXPECT_EQ(once.substr(once.find("<rect")), twice.substr(twice.find("<rect")));
}

class StoppedContext : public QuietContext {
  public:
    explicit StoppedContext(int polls) : QuietContext(1), left_(polls) {}
    bool keep_going() override { return left_-- > 0; }

  private:
    int left_;
};

TEST(PlotPicture, CanBeCancelledAndCountsItsMemory) {
    for (const char* const mark : mark_names) {
        QuietContext context;
        Rows rows({all_parts}, context.memory());
        for (const Given& row : random_rows(mark, 200'000, 9)) add(row, rows);
        StoppedContext stopped(1);
        EXPECT_THROW(draw_picture(rows, {}, stopped), Cancelled) << mark;
        QuietContext small(1, 100'000);
        EXPECT_THROW(draw_picture(rows, {}, small), Error) << mark;
        EXPECT_EQ(small.memory().used(), 0);
    }
}

TEST(PlotRows, RefuseTooManySeriesAndCategories) {
    QuietContext context;
    Rows rows({all_parts}, context.memory());
    for (size_t i = 0; i < max_series; i++) rows.text_code(Part::series, std::to_string(i));
    EXPECT_THROW(rows.text_code(Part::series, "more"), Error);
    for (size_t i = 0; i < max_categories; i++) rows.category(Part::x, std::to_string(i));
    EXPECT_THROW(rows.category(Part::x, "more"), Error);
}

} // namespace
} // namespace btml::plot
