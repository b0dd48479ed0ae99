#include "core/relational/streamed/bag_rows.hpp"

#include "core/base/threads.hpp"
#include "core/base/worker_contexts.hpp"
#include "core/relational/streamed/cells.hpp"

#include <algorithm>

namespace btml::relational {

namespace {

constexpr const char* what_keys = "the keys of a cyclic join";
constexpr uint64_t min_chunk_rows = 256, max_chunks = 256;

} // namespace

// Puts tuples into batches, with what their rows meet.
class BagJoin::BatchFiller {
  public:
    BatchFiller(const BagJoin& join, MemoryBudget& memory, const Body& body)
        : join_(join),
          met_(join.known_.size()),
          known_(join.plan_.tables[join.bag_.table].children.size(), nullptr),
          batch_(std::vector<StreamedType>(join.words_.size(), StreamedType::integer), memory),
          body_(body) {
        for (size_t k = 0; k < met_.size(); k++) known_[join.known_[k].child] = met_[k].data();
    }

    void put(const JoinedTuples& tuples) {
        for (uint32_t begin = 0, end = 0; begin < tuples.count; begin = end) {
            end = begin + std::min(tuples.count - begin, RowBatch::max_rows - batch_.rows);
            for (size_t c : join_.columns_) {
                const JoinedTuples::Column& keys = tuples.values[join_.places_[c]];
                const int64_t* const words = join_.words_[c]->data();
                int64_t* to = batch_.columns()[c].words + batch_.rows;
                for (uint32_t i = begin; i < end; i++) *to++ = words[keys[i]];
            }
            for (size_t k = 0; k < met_.size(); k++) {
                const JoinedTuples::Column& rows = tuples.rows[join_.known_[k].relation];
                const uint32_t* const entries = join_.known_[k].entries.data();
                uint32_t* to = met_[k].data() + batch_.rows;
                for (uint32_t i = begin; i < end; i++) *to++ = entries[rows[i]];
            }
            if (join_.number_ >= 0) {
                uint32_t* to = numbers_.data() + batch_.rows;
                for (uint32_t i = begin; i < end; i++) *to++ = tuples.rows[join_.number_][i];
            }
            batch_.rows += end - begin;
            if (batch_.rows == RowBatch::max_rows) flush();
        }
    }
    void flush() {
        if (batch_.rows > 0) body_(batch_, known_, numbers_.data());
        batch_.rows = 0;
    }

  private:
    using OfBatch = std::array<uint32_t, RowBatch::max_rows>;

