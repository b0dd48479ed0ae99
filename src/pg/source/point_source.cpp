#include "pg/source/point_source.hpp"

extern "C" {
#include "parser/parse_coerce.h"
}

namespace btml::pg {

namespace {

[[noreturn]] void refuse_type(const Source::Column& column, const char* what, const char* wanted,
                              const std::string& detail, const std::string& hint) {
    throw Error(ErrorCode::wrong_type,
                format("column \"%s\" of the %s has type %s, not %s", column.name.c_str(), what, type_name(column.type),
                       wanted),
                detail, hint);
}

} // namespace

PointSource::PointSource(const GivenSource& source, const char* what, PointParts parts)
    : source_(Source::of_rows(source)), what_(what), parts_(std::move(parts)) {
    find_parts();
    if (OidIsValid(parts_.plain_x))
        find_plain_x();
    else
        find_coordinates();
}

PointSource::PointSource(const GivenSource& source, const char* what, PointParts parts, const PointSource& like)
    : source_(Source::of_rows(source, format("the source of the %s", what))),
      what_(what),
      parts_(std::move(parts)),
      names_(like.names_) {
    find_parts();
    const bool arrays = like.coordinates_[0].number == NumberKind::none;
    for (const std::string& name : names_) coordinates_.push_back(column(source_.column(name), arrays));
}

// Error wrong_type unless the column is one of numbers or, where asked for, of arrays.
PointSource::Column PointSource::column(int position, bool arrays) const {
    const Source::Column& column = source_.columns()[position];
    const Oid type = column.type;
    Column result{column.name, position, is_plain_number(column.number) ? column.number : NumberKind::none, {}};
    if (arrays) result.array = pg_call([=] { return array_rule(type, CurrentMemoryContext); });
    if (result.number != NumberKind::none && !arrays) return result;
    if (result.array.element != NumberKind::none) return result;
    if (!arrays) refuse_type(column, what_, "a number", "", cast_hint(column.name, type) + ".");
    if (!OidIsValid(result.array.distrusted_cast))
        refuse_type(column, what_, "an array of numbers", "",
                    "Arrays are of float8, real, numeric or integers, or of a type with a cast to one of the first "
                    "two.");
    refuse_type(column, what_, "an array of numbers", detail_of_distrust(result.array),
                hint_of_distrust(result.array, column.name));
}

void PointSource::find_parts() {
    id_ = source_.find("id").value_or(-1);
    if (id_ >= 0 && parts_.ids) {
        const Oid type = source_.columns()[id_].type;
        id_rule_ = pg_call([=] { return label_rule(type, CurrentMemoryContext); });
    }
    const int weight = source_.find("weight").value_or(-1),
              values = parts_.values ? source_.column(*parts_.values) : -1;
    if (weight >= 0 && weight != values && parts_.weights) weight_ = column(weight, false);
    if (values < 0) return;
    values_ = column(values, parts_.arrays && !is_plain_number(source_.columns()[values].number));
}

void PointSource::find_coordinates() {
    const auto is_number = [&](int i) { return is_plain_number(source_.columns()[i].number); };
    const auto is_array = [&](int i) {
        const Oid type = source_.columns()[i].type;
        return pg_call([=] { return array_rule(type, CurrentMemoryContext); }).element != NumberKind::none;
    };
    const int x = source_.find("x").value_or(-1);
    if (x >= 0 && x != values_.position && !is_number(x)) {
        names_.push_back("x");
        coordinates_.push_back(column(x, true));
        return;
    }
    std::string array;
    std::vector<std::string> others;
    for (int i = 0; i < static_cast<int>(source_.columns().size()); i++) {
        const std::string& name = source_.columns()[i].name;
        if (name == "id" || name == "weight" || i == values_.position) continue;
        if (is_number(i)) {
            source_.column(name); // it is the only one of this name
            names_.push_back(name);
            coordinates_.push_back(column(i, false));
        } else if (array.empty() && is_array(i)) {
            array = name;
        } else {
            others.push_back(name);
        }
    }
    if (names_.empty())
        throw Error(ErrorCode::invalid_argument, format("the %s have no coordinates", what_),
                    array.empty() ? "" : format("Column \"%s\" is an array, but not called x.", array.c_str()),
                    "Coordinates are the elements of an array column \"x\", or else the columns of numbers other than "
                    "\"id\", \"weight\" and a target.");
    tell_of_left_out(array, others);
}

// array, others: the columns that are no numbers.
void PointSource::tell_of_left_out(const std::string& array, const std::vector<std::string>& others) const {
    if (!parts_.weights && source_.find("weight"))
        notice(format("column \"weight\" of the %s is left out: it is no coordinate, and all rows count alike", what_),
               "", "Call it something else where it is a coordinate.");
    if (!array.empty()) {
        const char* const quoted = pg_call([name = array.c_str()] { return quote_identifier(name); });
        notice(format("column \"%s\" of the %s is an array but no coordinate, columns of numbers are", array.c_str(),
                      what_),
               "", format("Call it x, as in SELECT %s AS x, to take its elements.", quoted));
    }
    if (others.empty()) return;
    const bool is_one = others.size() == 1;
    notice(
        format("column%s %s of the %s %s left out: coordinates are numbers", is_one ? "" : "s",
               quoted_list(others).c_str(), what_, is_one ? "is" : "are"),
        "",
        "Make a number of what is a coordinate, as in \"flag\"::integer or extract(epoch FROM \"day\"), and leave the "
        "rest out of the source.");
}

void PointSource::find_plain_x() {
    const int x = source_.column("x");
    const Oid type = source_.columns()[x].type, wanted = parts_.plain_x;
    if (!pg_call([=] { return IsBinaryCoercible(type, wanted); }))
        throw Error(ErrorCode::wrong_type,
                    format("column \"x\" of the %s has type %s, not %s", what_, type_name(type), type_name(wanted)), "",
                    format("Cast it: x::%s.", type_name(wanted)));
    names_.push_back("x");
    coordinates_.push_back({"x", x, NumberKind::none, {}});
}

std::optional<size_t> PointSource::dimensions() const {
    if (coordinates_[0].number == NumberKind::none) return std::nullopt;
    return coordinates_.size();
}

class PointSource::PointSink : public RowSink {
  public:
    PointSink(const PointSource& source, const Take& take)
        : source_(source), take_(take), dimensions_(source.dimensions().value_or(0)) {
        point_.x = {x_.data(), 0};
        x_.resize(dimensions_);
        for (const Column& column : source_.coordinates_) coordinates_.push_back({column.name.c_str()});
    }

