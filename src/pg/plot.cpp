// btml.plot: a picture of the rows of a source.
#include "core/plot/picture.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/source/source.hpp"
#include "pg/values/named_options.hpp"
#include "pg/values/result.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/timestamp.h"
}

namespace btml::pg {

using plot::Part;
using plot::RowShape;
using plot::ValueKind;

namespace {

constexpr char mark_name[] = "mark";

// Returns UTF-8, for which bytes of a database without an encoding are taken. May ereport.
std::string_view utf8(std::string_view text) {
    const int encoding = GetDatabaseEncoding();
    if (encoding == PG_UTF8 || encoding == PG_SQL_ASCII) return text;
    const char* const converted = pg_server_to_any(text.data(), static_cast<int>(text.size()), PG_UTF8);
    return converted == text.data() ? text : std::string_view(converted);
}

// A column of the source: its numbers, or its texts.
struct PlotColumn {
    int position = -1; // −1: there is none
    const char* name = nullptr;
    Oid type = InvalidOid;
    NumberKind number = NumberKind::none;
    LabelRule label;

    double value(Datum datum) const {
        NumberColumn column{name};
        return guarded_number(datum, number, column, time_cast(number, NumberKind::timestamp));
    }
    std::string_view text(Datum datum) const {
        return pg_call([=, this] { return utf8(label_of(datum, label)); });
    }
};

ValueKind value_kind(NumberKind kind) {
    if (is_plain_number(kind)) return ValueKind::number;
    if (is_point_in_time(kind)) return ValueKind::time;
    return kind == NumberKind::time ? ValueKind::time_of_day : ValueKind::category;
}

bool is_whole(const PlotColumn& column) {
    const NumberKind kind = column.number;
    return column.position >= 0 && (kind == NumberKind::int2 || kind == NumberKind::int4 || kind == NumberKind::int8);
}

[[noreturn]] void refuse_type(const char* column, Oid type, const char* wanted, const std::string& hint) {
    throw Error(ErrorCode::wrong_type,
                format("column \"%s\" of the source has type %s, not %s", column, type_name(type), wanted), "", hint);
}

// The columns of a source by their names.
class PlotSource {
  public:
    PlotSource(const GivenSource& given, const plot::Options& options) : source_(Source::of_rows(given)) {
        find_columns();
        shape_.x.kind = axis_kind(Part::x);
        shape_.y.kind = axis_kind(Part::y);
        check_bounds();
        shape_.x.whole = is_whole(column(Part::x));
        shape_.y.whole = is_whole(column(Part::y)) && !shape_.has(Part::lower) && !shape_.has(Part::upper);
        for (const Part part : {Part::value, Part::size}) require_number(part);
        shape_.x.logarithmic = options.x_scale == plot::ScaleKind::log;
        shape_.y.logarithmic = options.y_scale == plot::ScaleKind::log;
        check_scale("x_scale", Part::x);
        check_scale("y_scale", Part::y);
        if (mark_.position < 0) require_columns(static_cast<uint8_t>(options.mark));
    }

    const Source& source() const { return source_; }
    const RowShape& shape() const { return shape_; }
    const PlotColumn& column(Part part) const { return columns_[static_cast<size_t>(part)]; }
    const PlotColumn& mark() const { return mark_; }

    // Errors undefined_column where the source lacks what the mark draws, wrong_type for an axis that it does not take.
    void require_columns(uint8_t number) const {
        const plot::Mark& mark = *plot::marks[number];
        const char* const mark_of = plot::mark_names[number];
        std::string columns;
        std::optional<Part> missing;
        for (size_t i = plot::part_count; i-- > 0;) {
            const auto part = static_cast<Part>(i);
            if ((mark.columns & plot::bit(part)) == 0) continue;
            columns = name_of(part) + (columns.empty() ? "" : ", " + columns);
            if (column(part).position < 0) missing = part;
        }
        if (missing)
            throw Error(ErrorCode::undefined_column, format("source has no column \"%s\"", name_of(*missing)), "",
                        format("Mark '%s' is drawn from columns %s.", mark_of, columns.c_str()));
        const bool category = shape_.y.kind == ValueKind::category;
        if ((category && !mark.category_y) || (shape_.y.kind != ValueKind::number && mark.from_zero))
            throw Error(ErrorCode::wrong_type,
                        format("column \"y\" of the source has type %s, which mark '%s' cannot draw",
                               type_name(column(Part::y).type), mark_of),
                        "",
                        mark.horizontal ? "Bars of categories are horizontal: the categories are column \"x\"."
                                        : cast_hint("y", column(Part::y).type) + ".");
    }

  private:
    void find_columns() {
        const std::vector<Source::Column>& given = source_.columns();
        for (size_t i = 0; i < given.size(); i++) {
            const Oid type = given[i].type;
            PlotColumn found{source_.column(given[i].name), given[i].name.c_str(), type, given[i].number,
                             pg_call([=] { return label_rule(type, CurrentMemoryContext); })};
            if (given[i].name == mark_name) {
                mark_ = found;
                continue;
            }
            const auto known = std::find(std::begin(plot::part_names), std::end(plot::part_names), given[i].name);
            if (known == std::end(plot::part_names)) {
                std::vector<std::string> names(std::begin(plot::part_names), std::end(plot::part_names));
                names.emplace_back(mark_name);
                const std::string nearest = nearest_name(given[i].name, names);
                throw Error(ErrorCode::undefined_column,
                            format("source has a column \"%s\", which no picture has", given[i].name.c_str()),
                            "The columns of a picture are " + quoted_list(names) + ".",
                            nearest.empty() ? "Leave it out, or give it one of these names, as in SELECT price AS x."
                                            : format("Perhaps you meant \"%s\".", nearest.c_str()));
            }
            const auto part = static_cast<size_t>(known - std::begin(plot::part_names));
            columns_[part] = found;
            shape_.present |= plot::bit(static_cast<Part>(part));
        }
        if (column(Part::x).position < 0)
            throw Error(ErrorCode::undefined_column, "source has no column \"x\"", "",
                        "Name the column of the horizontal axis x, as in SELECT day AS x, sales AS y FROM shop.");
    }