    const BagJoin& join_;
    std::vector<OfBatch> met_;           // by known child: the entries that rows meet
    std::vector<const uint32_t*> known_; // by child
    OfBatch numbers_;                    // of rows of the relation that numbers the message
    RowBatch batch_;
    const Body& body_;
};

BagRows::BagRows(const StreamedPlan& plan, RunContext& context)
    : plan_(plan), order_(plan), context_(context), tables_(plan.tables.size()) {}

void BagRows::add_table(int number, const HeldRows& rows) {
    Table& table = tables_[number];
    for (const std::unique_ptr<RowBatch>& batch : rows) table.rows += batch->rows;
    if (table.rows > max_rows) refuse("a cyclic join of more than 2^32 rows");
    for (const auto& [column, attribute] : plan_.attributes[number]) {
        IntegerDictionary& dictionary = dictionaries_.try_emplace(attribute, context_.memory()).first->second;
        Buffer<Key> keys(context_.memory(), what_keys, table.rows);
        Key* key = keys.data();
        for (const std::unique_ptr<RowBatch>& batch : rows) {
            const RowBatch::Column& from = batch->column(column);
            for (uint32_t row = 0; row < batch->rows; row++)
                *key++ = from.nulls[row] != 0 ? null_key : static_cast<Key>(dictionary.number(from.words[row]));
            context_.worked(batch->rows);
        }
        table.keys.push_back({attribute, std::move(keys)});
    }
}

void BagRows::clear() {
    numbered_.clear();
    tables_.clear();
    dictionaries_.clear();
}

uint64_t BagRows::number(int child) {
    const BagOrder::NumberedEdge& edge = order_.numbered(child);
    Buffer<RowId> numbers(context_.memory(), what_keys);
    SortedRelation relation = sorted_relation(*edge.bag, edge.table, context_, &numbers);
    const uint64_t count = relation.rows;
    numbered_.insert_or_assign(child, std::pair(std::move(relation), std::move(numbers)));
    return count;
}

SortedRelation BagRows::sorted_relation(const StreamedBag& bag, int table, RunContext& context,
                                        Buffer<RowId>* numbers) const {
    const RowMask all(context.memory(), what_keys, tables_[table].rows, uint8_t{1});
    return project(tables_[table], all, order_.attributes_in(table, order_.attributes(bag)), context, numbers);
}

BagJoin BagRows::join_of(const StreamedBag& bag) {
    const std::vector<int> tables = order_.tables_of(bag);
    std::vector<SortedRelation> relations(tables.size());
    std::vector<size_t> to_sort;
    int number = -1;
    for (size_t r = 0; r < tables.size(); r++) {
        const int table = tables[r];
        const bool is_parent = order_.numbered(bag.table).table == table, is_child = order_.numbered(table).bag == &bag;
        if (is_parent) number = static_cast<int>(r);
        const auto numbered = is_parent || is_child ? numbered_.find(is_parent ? bag.table : table) : numbered_.end();
        if (numbered == numbered_.end())
            to_sort.push_back(r);
        else
            relations[r] = std::move(numbered->second.first);
        if (is_child) numbered_.erase(table);
    }
    ThreadTeam team(context_, static_cast<int>(to_sort.size()));
    WorkerContexts contexts(context_, team.size(), 0, what_keys);
    const auto sort = [&](size_t i, int worker) {
        contexts.run(worker, [&](RunContext& context) {
            relations[to_sort[i]] = sorted_relation(bag, tables[to_sort[i]], context);
        });
    };
    team.for_each(to_sort.size(), sort, [&] { contexts.poll(); });
    std::vector<const Buffer<int64_t>*> words;
    for (int attribute : bag.attributes) words.push_back(&dictionaries_.at(attribute).values());
    return {plan_, bag, order_.attributes(bag), std::move(relations), tables, number, std::move(words)};
}

BagJoin::BagJoin(const StreamedPlan& plan, const StreamedBag& bag, std::vector<int> order,
                 std::vector<SortedRelation> relations, std::vector<int> tables, int number,
                 std::vector<const Buffer<int64_t>*> words)
    : plan_(plan),
      bag_(bag),
      order_(std::move(order)),
      relations_(std::move(relations)),
      tables_(std::move(tables)),
      number_(number),
      words_(std::move(words)) {
    for (int attribute : bag.attributes)
        places_.push_back(static_cast<size_t>(std::find(order_.begin(), order_.end(), attribute) - order_.begin()));
}

// Returns the largest relation with the first attribute, whose rows the parts of the work are cut by.
const SortedRelation& BagJoin::relation_cut() const {
    const SortedRelation* largest = nullptr;
    for (const SortedRelation& relation : relations_)
        if (relation.attributes.front() == order_.front() && (!largest || relation.rows > largest->rows))
            largest = &relation;
    return *largest;
}

std::vector<Key> BagJoin::bounds() const {
    const SortedRelation& cut = relation_cut();
    const uint64_t piece = std::max<uint64_t>(min_chunk_rows, cut.rows / max_chunks);
    std::vector<Key> bounds{0};
    for (uint64_t row = piece; row < cut.rows; row += piece)
        if (cut.columns.front()[row] > bounds.back()) bounds.push_back(cut.columns.front()[row]);
    bounds.push_back(null_key); // which no key is
    return bounds;
}

// The relation of the child's table, if its rows have all columns of the child's key; -1 otherwise.
int BagJoin::relation_with(const StreamedChild& child) const {
    const auto of = std::find(tables_.begin(), tables_.end(), child.table);
    if (of == tables_.end()) return -1;
    const auto relation = of - tables_.begin();
    const std::vector<int>& attributes = relations_[relation].attributes;
    for (int column : child.key)
        if (std::find(attributes.begin(), attributes.end(), bag_.attributes[column]) == attributes.end()) return -1;
    return static_cast<int>(relation);
}

Buffer<uint32_t> BagJoin::entries_of(const SortedRelation& relation, const StreamedChild& child, const Message& message,
                                     RunContext& context) const {
    Buffer<uint32_t> entries(context.memory(), what_keys, relation.rows);
    if (message.is_numbered()) {
        context.for_each(relation.rows, 1, [&](uint64_t row) {
            const auto number = static_cast<uint32_t>(row);
            entries[row] = message.has_rows(number) ? number : Message::none;
        });
        return entries;
    }
    KeyBatch keys(child.key.size(), context.memory());
    for (uint64_t begin = 0; begin < relation.rows; begin += keys.count) {
        keys.count = static_cast<uint32_t>(std::min<uint64_t>(relation.rows - begin, RowBatch::max_rows));
        for (size_t k = 0; k < child.key.size(); k++) {
            const auto level =
                std::find(relation.attributes.begin(), relation.attributes.end(), bag_.attributes[child.key[k]]) -
                relation.attributes.begin();
            const Buffer<int64_t>& words = *words_[child.key[k]];
            for (uint32_t i = 0; i < keys.count; i++)
                keys.key(i)[k] = static_cast<uint64_t>(words[relation.columns[level][begin + i]]);
        }
        keys.hash();
        message.find(keys, entries.data() + begin);
        context.worked(keys.count * (2 + child.key.size()));
    }
    return entries;
}

// Leaves the rows of the relation that meet an entry.
void BagJoin::keep_met(Known& known, RunContext& context) {
    SortedRelation& relation = relations_[known.relation];
    uint64_t kept = 0;
    context.for_each(relation.rows, 1 + relation.columns.size(), [&](uint64_t row) {
        for (Buffer<Key>& column : relation.columns) column[kept] = column[row];
        known.entries[kept] = known.entries[row];
        kept += known.entries[row] != Message::none;
    });
    relation.rows = kept;
}

void BagJoin::look_up(const std::vector<std::unique_ptr<Message>>& children, RunContext& context) {
    for (size_t c = 0; c < children.size(); c++) {
        const StreamedChild& child = plan_.tables[bag_.table].children[c];
        const int relation = relation_with(child);
        if (relation < 0) continue;
        const auto number = static_cast<size_t>(relation);
        Known& known =
            known_.emplace_back(Known{c, number, entries_of(relations_[number], child, *children[c], context)});
        if (child.join == StreamedJoin::inner) keep_met(known, context);
    }
    drop_columns();
}

void BagJoin::drop_columns() {
    const StreamedTable& table = plan_.tables[bag_.table];
    std::vector<bool> read(places_.size(), false);
    const auto reads = [&](const std::vector<int>& columns) {
        for (int column : columns) read[column] = true;
    };
    reads(table.key);
    reads(table.groups);
    reads(table.measured);
    for (const StreamedQuery& query : table.queries) {
        reads(query.factors);
        reads(query.present);
        reads(query.conditions);
    }
    for (size_t c = 0; c < table.children.size(); c++)
        if (std::none_of(known_.begin(), known_.end(), [&](const Known& known) { return known.child == c; }))
            reads(table.children[c].key);
    columns_.clear();
    for (size_t column = 0; column < read.size(); column++)
        if (read[column]) columns_.push_back(column);
}

int BagJoin::first_column() const {
    return static_cast<int>(std::find(places_.begin(), places_.end(), size_t{0}) - places_.begin());
}

void BagJoin::join(Key begin, Key end, RunContext& context, const Body& body) const {
    BatchFiller filler(*this, context.memory(), body);
    GenericJoin tuples(order_, relations_, context);
    tuples.restrict_first(begin, end);
    tuples.for_each([&](const JoinedTuples& found) { filler.put(found); });
    filler.flush();
}

} // namespace btml::relational
