#include "pg/planner/factorized_plan.hpp"

#include "pg/bridge/settings.hpp"

namespace btml::pg::planner {

using relational::CellKind;
using relational::StreamedPlan;

namespace {

void put(Writer& writer, const ColumnReading& column) {
    writer.put(static_cast<uint8_t>(column.reading));
    writer.put(column.position);
    writer.put(column.dictionary);
    writer.put(column.type);
    writer.put(static_cast<uint8_t>(column.derived.operation));
    writer.put(column.derived.left);
    writer.put(column.derived.right);
}

Reading get_reading(Reader& reader) {
    const auto reading = reader.get<uint8_t>();
    if (reading > static_cast<uint8_t>(Reading::derived)) corrupt_model("An unknown way to read a column.");
    return static_cast<Reading>(reading);
}

ColumnReading get_column(Reader& reader) {
    ColumnReading column;
    column.reading = get_reading(reader);
    column.position = reader.get<int>();
    column.dictionary = reader.get<int>();
    column.type = reader.get<Oid>();
    column.derived.operation = static_cast<Operation>(reader.get<uint8_t>());
    column.derived.left = reader.get<int>();
    column.derived.right = reader.get<int>();
    return column;
}

template <class T, class Put>
void put_all(Writer& writer, const std::vector<T>& values, const Put& put_one) {
    writer.put_count(values.size());
    for (const T& value : values) put_one(value);
}

template <class Get>
auto get_all(Reader& reader, const Get& get_one) {
    std::vector<decltype(get_one())> values(reader.get_count(1));
    for (auto& value : values) value = get_one();
    return values;
}

} // namespace

void FactorizedPlan::write(Writer& writer) const {
    streamed.write(writer);
    put_all(writer, readings, [&](const std::vector<ColumnReading>& columns) {
        put_all(writer, columns, [&](const ColumnReading& column) { put(writer, column); });
    });
    put_all(writer, scans, [&](int scan) { writer.put(scan); });
    put_all(writer, dictionaries, [&](const KeyType& type) {
        writer.put(static_cast<uint8_t>(type.kind));
        writer.put(type.type);
        writer.put(type.collation);
    });
    put_all(writer, groups, [&](const GroupOutput& group) {
        writer.put(group.column);
        put(writer, {group.reading, 0, group.dictionary, group.type, {Operation::cast, -1, -1}});
    });
    put_all(writer, aggregates, [&](const AggregateOutput& aggregate) {
        writer.put(static_cast<uint8_t>(aggregate.function));
        writer.put(static_cast<uint8_t>(aggregate.cell));
        writer.put(aggregate.type);
        put_all(writer, aggregate.terms, [&](const SummedQuery& term) {
            writer.put(term.query);
            writer.put(term.negative);
        });
        writer.put(aggregate.squares);
        writer.put(aggregate.count);
    });
    put_all(writer, sums, [&](const MeasuredSum& sum) {
        writer.put(sum.type);
        put_all(writer, sum.products, [&](const std::vector<std::pair<int, int>>& product) {
            put_all(writer, product, [&](const std::pair<int, int>& column) {
                writer.put(column.first);
                writer.put(column.second);
            });
        });
    });
}

// The bytes come from the planner of this backend or of its leader: only their form is checked.
FactorizedPlan FactorizedPlan::read(Reader& reader) {
    FactorizedPlan plan;
    plan.streamed = StreamedPlan::read(reader);
    plan.readings = get_all(reader, [&] { return get_all(reader, [&] { return get_column(reader); }); });
    plan.scans = get_all(reader, [&] { return reader.get<int>(); });
    plan.dictionaries = get_all(reader, [&] {
        KeyType type;
        type.kind = static_cast<KeyKind>(reader.get<uint8_t>());
        type.type = reader.get<Oid>();
        type.collation = reader.get<Oid>();
        return type;
    });
    plan.groups = get_all(reader, [&] {
        const int column = reader.get<int>();
        const ColumnReading reading = get_column(reader);
        return GroupOutput{column, reading.reading, reading.dictionary, reading.type};
    });
    plan.aggregates = get_all(reader, [&] {
        AggregateOutput aggregate;
        aggregate.function = static_cast<AggregateFunction>(reader.get<uint8_t>());
        aggregate.cell = static_cast<CellKind>(reader.get<uint8_t>());
        aggregate.type = reader.get<Oid>();
        aggregate.terms = get_all(reader, [&] {
            const int query = reader.get<int>();
            return SummedQuery{query, reader.get_bool()};
        });
        aggregate.squares = reader.get<int>();
        aggregate.count = reader.get<int>();
        return aggregate;
    });
    plan.sums = get_all(reader, [&] {
        MeasuredSum sum;
        sum.type = reader.get<Oid>();
        sum.products = get_all(reader, [&] {
            return get_all(reader, [&] {
                const int table = reader.get<int>();
                return std::pair<int, int>(table, reader.get<int>());
            });
        });
        return sum;
    });
    return plan;
}

double message_memory() {
    return std::min(static_cast<double>(get_hash_memory_limit()), static_cast<double>(memory_limit_bytes()) / 2);
}

const char* message_memory_setting() {
    return message_memory() < static_cast<double>(get_hash_memory_limit()) ? "half of btml.memory_limit"
                                                                           : "work_mem times hash_mem_multiplier";
}

} // namespace btml::pg::planner
