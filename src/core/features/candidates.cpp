#include "core/features/candidates.hpp"

#include "core/features/found_relations.hpp"

#include <algorithm>

namespace btml::features {

namespace {

// Texts with more values than these are names of things rather than kinds.
constexpr uint64_t max_kinds = 255;

// "30d" of "30 days".
std::string window_label(const std::string& window) {
    std::string label;
    for (size_t i = 0; i < window.size(); i++) {
        const char c = window[i];
        if (c == ' ') continue;
        const bool is_letter = c >= 'a' && c <= 'z', begins = i == 0 || window[i - 1] < 'a' || window[i - 1] > 'z';
        if (!is_letter)
            label += c == '.' || c == ':' ? '_' : c;
        else if (begins)
            label += window.substr(i, 3) == "mon" ? "mon" : window.substr(i, 3) == "min" ? "min" : std::string(1, c);
    }
    return label;
}

std::string plain(std::string_view text) {
    std::string name;
    for (const char c : text) {
        const bool is_kept = std::isalnum(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80;
        name += is_kept ? c : '_';
    }
    return name;
}

class CandidateSearch {
  public:
    CandidateSearch(const CandidateRequest& request, PlanRemarks& remarks)
        : request_(request), remarks_(remarks), relations_(request, plan_, remarks) {
        plan_.as_of = request.as_of;
        plan_.inclusive = request.inclusive;
        for (const SourceColumn& column : request.source) feature_names_.take(column.name);
    }

    Plan run() {
        const bool is_named = std::any_of(request_.relations.begin(), request_.relations.end(),
                                          [](const RelationRequest& relation) { return relation.table >= 0; });
        is_named ? add_named_relations(relations_) : follow_foreign_keys(relations_);
        for (int i = 0; i < relations_.count(); i++) {
            const size_t before = plan_.features.size();
            add_features(i);
            if (plan_.features.size() > before && counts_whole(i))
                remarks_.timeless.push_back({{plan_.at(i).name}, relations_.table_of(i).times()});
        }
        try {
            plan_.check();
        } catch (const Error& error) {
            throw Error(error.code(), "relations do not go together", error.detail());
        }
        return std::move(plan_);
    }

  private:
    // Says whether rows count whatever their time is, and nobody wants it so.
    bool counts_whole(int relation) const {
        const RelationRequest* const asked = relations_.request_for(plan_.at(relation).name);
        if (plan_.as_of.empty() || (asked && asked->time == "")) return false;
        return plan_.rows_of(relation) == relation ? !plan_.has_time(relation) : plan_.at(relation).time.empty();
    }

    void add_features(int relation) {
        const Relation& of = plan_.at(relation);
        const int rows = plan_.rows_of(relation);
        if (relation == rows) add_each(feature_of(relation, "", ColumnType::number));
        for (const TableColumn& column : relations_.table_of(relation).columns) {
            if (!column.type || has_column(of.key, column.name) || !is_wanted(relation, column.name)) continue;
            if (rows == source_number)
                add_value(relation, column);
            else if (column.type != ColumnType::time && column.name != of.time)
                add_of_column(relation, column);
        }
    }

    void add_value(int relation, const TableColumn& column) {
        if (column.of_key) return;
        // What a time with a zone and one without are apart depends on the session's TimeZone.
        if (column.type == ColumnType::time && !request_.as_of.empty() &&
            !go_together(column.time_type, request_.as_of_type))
            return;
        if (column.type == ColumnType::text && texts_of(relation, column.name).distinct > max_kinds) return;
        Definition feature = feature_of(relation, column.name, *column.type);
        add_feature(feature);
        if (column.type != ColumnType::number) return;
        const NumberValues numbers = numbers_of(relation);
        if (numbers.years.contains(column.name) && !request_.as_of.empty()) {
            feature.aggregate = Aggregate::years_since;
            add_feature(feature);
        }
        feature.aggregate = Aggregate::value;
        feature.total = total_of(feature);
        if (!feature.total.empty()) add_feature(feature);
    }

    static Definition feature_of(int relation, const std::string& column, ColumnType type) {
        return {.name = {}, .relation = relation, .aggregate = Aggregate::value, .column = column, .type = type};
    }

    TextValues texts_of(int relation, const std::string& column) const {
        return request_.texts(relations_.at(relation).table, column, plan_.at(relation).time);
    }
    NumberValues numbers_of(int relation) const {
        return request_.numbers(relations_.at(relation).table, plan_.at(relation).time);
    }

    // The column that a number is a part of, of those that features are made of; empty: none.
    std::string total_of(const Definition& feature) const {
        const std::vector<TableColumn>& columns = relations_.table_of(feature.relation).columns;
        const auto is_number = [](const TableColumn& column) {
            return column.type == ColumnType::number && !column.of_key;
        };
        if (std::count_if(columns.begin(), columns.end(), is_number) < 2) return {}; // no need to read the table
        const NumberValues numbers = numbers_of(feature.relation);
        const auto totals = numbers.totals.find(feature.column);
        if (totals == numbers.totals.end()) return {};
        const auto total = std::find_if(totals->second.begin(), totals->second.end(), [&](const std::string& column) {
            return is_wanted(feature.relation, column) && !has_column(plan_.at(feature.relation).key, column);
        });
        return total == totals->second.end() ? std::string() : *total;
    }

    bool is_wanted(int relation, const std::string& column) const {
        const std::optional<std::vector<std::string>>& wanted = relations_.at(relation).columns;
        return !wanted || std::find(wanted->begin(), wanted->end(), column) != wanted->end();
    }

    void add_of_column(int relation, const TableColumn& column) {
        if (is_unique(relations_.table_of(relation), {{column.name, {}}})) return; // as many as rows
        if (column.of_key) return add_of_key(relation, column);
        const Definition feature = feature_of(relation, column.name, *column.type);
        if (column.type == ColumnType::number) return add_of_number(feature);
        if (column.type != ColumnType::text) return add_each(feature);
        const TextValues values = texts_of(relation, column.name);
        if (values.most_frequent.empty()) return; // no text of use is there twice
        if (values.distinct > max_kinds) return add_each(feature, {Aggregate::distinct});
        add_each(feature, {}, values.most_frequent);
    }

    void add_of_number(Definition feature) {
        add_each(feature);
        if (plan_.rows_of(feature.relation) != feature.relation) return;
        feature.relative =
            !plan_.at(feature.relation).time.empty() && numbers_of(feature.relation).relative.contains(feature.column);
        if (feature.relative) add_each(feature);
        feature.relative = false;
        feature.total = total_of(feature);
        if (feature.total.empty()) return;
        add_each(feature, {Aggregate::mean, Aggregate::sum, Aggregate::max, Aggregate::last});
    }

    // What tells things apart is counted; of few things the last one is a kind.
    void add_of_key(int relation, const TableColumn& column) {
        add_each(feature_of(relation, column.name, *column.type), {Aggregate::distinct});
        if (column.type == ColumnType::time || texts_of(relation, column.name).distinct > max_kinds) return;
        add_each(feature_of(relation, column.name, ColumnType::text), {Aggregate::last});
    }

    // Adds features of a column, or of rows, in all windows. only: none for all that its type allows.
    void add_each(Definition feature, const std::vector<Aggregate>& only = {},
                  const std::vector<std::string>& most_frequent = {}) {
        for (size_t i = 0; i < std::size(aggregates); i++) {
            feature.aggregate = static_cast<Aggregate>(i);
            const AggregateFacts& facts = facts_of(feature.aggregate);
            const bool is_taken =
                feature.column.empty() ? facts.types == 0 : (facts.types & type_bit(feature.type)) != 0;
            if (!is_taken || is_of_one_row(feature.aggregate)) continue;
            if (!only.empty() && std::find(only.begin(), only.end(), feature.aggregate) == only.end()) continue;
            if (only.empty() && feature.aggregate == Aggregate::distinct && feature.type == ColumnType::number)
                continue;
            for (const std::string& value : compared_with(feature.aggregate, feature.type, most_frequent)) {
                feature.value = value;
                add_windows(feature);
            }
        }
    }

    // The values that an aggregate is taken for; "" where it compares with none.
    static std::vector<std::string> compared_with(Aggregate aggregate, ColumnType type,
                                                  const std::vector<std::string>& most_frequent) {
        const bool compares = aggregate == Aggregate::share || aggregate == Aggregate::matches;
        if (compares && type == ColumnType::text) return most_frequent;
        if (aggregate == Aggregate::matches) return {"true", "false"};
        return {""};
    }

    void add_windows(const Definition& feature) {
        const AggregateFacts& facts = facts_of(feature.aggregate);
        const bool has_time = plan_.has_time(plan_.rows_of(feature.relation));
        const bool of_now = feature.aggregate == Aggregate::since_first || feature.aggregate == Aggregate::since_last;
        if ((facts.timed && !has_time) || (of_now && plan_.as_of.empty())) return;
        if (!facts.windowed || !has_time || plan_.as_of.empty()) return add_feature(feature);
        for (const std::string& window : request_.windows) {
            Definition of_window = feature;
            of_window.window = window;
            add_feature(of_window);
        }
    }

    void add_feature(Definition feature) {
        std::string end;
        if (!feature.column.empty()) end += "_" + feature.column;
        if (!feature.total.empty()) end += "_per_" + feature.total;
        if (feature.relative) end += "_relative";
        if (feature.aggregate != Aggregate::value) end += std::string("_") + facts_of(feature.aggregate).name;
        if (!feature.value.empty()) end += "_" + plain(feature.value);
        const std::string label = feature.window.empty() ? "" : "_" + window_label(feature.window);
        // A long name keeps a third for its relation, and its window.
        const size_t left =
            std::max(max_name_bytes / 3, max_name_bytes - std::min(max_name_bytes, end.size() + label.size()));
        const std::string name = cut(cut(plan_.at(feature.relation).name, left) + end, max_name_bytes - label.size());
        feature.name = feature_names_.take(name + label);
        plan_.features.push_back(std::move(feature));
    }

    const CandidateRequest& request_;
    PlanRemarks& remarks_;
    Plan plan_;
    FoundRelations relations_;
    Names feature_names_;
};

} // namespace

const TableColumn* CatalogueTable::find(std::string_view column) const {
    const auto found =
        std::find_if(columns.begin(), columns.end(), [&](const TableColumn& known) { return known.name == column; });
    return found == columns.end() ? nullptr : &*found;
}

std::vector<std::string> CatalogueTable::times() const {
    std::vector<std::string> names;
    for (const TableColumn& column : columns)
        if (column.type == ColumnType::time) names.push_back(column.name);
    return names;
}

Plan candidate_plan(const CandidateRequest& request, PlanRemarks& remarks) {
    return CandidateSearch(request, remarks).run();
}

} // namespace btml::features
