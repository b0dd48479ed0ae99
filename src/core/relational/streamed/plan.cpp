#include "core/relational/streamed/plan.hpp"

#include "core/relational/streamed/plan_check.hpp"

#include <algorithm>

namespace btml::relational {

namespace {

constexpr size_t int_bytes = sizeof(int32_t);

void write_ints(Writer& writer, const std::vector<int>& values) {
    writer.put_count(values.size());
    for (int value : values) writer.put(static_cast<int32_t>(value));
}

std::vector<int> read_ints(Reader& reader) {
    std::vector<int> values(reader.get_count(int_bytes));
    reader.hold(values.size() * sizeof(int));
    for (int& value : values) value = reader.get<int32_t>();
    return values;
}

// The elements of a list, each of min_bytes at least, read by read_element().
template <class T, class ReadElement>
std::vector<T> read_list(Reader& reader, size_t min_bytes, const ReadElement& read_element) {
    const size_t count = reader.get_count(min_bytes);
    reader.hold(count * sizeof(T));
    std::vector<T> list;
    list.reserve(count);
    for (size_t i = 0; i < count; i++) list.push_back(read_element());
    return list;
}

template <class Enumeration>
Enumeration read_enumeration(Reader& reader, Enumeration last, const char* of_what) {
    const auto value = reader.get<uint8_t>();
    if (value > static_cast<uint8_t>(last)) corrupt_model(format("The %s %d is none.", of_what, value));
    return static_cast<Enumeration>(value);
}

void write_query(Writer& writer, const StreamedQuery& query) {
    writer.put(static_cast<uint8_t>(query.kind));
    write_ints(writer, query.factors);
    write_ints(writer, query.present);
    write_ints(writer, query.conditions);
    write_ints(writer, query.children);
}

StreamedQuery read_query(Reader& reader) {
    StreamedQuery query;
    query.kind = read_enumeration(reader, CellKind::decimal_max_product, "kind of a query");
    query.factors = read_ints(reader);
    query.present = read_ints(reader);
    query.conditions = read_ints(reader);
    query.children = read_ints(reader);
    return query;
}

StreamedChild read_child(Reader& reader) {
    StreamedChild child;
    child.table = reader.get<int32_t>();
    child.join = read_enumeration(reader, StreamedJoin::anti, "kind of a join");
    child.key = read_ints(reader);
    return child;
}

void write_table(Writer& writer, const StreamedTable& table) {
    writer.put_count(table.columns.size());
    for (StreamedType type : table.columns) writer.put(static_cast<uint8_t>(type));
    write_ints(writer, table.key);
    write_ints(writer, table.groups);
    writer.put_count(table.children.size());
    for (const StreamedChild& child : table.children) {
        writer.put(static_cast<int32_t>(child.table));
        writer.put(static_cast<uint8_t>(child.join));
        write_ints(writer, child.key);
    }
    writer.put_count(table.queries.size());
    for (const StreamedQuery& query : table.queries) write_query(writer, query);
    write_ints(writer, table.measured);
    writer.put(table.held);
}

StreamedTable read_table(Reader& reader) {
    StreamedTable table;
    table.columns = read_list<StreamedType>(
        reader, 1, [&] { return read_enumeration(reader, StreamedType::decimal, "type of a column"); });
    table.key = read_ints(reader);
    table.groups = read_ints(reader);
    table.children = read_list<StreamedChild>(reader, 2 * int_bytes + 1, [&] { return read_child(reader); });
    table.queries = read_list<StreamedQuery>(reader, 4 * int_bytes + 1, [&] { return read_query(reader); });
    table.measured = read_ints(reader);
    table.held = reader.get_bool();
    return table;
}

std::pair<int, int> read_pair(Reader& reader) {
    const int first = reader.get<int32_t>();
    return {first, reader.get<int32_t>()};
}

} // namespace

bool StreamedPlan::is_bag(int table) const {
    return std::any_of(bags.begin(), bags.end(), [=](const StreamedBag& bag) { return bag.table == table; });
}

size_t StreamedPlan::message_groups(int table) const {
    size_t groups = tables[table].groups.size();
    for (const StreamedChild& child : tables[table].children)
        if (multiplies(child.join)) groups += message_groups(child.table);
    return groups;
}

void StreamedPlan::write(Writer& writer) const {
    writer.put_count(tables.size());
    for (const StreamedTable& table : tables) write_table(writer, table);
    writer.put_count(bags.size());
    for (const StreamedBag& bag : bags) {
        writer.put(static_cast<int32_t>(bag.table));
        write_ints(writer, bag.attributes);
    }
    writer.put_count(attributes.size());
    for (const auto& pairs : attributes) {
        writer.put_count(pairs.size());
        for (const auto& [column, attribute] : pairs) {
            writer.put(static_cast<int32_t>(column));
            writer.put(static_cast<int32_t>(attribute));
        }
    }
}

StreamedPlan StreamedPlan::read(Reader& reader) {
    StreamedPlan plan;
    plan.tables = read_list<StreamedTable>(reader, 6 * int_bytes + 1, [&] { return read_table(reader); });
    plan.bags = read_list<StreamedBag>(reader, 2 * int_bytes, [&] {
        const int table = reader.get<int32_t>();
        return StreamedBag{table, read_ints(reader)};
    });
    plan.attributes = read_list<std::vector<std::pair<int, int>>>(reader, int_bytes, [&] {
        return read_list<std::pair<int, int>>(reader, 2 * int_bytes, [&] { return read_pair(reader); });
    });
    if (const char* flaw = flaw_of(plan)) corrupt_model(format("Its plan of a streamed join is none: %s.", flaw));
    return plan;
}

} // namespace btml::relational