    void add(const Datum* values, const bool* nulls) override {
        point_.number = rows_++;
        read_coordinates(values, nulls);
        read_values(values, nulls);
        point_.weight = source_.weight_.position < 0 ? 1 : number(source_.weight_, values, nulls, weight_);
        if (source_.parts_.ids) read_id(values, nulls);
        if (!take_(point_)) stop();
    }

    bool tell_of_rounded() const {
        bool told = notice_rounded(value_);
        for (const NumberColumn& column : coordinates_) told |= notice_rounded(column);
        return told;
    }

  private:
    [[noreturn]] void refuse(ErrorCode code, const Column& column, const char* what, const char* hint,
                             const std::string& detail = {}) const {
        throw Error(code,
                    format("row %" PRIu64 " of the %s has %s in column \"%s\"", rows_, source_.what_, what,
                           column.name.c_str()),
                    detail, hint);
    }

    void check(const Column& column, double x) const {
        if (std::isfinite(x)) return;
        if (is_null(x)) refuse(ErrorCode::null_value, column, "NULL", "Leave such rows out with WHERE.");
        refuse(ErrorCode::out_of_range, column, std::isnan(x) ? "NaN" : "an infinite number",
               "Leave such rows out with WHERE.");
    }

    double number(const Column& column, const Datum* values, const bool* nulls, NumberColumn& read) const {
        const auto i = static_cast<size_t>(column.position);
        const double x = nulls[i] ? null_number : guarded_number(values[i], column.number, read);
        check(column, x);
        return x;
    }

    // False for NULL.
    bool array(const Column& column, const Datum* values, const bool* nulls, std::vector<double>& to,
               NumberColumn& read) const {
        const auto i = static_cast<size_t>(column.position);
        if (nulls[i]) return false;
        const int dimensions = read_numbers(column.array, values[i], to, read);
        if (dimensions > 1)
            refuse(ErrorCode::wrong_type, column, "an array of more than one dimension", "Take one slice of it.");
        if (dimensions == 0) refuse(ErrorCode::invalid_argument, column, "an empty array", "Leave such rows out.");
        for (const double x : to) check(column, x);
        return true;
    }

    // The first row says how many.
    void check_length(const Column& column, size_t length, size_t& expected) const {
        if (expected == 0) expected = length;
        if (length != expected)
            refuse(ErrorCode::invalid_argument, column, format("an array of length %zu", length).c_str(),
                   "All arrays of one column must have the same length.",
                   format("Row 1 has one of length %zu.", expected));
    }

    void read_coordinates(const Datum* values, const bool* nulls) {
        const Column& first = source_.coordinates_[0];
        if (OidIsValid(source_.parts_.plain_x)) {
            if (nulls[first.position]) check(first, null_number);
            point_.plain_x = values[first.position];
        } else if (first.number != NumberKind::none) {
            for (size_t c = 0; c < x_.size(); c++)
                x_[c] = number(source_.coordinates_[c], values, nulls, coordinates_[c]);
        } else {
            if (!array(first, values, nulls, x_, coordinates_[0])) check(first, null_number);
            check_length(first, x_.size(), dimensions_);
        }
        point_.x = x_;
    }

    void read_values(const Datum* values, const bool* nulls) {
        const Column& column = source_.values_;
        if (column.position < 0) return;
        if (nulls[column.position]) {
            point_.values = {};
            return;
        }
        if (column.number != NumberKind::none) {
            values_.assign(1, number(column, values, nulls, value_));
        } else {
            array(column, values, nulls, values_, value_);
            check_length(column, values_.size(), length_);
        }
        point_.values = values_;
    }

    void read_id(const Datum* values, const bool* nulls) {
        point_.has_id = source_.id_ < 0 || !nulls[source_.id_];
        if (source_.id_ < 0) {
            number_ = std::to_string(rows_);
            point_.id = number_;
        } else if (point_.has_id) {
            const Datum value = values[source_.id_];
            point_.id = pg_call([=, this] { return label_of(value, source_.id_rule_); });
        }
    }

    const PointSource& source_;
    const Take& take_;
    uint64_t rows_ = 0;
    size_t dimensions_, length_ = 0;
    std::vector<double> x_, values_;
    std::string number_;
    PointRow point_{};
    std::vector<NumberColumn> coordinates_;
    NumberColumn value_{source_.values_.name.c_str()}, weight_{source_.weight_.name.c_str()};
};

uint64_t PointSource::read(const Take& take, RunContext& context, std::optional<uint64_t> block_seed) const {
    PointSink sink(*this, take);
    const uint64_t rows = source_.read_rows(sink, "reading points", context, block_seed);
    if (!has_told_of_rounded_) has_told_of_rounded_ = sink.tell_of_rounded(); // points may be read several times
    return rows;
}

} // namespace btml::pg
