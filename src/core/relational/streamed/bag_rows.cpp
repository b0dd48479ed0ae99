#include "core/relational/streamed/bag_rows.hpp"

#include "core/relational/streamed/cells.hpp"

#include <algorithm>

namespace btml::relational {

namespace {

constexpr const char* what = "the keys of a cyclic join";
constexpr uint64_t min_chunk_rows = 256, max_chunks = 256;

// Puts tuples into batches.
class BatchFiller {
  public:
    BatchFiller(const std::vector<const Buffer<int64_t>*>& words, MemoryBudget& memory,
                const std::function<void(RowBatch&)>& body)
        : words_(words), batch_(std::vector<StreamedType>(words.size(), StreamedType::integer), memory), body_(body) {}

    // places[i]: the place in the tuple of column i.
    void put(const std::vector<Key>& values, const std::vector<size_t>& places) {
        for (size_t c = 0; c < places.size(); c++)
            batch_.columns()[c].words[batch_.rows] = (*words_[c])[values[places[c]]];
        if (++batch_.rows == RowBatch::max_rows) flush();
    }
    void flush() {
        if (batch_.rows > 0) body_(batch_);
        batch_.rows = 0;
    }

  private:
    const std::vector<const Buffer<int64_t>*>& words_; // by column: of each key
    RowBatch batch_;
    const std::function<void(RowBatch&)>& body_;
};

} // namespace

BagRows::BagRows(const StreamedPlan& plan, RunContext& context)
    : plan_(plan), context_(context), blocks_(context, "joining a cycle", 0), tables_(plan.tables.size()) {}

void BagRows::add_table(int number, const HeldRows& rows) {
    if (rows.rows() > max_rows) refuse("a cyclic join of more than 2^32 rows");
    Table& table = tables_[number];
    table.rows = rows.rows();
    for (const auto& [column, attribute] : plan_.attributes[number]) {
        IntegerDictionary& dictionary = dictionaries_.try_emplace(attribute, context_.memory()).first->second;
        Buffer<Key> keys(context_.memory(), what, rows.rows());
        const int64_t* const words = rows.words(column).data();
        const uint8_t* const nulls = rows.nulls(column).data();
        blocks_.for_each(rows.rows(), [&](uint64_t row) {
            keys[row] = nulls[row] != 0 ? null_key : static_cast<Key>(dictionary.number(words[row]));
        });
        table.keys.push_back({attribute, std::move(keys)});
    }
}

void BagRows::clear() {
    tables_.clear();
    dictionaries_.clear();
}

std::vector<int> BagRows::attributes_in(int table, const std::vector<int>& order) const {
    std::vector<int> part;
    for (int attribute : order)
        for (const auto& [column, of_column] : plan_.attributes[table])
            if (of_column == attribute) part.push_back(attribute);
    return part;
}

std::vector<int> BagRows::tables_of(const StreamedBag& bag) const {
    std::vector<int> tables;
    for (size_t t = 0; t < plan_.tables.size(); t++)
        if (!attributes_in(static_cast<int>(t), bag.attributes).empty()) tables.push_back(static_cast<int>(t));
    return tables;
}

BagJoin BagRows::join_of(const StreamedBag& bag) {
    const std::vector<int> tables = tables_of(bag);
    std::vector<std::vector<int>> parts;
    for (int table : tables) parts.push_back(attributes_in(table, bag.attributes));
    std::vector<int> order = attribute_order(parts);
    std::vector<SortedRelation> relations;
    for (int table : tables) {
        const RowMask all(context_.memory(), what, tables_[table].rows, uint8_t{1});
        relations.push_back(project(tables_[table], all, attributes_in(table, order), context_.memory(), blocks_));
    }
    std::vector<const Buffer<int64_t>*> words;
    for (int attribute : bag.attributes) words.push_back(&dictionaries_.at(attribute).values());
    return {bag, std::move(order), std::move(relations), std::move(words)};
}

BagJoin::BagJoin(const StreamedBag& bag, std::vector<int> order, std::vector<SortedRelation> relations,
                 std::vector<const Buffer<int64_t>*> words)
    : order_(std::move(order)), relations_(std::move(relations)), words_(std::move(words)), bounds_{0} {
    for (int attribute : bag.attributes)
        places_.push_back(static_cast<size_t>(std::find(order_.begin(), order_.end(), attribute) - order_.begin()));
    // The rows of the largest relation with the first attribute are cut into pieces.
    const SortedRelation* largest = nullptr;
    for (const SortedRelation& relation : relations_)
        if (relation.attributes.front() == order_.front() && (!largest || relation.rows > largest->rows))
            largest = &relation;
    const uint64_t piece = std::max<uint64_t>(min_chunk_rows, largest->rows / max_chunks);
    for (uint64_t row = piece; row < largest->rows; row += piece)
        if (largest->columns.front()[row] > bounds_.back()) bounds_.push_back(largest->columns.front()[row]);
    bounds_.push_back(null_key); // which no key is
}

int BagJoin::first_column() const {
    return static_cast<int>(std::find(places_.begin(), places_.end(), size_t{0}) - places_.begin());
}

void BagJoin::join(size_t chunk, RunContext& context, MemoryBudget& memory, const Body& body) const {
    RowBlocks blocks(context, "joining a cycle", 0);
    BatchFiller filler(words_, memory, body);
    GenericJoin tuples(order_, relations_, blocks);
    tuples.restrict_first(bounds_[chunk], bounds_[chunk + 1]);
    tuples.for_each([&](const std::vector<Key>& values) { filler.put(values, places_); });
    filler.flush();
}

} // namespace btml::relational