    ValueKind axis_kind(Part part) const {
        const PlotColumn& found = column(part);
        if (found.position < 0) return ValueKind::number;
        if (found.number == NumberKind::interval)
            refuse_type(name_of(part), found.type, "a number, time or category",
                        cast_hint(name_of(part), found.type) + ".");
        return value_kind(found.number);
    }

    // The bounds lie on the axis of y, whose kind they have, where there is no y.
    void check_bounds() {
        for (const Part part : {Part::lower, Part::upper}) {
            const PlotColumn& bound = column(part);
            const char* const name = name_of(part);
            if (bound.position < 0) continue;
            const ValueKind kind = value_kind(bound.number);
            const bool alone =
                column(Part::y).position < 0 && (part == Part::lower || column(Part::lower).position < 0);
            if (kind == ValueKind::category || bound.number == NumberKind::interval)
                refuse_type(name, bound.type, "a number or time", cast_hint(name, bound.type) + ".");
            if (alone)
                shape_.y.kind = kind;
            else if (kind != shape_.y.kind)
                refuse_type(name, bound.type, "of the kind of \"y\"", "Cast one to the type of the other.");
        }
    }

    void require_number(Part part) const {
        const PlotColumn& found = column(part);
        const char* const name = name_of(part);
        if (found.position >= 0 && !is_plain_number(found.number))
            refuse_type(name, found.type, "a number", cast_hint(name, found.type) + ".");
    }

    void check_scale(const char* option, Part part) const {
        if (!shape_.axis(part).logarithmic || shape_.axis(part).kind == ValueKind::number) return;
        const PlotColumn& found = column(part);
        throw Error(ErrorCode::invalid_argument,
                    format("%s 'log' is for numbers, and column \"%s\" has type %s", option, name_of(part),
                           type_name(found.position < 0 ? column(Part::lower).type : found.type)));
    }

    Source source_;
    RowShape shape_;
    std::array<PlotColumn, plot::part_count> columns_;
    PlotColumn mark_;
};

class PlotSink : public RowSink {
  public:
    PlotSink(const PlotSource& source, plot::MarkNumber mark, plot::Rows& rows)
        : source_(source), rows_(rows), mark_(static_cast<uint8_t>(mark)) {}

    void add(const Datum* values, const bool* nulls) override {
        plot::Row row;
        row.mark = mark_of(values, nulls);
        for (size_t i = 0; i < plot::part_count; i++) {
            const auto part = static_cast<Part>(i);
            const PlotColumn& column = source_.column(part);
            if (column.position < 0 || nulls[column.position]) continue;
            const Datum value = values[column.position];
            if (i >= plot::number_parts)
                row.texts[i - plot::number_parts] = rows_.text_code(part, column.text(value));
            else
                row.numbers[i] = is_category(part) ? rows_.category(part, column.text(value)) : column.value(value);
        }
        const plot::Mark& mark = *plot::marks[row.mark];
        rows_.add(row, mark.needs, (mark.columns & plot::bit(Part::y)) != 0);
    }

  private:
    bool is_category(Part part) const {
        return (part == Part::x || part == Part::y) && source_.shape().axis(part).kind == ValueKind::category;
    }

    uint8_t mark_of(const Datum* values, const bool* nulls) {
        const PlotColumn& column = source_.mark();
        if (column.position < 0) return mark_;
        uint8_t mark = mark_;
        if (!nulls[column.position]) {
            const std::string_view name = column.text(values[column.position]);
            mark = plot::mark_number(name);
            if (mark == std::size(plot::marks))
                plot::options_table.find(mark_name)->check(OptionValue(std::string(name)));
        }
        if (!std::exchange(checked_[mark], true)) source_.require_columns(mark);
        return mark;
    }

    const PlotSource& source_;
    plot::Rows& rows_;
    const uint8_t mark_;
    std::array<bool, std::size(plot::marks)> checked_ = {};
};

std::string text_option(const NamedArguments& arguments, const char* name) {
    if (arguments.is_null(name)) return "";
    const std::string text = arguments.string(name);
    return std::string(pg_call([&] { return utf8(text); }));
}

} // namespace

// btml.plot(source text, mark text, title text, x_label text, y_label text, x_scale text, y_scale text, width int,
// height int) → text
BTML_FUNCTION(btml_plot) {
    const NamedArguments arguments(fcinfo);
    const GivenSource given = given_source(arguments);
    plot::Options options;
    read_options(arguments, plot::options_table, options);
    options.title = text_option(arguments, "title");
    options.x_label = text_option(arguments, "x_label");
    options.y_label = text_option(arguments, "y_label");
    BackendContext context("plot");
    const PlotSource source(given, options);
    plot::Rows rows(source.shape(), context.memory());
    PlotSink sink(source, options.mark, rows);
    source.source().read_rows(sink, "reading rows", context);
    return text_datum(plot::draw_picture(rows, options, context));
}

} // namespace btml::pg
