#include "pg/values/feature_type.hpp"

#include "pg/values/number_array.hpp"

extern "C" {
#include "access/transam.h"
}

namespace btml::pg {

namespace {

// Says what numbers of a type mean, so that a date is not taken for a count of days; nullptr where they mean nothing.
const char* meaning_of(NumberKind kind) {
    switch (kind) {
    case NumberKind::boolean:
        return "a boolean";
    case NumberKind::date:
    case NumberKind::timestamp:
    case NumberKind::timestamptz:
        return "a point in time";
    case NumberKind::time:
        return "a time of day";
    case NumberKind::interval:
        return "an interval";
    case NumberKind::none:
        return nullptr;
    default:
        return "a number";
    }
}

// Returns that of a type that is known by its name only; that of float8 for every plain number.
NumberKind kind_of_type(const std::string& type) {
    static constexpr std::pair<const char*, NumberKind> kinds[] = {
        {"boolean", NumberKind::boolean},
        {"date", NumberKind::date},
        {"timestamp without time zone", NumberKind::timestamp},
        {"timestamp with time zone", NumberKind::timestamptz},
        {"time without time zone", NumberKind::time},
        {"interval", NumberKind::interval}};
    for (const auto& [name, kind] : kinds)
        if (type == name) return kind;
    return NumberKind::float8;
}

const char* meaning_of(const std::string& type) {
    return meaning_of(kind_of_type(type));
}

// Returns one name for all types whose equal values have equal texts.
std::string label_family(const std::string& type) {
    return type == "smallint" || type == "bigint" ? "integer" : type;
}

// Values of these types are texts by themselves.
bool is_text(LabelKind kind) {
    return kind == LabelKind::text || kind == LabelKind::bpchar || kind == LabelKind::name;
}

bool is_text(const std::string& type) {
    return type == "text" || type == "character varying" || type == "character" || type == "name";
}

// A feature without a category takes any: there is none that it has seen.
bool takes_label(const Feature& feature, Oid type) {
    const LabelKind kind = pg_call([=] { return label_kind(type); });
    if (feature.categories.empty() || is_text(kind)) return true;
    if (kind == LabelKind::enumeration && is_text(feature.type)) return true;
    return label_family(stored_type_name(type)) == label_family(feature.type);
}

bool takes_number(const Feature& feature, Oid type) {
    const char* const meaning = meaning_of(pg_call([=] { return number_kind(type); }));
    return meaning && strcmp(meaning, meaning_of(feature.type)) == 0;
}

bool takes_array(Oid type) {
    return pg_call([=] { return array_rule(type, CurrentMemoryContext); }).reads();
}

std::string hint_for(const Feature& feature, Oid type) {
    if (feature.categorical)
        return "Pass the category as text" + (feature.type == "text" ? "." : " or as " + feature.type + ".");
    if (feature.element > 0) return "Pass an array of numbers.";
    if (meaning_of(feature.type) == std::string_view("a number")) return cast_hint(feature.name, type) + ".";
    return format("Pass %s.", meaning_of(feature.type));
}

} // namespace

std::string stored_type_name(Oid type) {
    return pg_call([=] {
        const Oid base = getBaseType(type);
        const char* const name = format_type_be_qualified(base);
        // Types of the server go by their bare names.
        static constexpr std::string_view catalog = "pg_catalog.";
        return base < FirstNormalObjectId && std::string_view(name).substr(0, catalog.size()) == catalog
                   ? name + catalog.size()
                   : name;
    });
}

void require_category_type(const char* what, const std::string& column, Oid type, Oid collation) {
    const CategoryFault fault = pg_call([=] { return category_fault(type, collation); });
    if (fault == CategoryFault::none) return;
    if (fault == CategoryFault::of_session)
        throw Error(
            ErrorCode::wrong_type,
            format("%s \"%s\" is of type %s, which is no category", what, column.c_str(), type_name(type)),
            "Its text depends on settings of the session.",
            format("Cast it to a number, as in \"%s\"::%s.", column.c_str(), type == MONEYOID ? "numeric" : "oid"));
    const char* const collation_name = pg_call([=] {
        return OidIsValid(collation) && !get_collation_isdeterministic(collation) ? get_collation_name(collation)
                                                                                  : nullptr;
    });
    if (collation_name)
        throw Error(ErrorCode::wrong_type,
                    format("%s \"%s\" has the nondeterministic collation \"%s\", categories need another", what,
                           column.c_str(), collation_name),
                    "Texts that it takes for equal would be two categories.",
                    format("Make equal texts the same, as in lower(\"%s\" COLLATE \"C\").", column.c_str()));
    throw Error(ErrorCode::wrong_type,
                format("%s \"%s\" is of type %s, which is no category", what, column.c_str(), type_name(type)),
                "Values that the type takes for equal may have different texts.",
                format("Cast it to text, as in \"%s\"::text, and make equal values the same.", column.c_str()));
}

void require_feature_type(const Feature& feature, Oid type, const char* owner) {
    if (feature.categorical   ? takes_label(feature, type)
        : feature.element > 0 ? takes_array(type)
                              : takes_number(feature, type))
        return;
    throw Error(ErrorCode::wrong_type,
                format("column \"%s\" of %s has type %s, the model's feature has type %s",
                       std::string(feature.column()).c_str(), owner, type_name(type), feature.type.c_str()),
                "", hint_for(feature, type));
}

PGFunction time_cast(const Feature& feature, Oid type) {
    const NumberKind kind = pg_call([=] { return number_kind(type); });
    return time_cast(kind, kind_of_type(feature.type));
}

} // namespace btml::pg
