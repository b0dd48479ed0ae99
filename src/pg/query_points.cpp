#include "pg/query_points.hpp"

#include "core/relational/join_rows.hpp"
#include "core/relational/join_sample.hpp"
#include "pg/bridge/feature_type.hpp"
#include "pg/bridge/source.hpp"
#include "pg/bridge/values.hpp"

namespace btml::pg {

using relational::DataColumn;
using relational::RowId;

namespace {

// Returns where each row of the join is in the table of a column; null where they are the same.
const RowId* row_ids(const relational::JoinRows& rows, const ColumnPlace& place) {
    const Buffer<RowId>& ids = rows.row_ids[place.table];
    return ids.empty() ? nullptr : ids.data();
}

const DataColumn& column_at(const relational::Join& join, const ColumnPlace& place) {
    return join.tables()[place.table].columns[place.column];
}

std::vector<ColumnRequest> requests_for(const Source& source, const std::vector<Feature>& features) {
    std::vector<ColumnRequest> requests;
    for (const Feature& feature : features) {
        const int column = source.column(feature.name);
        require_feature_type(feature, source.columns()[column].type, "the points");
        requests.push_back({column, feature.categorical ? ReadAs::category : ReadAs::number});
    }
    return requests;
}

// The column's code of each category as the feature has it, or −1.
std::vector<double> codes_of(const DataColumn& column, const Feature& feature) {
    static constexpr double unseen = -1;
    std::vector<double> codes;
    for (const std::string& label : column.categories) {
        const auto found = std::lower_bound(feature.categories.begin(), feature.categories.end(), label);
        const bool seen = found != feature.categories.end() && *found == label;
        codes.push_back(seen ? static_cast<double>(found - feature.categories.begin()) : unseen);
    }
    return codes;
}

int number_column(const Source& source, const std::string& name) {
    const int column = source.column(name);
    const Oid type = source.columns()[column].type;
    if (!is_plain_number(pg_call([=] { return number_kind(type); })))
        throw Error(ErrorCode::wrong_type,
                    format("column \"%s\" is of type %s, not a number", name.c_str(), type_name(type)));
    return column;
}

int boolean_column(const Source& source, const std::string& name) {
    const int column = source.column(name);
    const Oid type = source.columns()[column].type;
    if (type != BOOLOID)
        throw Error(ErrorCode::wrong_type,
                    format("holdout \"%s\" is of type %s, not boolean", name.c_str(), type_name(type)));
    return column;
}

// Leaves out rows without the column's value.
void keep_given(relational::Join& join, const ColumnPlace& place, RunContext& context) {
    const auto is_given = [&](RowId row) {
        const DataColumn& column = column_at(join, place);
        return column.kind == DataColumn::Kind::number ? !is_null(column.numbers[row])
                                                       : column.codes[row] != DataColumn::null_code;
    };
    join.filter(place.table, is_given, context);
}

// Leaves out rows where the column is false or NULL.
void keep_true(relational::Join& join, const ColumnPlace& place, RunContext& context) {
    const auto is_true = [&](RowId row) { return column_at(join, place).numbers[row] == 1; };
    join.filter(place.table, is_true, context);
}

} // namespace

QueryPoints::QueryPoints(const std::string& text, const std::vector<Feature>& features, RunContext& context)
    : width_(features.size()), values_(context.memory(), "points"), numbers_(context.memory(), "points") {
    const Source source(text);
    const std::vector<Source::Column>& columns = source.columns();
    has_ids_ = std::any_of(columns.begin(), columns.end(), [](const auto& column) { return column.name == "id"; });
    PointRequest request;
    if (has_ids_) request.texts.emplace_back("id");
    read(source, features, request, context);
}

QueryPoints::QueryPoints(const std::string& text, const std::vector<Feature>& features, const PointRequest& request,
                         RunContext& context)
    : width_(features.size()), values_(context.memory(), "points"), numbers_(context.memory(), "points") {
    read(Source(text), features, request, context);
}

void QueryPoints::read(const Source& source, const std::vector<Feature>& features, const PointRequest& request,
                       RunContext& context) {
    std::vector<ColumnRequest> requests = requests_for(source, features);
    for (const std::string& column : request.texts) requests.push_back({source.column(column), ReadAs::category});
    const size_t number_place = requests.size();
    if (request.number) requests.push_back({number_column(source, *request.number), ReadAs::number});
    if (request.holdout) requests.push_back({boolean_column(source, *request.holdout), ReadAs::number});
    LoadedSource loaded = source.read(requests, context, request.sample ? RowContents::read : RowContents::unread);
    relational::Join join(std::move(loaded.tables), std::move(loaded.left_joins), context);
    if (request.is_given) keep_given(join, loaded.places[request.number ? number_place : width_], context);
    if (request.holdout) keep_true(join, loaded.places.back(), context);
    relational::JoinRows rows;
    if (request.sample) {
        relational::JoinSampler sampler(join, {}, context);
        source_rows_ = sampler.count();
        rows = sampler.draw(request.sample->rows, request.sample->seed, 0);
    } else {
        rows = relational::enumerate(join, context);
        source_rows_ = rows.rows;
    }
    rows_ = rows.rows;
    values_.resize(rows_ * width_);
    for (size_t f = 0; f < width_; f++) {
        const DataColumn& column = column_at(join, loaded.places[f]);
        const RowId* const ids = row_ids(rows, loaded.places[f]);
        const std::vector<double> codes = codes_of(column, features[f]);
        context.for_each(rows_, 1, [&](uint64_t row) {
            const uint64_t at = ids ? ids[row] : row;
            double& value = values_[row * width_ + f];
            if (!features[f].categorical)
                value = column.numbers[at];
            else
                value = column.codes[at] == DataColumn::null_code ? null_number : codes[column.codes[at]];
        });
    }
    for (size_t i = 0; i < request.texts.size(); i++) {
        const ColumnPlace& place = loaded.places[width_ + i];
        const RowId* const ids = row_ids(rows, place);
        PointTexts& texts = texts_.emplace_back(context);
        texts.codes_.resize(rows_);
        texts.texts_ = column_at(join, place).categories;
        const Buffer<uint32_t>& codes = column_at(join, place).codes;
        context.for_each(rows_, 1, [&](uint64_t row) { texts.codes_[row] = codes[ids ? ids[row] : row]; });
    }
    if (!request.number) return;
    const ColumnPlace& place = loaded.places[number_place];
    const RowId* const ids = row_ids(rows, place);
    numbers_.resize(rows_);
    const Buffer<double>& numbers = column_at(join, place).numbers;
    context.for_each(rows_, 1, [&](uint64_t row) { numbers_[row] = numbers[ids ? ids[row] : row]; });
}

std::optional<std::string> QueryPoints::id(uint64_t row) const {
    if (!has_ids_) return std::to_string(row + 1);
    const std::optional<std::string_view> text = texts_[0][row];
    return text ? std::optional<std::string>(*text) : std::nullopt;
}

} // namespace btml::pg
