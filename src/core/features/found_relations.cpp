#include "core/features/found_relations.hpp"

#include <algorithm>

namespace btml::features {

std::string Names::take(const std::string& wanted) {
    std::string name = cut(wanted, max_name_bytes);
    for (int i = 2; !used_.insert(name).second; i++) {
        const std::string suffix = format("_%d", i);
        name = cut(wanted, max_name_bytes - suffix.size()) + suffix;
    }
    return name;
}

std::string cut(std::string name, size_t bytes) {
    if (name.size() <= bytes) return name;
    while (bytes > 0 && (static_cast<unsigned char>(name[bytes]) & 0xC0U) == 0x80U) bytes--;
    name.resize(bytes);
    return name;
}

FoundRelations::FoundRelations(const CandidateRequest& request, Plan& plan, PlanRemarks& remarks)
    : request_(request), plan_(plan), remarks_(remarks) {
    for (const char* const taken : {"source", "prediction", "usual"}) names_.take(taken);
}

const RelationRequest* FoundRelations::request_for(const std::string& name) const {
    for (const RelationRequest& relation : request_.relations)
        if (relation.name == name) return &relation;
    return nullptr;
}

FoundRelations::TimeFault FoundRelations::set_time(const CatalogueTable& of, const std::optional<std::string>& named,
                                                   Relation& relation) const {
    const TableColumn* time = nullptr;
    size_t times = 0;
    for (const TableColumn& column : of.columns)
        if (column.type == ColumnType::time) time = &column, times++;
    if (named) {
        time = named->empty() ? nullptr : of.find(*named);
        if (!time && !named->empty()) refuse_column(of, relation.name, *named);
        if (time && time->type != ColumnType::time)
            throw Error(ErrorCode::wrong_type, format("time \"%s\" of relation \"%s\" is no date or timestamp",
                                                      named->c_str(), relation.name.c_str()));
    } else if (of.has_unread_time && (!relation.unique || times == 0))
        return TimeFault::unread;
    else if (times > 1 && !relation.unique)
        return TimeFault::many_times;
    else if (times > 1)
        time = nullptr;
    if (!time) return TimeFault::none;
    relation.time = time->name;
    relation.time_type = time->time_type;
    const bool is_other = !request_.as_of.empty() && !go_together(time->time_type, request_.as_of_type);
    return is_other ? TimeFault::other_zone : TimeFault::none;
}

void FoundRelations::add(Relation relation, FoundRelation found) {
    const CatalogueTable& of = table(found.table);
    relation.schema = of.schema;
    relation.table = of.name;
    plan_.relations.push_back(std::move(relation));
    found_.push_back(std::move(found));
}

void refuse_column(const CatalogueTable& of, const std::string& relation, const std::string& column) {
    std::vector<std::string> names;
    for (const TableColumn& known : of.columns) names.push_back(known.name);
    const std::string nearest = nearest_name(column, names);
    throw Error(ErrorCode::undefined_column,
                format("relation \"%s\" has no column \"%s\" that you may read", relation.c_str(), column.c_str()), "",
                nearest.empty() ? "" : format("Perhaps you meant \"%s\".", nearest.c_str()));
}

void require_columns(const CatalogueTable& of, const std::string& relation,
                     const std::optional<std::vector<std::string>>& columns) {
    if (!columns) return;
    for (const std::string& column : *columns)
        if (!of.find(column)) refuse_column(of, relation, column);
}

bool is_unique(const CatalogueTable& of, const std::vector<KeyPair>& key) {
    return std::any_of(of.unique_keys.begin(), of.unique_keys.end(), [&](const std::vector<std::string>& columns) {
        return std::all_of(columns.begin(), columns.end(),
                           [&](const std::string& column) { return has_column(key, column); });
    });
}

bool has_column(const std::vector<KeyPair>& key, std::string_view column) {
    return std::any_of(key.begin(), key.end(), [&](const KeyPair& pair) { return pair.column == column; });
}

void add_once(std::vector<std::string>& list, const std::string& name) {
    if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
}

} // namespace btml::features
