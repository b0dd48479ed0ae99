#include "core/relational/streamed/aggregate.hpp"

#include "core/base/threads.hpp"
#include "core/base/worker_contexts.hpp"
#include "core/relational/streamed/bag_rows.hpp"
#include "core/relational/streamed/read_ahead.hpp"
#include "core/relational/streamed/table_pass.hpp"

#include <algorithm>
#include <map>
#include <memory>

namespace btml::relational {

// What the rows of a bag are made from. The message of a nested child is never whole in memory: each chunk of the bag's
// rows meets only a small part, which is made when the chunk is at hand and found in the caches.
struct BagInput {
    int table;
    BagJoin rows;
    std::vector<std::unique_ptr<Message>> messages;        // by child; null where one is nested
    std::vector<std::unique_ptr<const BagInput>> nested{}; // by child; null where one is not
};

namespace {

// Of the bag and those nested in it, the one whose chunks are the finest.
const BagJoin& rows_to_cut(const BagInput& bag) {
    const BagJoin* most = &bag.rows;
    for (const std::unique_ptr<const BagInput>& nested : bag.nested)
        if (nested)
            if (const BagJoin& rows = rows_to_cut(*nested); rows.rows_cut() > most->rows_cut()) most = &rows;
    return *most;
}

// Passes over chunks of the bag's rows on one thread, and over what nested bags have with the same first attributes.
class BagWorker {
  public:
    BagWorker(const StreamedPlan& plan, const BagInput& bag, Message& own, RunContext& context)
        : bag_(bag), context_(context), nested_(bag.nested.size()) {
        std::vector<const Message*> children;
        for (size_t c = 0; c < nested_.size(); c++) {
            if (bag.nested[c]) nested_[c] = nest(plan, *bag.nested[c]);
            children.push_back(bag.nested[c] ? nested_[c].message.get() : bag.messages[c].get());
        }
        pass_ = std::make_unique<TablePass>(plan, bag.table, std::move(children), own, context.memory());
    }

    // Rows add to this message of the bag from now on.
    void add_to(Message& own) { pass_->add_to(own); }

    // Adds the rows with these keys of the first attribute.
    void add(Key begin, Key end) {
        for (Nested& nested : nested_)
            if (nested.worker && !nested.fill(begin, end, context_)) return;
        bag_.rows.join(begin, end, context_,
                       [&](RowBatch& batch, const std::vector<const uint32_t*>& known, const uint32_t* numbers) {
                           pass_->add(batch.columns(), batch.rows, context_, known, numbers);
                       });
    }

    void report(std::map<int, StreamedReport>& reports) const {
        StreamedReport& of = reports[bag_.table];
        of.rows_read += pass_->rows_read();
        of.rows_kept += pass_->rows_kept();
        of.ranges.resize(pass_->ranges().size());
        for (size_t m = 0; m < of.ranges.size(); m++) widen(of.ranges[m], pass_->ranges()[m]);
        for (const Nested& nested : nested_)
            if (nested.worker) nested.report(reports);
    }

  private:
    // A nested bag, with the part of its message that the chunk at hand meets.
    struct Nested {
        // False: no row of the upper bag finds a partner.
        bool fill(Key begin, Key end, RunContext& context) {
            message->clear();
            worker->add(begin, end);
            message->finish(KeyOrder::equal, context);
            keys += message->entries();
            max_bytes = std::max(max_bytes, message->bytes());
            return message->entries() > 0;
        }
        void report(std::map<int, StreamedReport>& reports) const {
            worker->report(reports);
            StreamedReport& of = reports[worker->bag_.table];
            of.keys += keys;
            of.bytes = std::max(of.bytes, max_bytes);
        }

        std::unique_ptr<Message> message;
        std::unique_ptr<BagWorker> worker;
        uint64_t keys = 0, max_bytes = 0;
    };

    Nested nest(const StreamedPlan& plan, const BagInput& bag) {
        Nested nested;
        nested.message = std::make_unique<Message>(MessageLayout(plan, bag.table), context_.memory());
        nested.worker = std::make_unique<BagWorker>(plan, bag, *nested.message, context_);
        return nested;
    }

    const BagInput& bag_;
    RunContext& context_;
    std::vector<Nested> nested_; // by child; empty where one is not nested
    std::unique_ptr<TablePass> pass_;
};

// The pass over the rows of a bag: chunks of them are joined and find their partners on several threads.
class BagPass {
  public:
    // own: the bag's message, which gets the same bits for any number of threads.
    BagPass(const StreamedPlan& plan, const BagInput& bag, Message& own, RunContext& context)
        : table_(plan.tables[bag.table]),
          plan_(plan),
          bag_(bag),
          own_(own),
          context_(context),
          bounds_(rows_to_cut(bag).bounds()),
          disjoint_(has_first(table_.key) || has_first(table_.groups)),
          by_parts_(is_made_of_parts()),
          team_(context, own.is_numbered() || by_parts_ ? static_cast<int>(chunks()) : 1), // one takes them in order
          contexts_(context, team_.size(), 0, "the messages of a join"),
          workers_(team_.size()) {}

    // To a message whose keys are numbers all threads add, each to entries of its own.
    void add() {
        if (!by_parts_) add_chunks(0, chunks(), [this](size_t) -> Message& { return own_; });
        const size_t round = 16 * static_cast<size_t>(team_.size()); // messages in memory at a time
        for (size_t first = 0; by_parts_ && first < chunks(); first += round) {
            std::vector<std::unique_ptr<Message>> parts(std::min(round, chunks() - first));
            add_chunks(first, parts.size(), [&](size_t i) -> Message& {
                return *(parts[i] = std::make_unique<Message>(own_.layout(), context_.memory()));
            });
            if (disjoint_)
                own_.append(parts, team_, contexts_);
            else
                for (const std::unique_ptr<Message>& part : parts) own_.merge(*part, context_);
        }
        for (const std::unique_ptr<BagWorker>& worker : workers_)
            if (worker) worker->report(reports_);
    }

    // By table: what became of the bag and those nested in it; keys and bytes are those of nested ones.
    const std::map<int, StreamedReport>& reports() const { return reports_; }

  private:
    // Chunks have messages of their own, which are put together in their order. Where each key is in one chunk, that is
    // what the rows give in their order, and the small messages are faster, too. Elsewhere sums of numbers have other
    // last bits: these are made in the order of the rows, but for a message of one key, which is made of chunks with
    // one thread, too.
    bool is_made_of_parts() const {
        const bool sums_numbers = std::any_of(table_.queries.begin(), table_.queries.end(),
                                              [](const auto& query) { return query.kind == CellKind::number_sum; });
        const bool one_key = own_.layout().full_key_words() == 0;
        return !own_.is_numbered() && (disjoint_ || (sums_numbers ? one_key : context_.threads() > 1));
    }
    bool has_first(const std::vector<int>& columns) const {
        return std::find(columns.begin(), columns.end(), bag_.rows.first_column()) != columns.end();
    }
    size_t chunks() const { return bounds_.size() - 1; }
    // Adds the rows of so many chunks from `first` on, each to the message that message_of(i) gives for the i-th.
    template <class MessageOf>
    void add_chunks(size_t first, size_t count, const MessageOf& message_of) {
        const auto add_chunk = [&](size_t i, int number) {
            contexts_.run(number, [&](RunContext& context) {
                Message& own = message_of(i);
                std::unique_ptr<BagWorker>& worker = workers_[number];
                if (!worker) worker = std::make_unique<BagWorker>(plan_, bag_, own, context);
                worker->add_to(own);
                worker->add(bounds_[first + i], bounds_[first + i + 1]);
            });
        };
        team_.for_each(count, add_chunk, [this] { contexts_.poll(); });
    }

    const StreamedTable& table_;
    const StreamedPlan& plan_;
    const BagInput& bag_;
    Message& own_;
    RunContext& context_;
    const std::vector<Key> bounds_; // of chunks
    const bool disjoint_;           // each key is in one chunk
    const bool by_parts_;           // chunks have messages of their own
    ThreadTeam team_;
    WorkerContexts contexts_;
    std::vector<std::unique_ptr<BagWorker>> workers_; // of threads that have had a chunk
    std::map<int, StreamedReport> reports_;
};

constexpr uint64_t negative_zero = std::bit_cast<uint64_t>(-0.0);

// Throws what is being handled again, and CannotDecide where memory is what lacks.
[[noreturn]] void explain_failure() {
    try {
        throw;
    } catch (const Error& error) {
        if (error.code() == ErrorCode::memory_limit) refuse(beyond_budget);
        throw;
    } catch (const std::bad_alloc&) {
        refuse("more memory than there is");
    }
}

} // namespace

StreamedAggregate::StreamedAggregate(const StreamedPlan& plan, std::vector<RowSource*> sources, RunContext& context)
    : plan_(plan),
      sources_(std::move(sources)),
      context_(context),
      messages_(plan.tables.size()),
      reports_(plan.tables.size()),
      empty_(plan.tables.size(), false),
      bag_rows_(plan_, context),
      order_(bag_rows_.order()),
      held_(plan.tables.size()),
      nested_(plan.tables.size()) {
    for (size_t t = 0; t < plan_.tables.size(); t++) reports_[t].ranges.resize(plan_.tables[t].measured.size());
}

StreamedAggregate::~StreamedAggregate() = default;

void StreamedAggregate::run(const std::function<void()>& widened) {
    widened_ = &widened;
    try {
        for (int t = 0; t <= plan_.root(); t++) pass(t);
        bag_rows_.clear();
        check_result();
    } catch (...) {
        // Whoever asks anew, in another way, has the memory for it.
        messages_.clear();
        nested_.clear();
        held_.clear();
        bag_rows_.clear();
        explain_failure();
    }
}

StreamedCell StreamedAggregate::cell(uint64_t group, size_t query) const {
    const MessageLayout& layout = result().layout();
    return read_cell(layout.kinds[query], entry(group) + layout.cells[query]);
}

// Can rows of the table be in the result, as far as is known before it is read?
bool StreamedAggregate::is_needed(int table) const {
    for (int t = table; t >= 0; t = order_.parent(t).table)
        if (empty_[t]) return false;
    return true;
}

// Notes that the message of the table is empty, and those of the tables above it that need its rows.
void StreamedAggregate::note_empty(int table) {
    empty_[table] = true;
    const BagOrder::Parent& parent = order_.parent(table);
    if (parent.edge && (parent.edge->join == StreamedJoin::inner || parent.edge->join == StreamedJoin::semi))
        note_empty(parent.table);
}

void StreamedAggregate::pass(int table) {
    const bool needed = prepare(table), numbered = needed && bag_rows_.is_numbered(table);
    if (needed && order_.is_nested(table)) {
        nested_[table] = input_of(table);
        return;
    }
    messages_[table] = std::make_unique<Message>(MessageLayout(plan_, table, numbered), context_.memory());
    Message& own = *messages_[table];
    if (numbered) own.number(bag_rows_.number(table), context_);
    if (needed && order_.bag_of(table))
        pass_bag(table);
    else if (needed)
        pass_table(table);
    held_[table].reset();
    for (const StreamedChild& child : plan_.tables[table].children) {
        messages_[child.table].reset();
        nested_[child.table].reset();
    }
    if (own.entries() == 0) note_empty(table);
}

void StreamedAggregate::pass_table(int table) {
    std::vector<const Message*> children;
    for (const StreamedChild& child : plan_.tables[table].children) children.push_back(messages_[child.table].get());
    TablePass pass(plan_, table, std::move(children), *messages_[table], context_.memory());
    add_filters(table, pass);
    read_rows(table, pass);
    finish(table);
    reports_[table].rows_read = pass.rows_read();
    reports_[table].rows_kept = pass.rows_kept();
    reports_[table].ranges = pass.ranges();
}

void StreamedAggregate::pass_bag(int table) {
    const std::unique_ptr<const BagInput> bag = input_of(table);
    BagPass pass(plan_, *bag, *messages_[table], context_);
    pass.add();
    for (const auto& [of, report] : pass.reports()) reports_[of] = report;
    finish(table);
}

// Takes what the bag's rows are made from out of the messages so far.
std::unique_ptr<const BagInput> StreamedAggregate::input_of(int table) {
    std::unique_ptr<BagInput> input(new BagInput{table, bag_rows_.join_of(*order_.bag_of(table)), {}, {}});
    for (const StreamedChild& child : plan_.tables[table].children) {
        input->messages.push_back(std::move(messages_[child.table]));
        input->nested.push_back(std::move(nested_[child.table]));
    }
    input->rows.look_up(input->messages, context_);
    return input;
}

// columns: by column of a table, what equals it. Returns the same by column of its parent.
std::map<int, int> StreamedAggregate::in_parent(int table, const std::map<int, int>& columns) const {
    const StreamedChild* const edge = order_.parent(table).edge;
    std::map<int, int> equal;
    const size_t equal_keys = edge->key.size() - (edge->order == KeyOrder::equal ? 0 : 1);
    for (size_t k = 0; k < equal_keys; k++)
        if (const auto known = columns.find(plan_.tables[table].key[k]); known != columns.end())
            equal[edge->key[k]] = known->second;
    return equal;
}

// Whether the child's message waits for its parent, whose rows need a partner there.
bool StreamedAggregate::hands_keys_on(const StreamedChild& child, int table) const {
    return child.table < table && messages_[child.table] && !messages_[child.table]->is_numbered() &&
           !child.key.empty() && child.order == KeyOrder::equal &&
           (child.join == StreamedJoin::inner || child.join == StreamedJoin::semi);
}

// Filters rows by the messages that wait for ancestors of the table, and whose keys the rows have in columns of
// their own: where a key is missing, the ancestor's rows that a row of the table would be joined to are in no row
// of the join.
void StreamedAggregate::add_filters(int table, TablePass& pass) const {
    std::map<int, int> columns;
    for (int column : plan_.tables[table].key) columns[column] = column;
    for (int below = table; order_.parent(below).edge; below = order_.parent(below).table) {
        columns = in_parent(below, columns);
        for (const StreamedChild& child : plan_.tables[order_.parent(below).table].children) {
            const auto is_shared = [&](int column) { return columns.count(column) > 0; };
            if (!hands_keys_on(child, table) || !std::all_of(child.key.begin(), child.key.end(), is_shared)) continue;
            std::vector<int> shared;
            for (int column : child.key) shared.push_back(columns.at(column));
            pass.filter(*messages_[child.table], shared, context_.memory());
        }
    }
}

// To be called when a table's pass is over: its parent finds the entries of its message from now on.
void StreamedAggregate::finish(int table) {
    Message& own = *messages_[table];
    if (table != plan_.root()) own.finish(order_.parent(table).edge->order, context_);
    reports_[table].keys = own.entries();
    reports_[table].bytes += own.bytes();
}

// Holds the rows that are to be held before a pass. False: the table is not needed.
bool StreamedAggregate::prepare(int table) {
    if (is_needed(table) && plan_.tables[table].held) hold(table);
    if (const StreamedBag* const bag = order_.bag_of(table); bag && is_needed(table))
        for (int other : order_.tables_of(*bag))
            if (is_needed(table) && !bag_rows_.has_table(other)) hold(other);
    return is_needed(table);
}

// Reads a table into memory, where it is not there yet.
void StreamedAggregate::hold(int table) {
    if (held_[table]) return;
    const std::vector<StreamedType>& columns = plan_.tables[table].columns;
    HeldRows& rows = held_[table].emplace();
    StreamedReport& report = reports_[table];
    for (;;) {
        auto batch = std::make_unique<RowBatch>(columns, context_.memory());
        sources_[table]->next(*batch);
        if (batch->rows == 0) break;
        batch->keep_shown();
        report.rows_read += batch->rows;
        context_.worked(batch->rows * columns.size());
        rows.push_back(std::move(batch));
    }
    report.bytes = report.rows_read * RowBatch::row_bytes(columns);
    if (rows.empty()) note_empty(table);
    if (!plan_.bags.empty()) bag_rows_.add_table(table, *held_[table]);
}

// By child of a held table: the entries that its rows meet, where the child's message is numbered; else null.
std::vector<const uint32_t*> StreamedAggregate::met_by_rows(int table) {
    std::vector<const uint32_t*> met;
    for (const StreamedChild& child : plan_.tables[table].children) {
        const Message& message = *messages_[child.table];
        met.push_back(nullptr);
        if (!message.is_numbered()) continue;
        Buffer<RowId>& entries = bag_rows_.numbers_of_rows(child.table);
        context_.for_each(entries.size(), 1, [&](uint64_t row) {
            if (!message.has_rows(entries[row])) entries[row] = Message::none;
        });
        met.back() = entries.data();
    }
    return met;
}

void StreamedAggregate::read_rows(int table, TablePass& rows) {
    uint64_t read = 0;
    const auto advance = [&](uint32_t count) { context_.progress("aggregating a join", read += count, 0); };
    const auto add = [&](RowBatch::Column* columns, uint32_t count, RunContext& context,
                         const std::vector<const uint32_t*>& known = {}, const uint32_t* numbers = nullptr) {
        rows.add(columns, count, context, known, numbers);
        if (rows.ranges().empty()) return;
        reports_[table].ranges = rows.ranges();
        (*widened_)();
    };
    if (held_[table]) {
        const uint32_t* const numbers =
            messages_[table]->is_numbered() ? bag_rows_.numbers_of_rows(table).data() : nullptr;
        const std::vector<const uint32_t*> met = met_by_rows(table);
        std::vector<const uint32_t*> known(met.size());
        for (const std::unique_ptr<RowBatch>& batch : *held_[table]) {
            for (size_t c = 0; c < met.size(); c++) known[c] = met[c] ? met[c] + read : nullptr;
            add(batch->columns(), batch->rows, context_, known, numbers ? numbers + read : nullptr);
            advance(batch->rows);
        }
    } else {
        const auto add_batch = [&](RowBatch& batch, RunContext& context) { add(batch.columns(), batch.rows, context); };
        for_each_batch(*sources_[table], plan_.tables[table].columns, context_, add_batch, advance);
    }
}

// Without groups there is a result of no rows, too; it has no value that depends on the order of rows.
void StreamedAggregate::check_result() {
    Message& result = *messages_.back();
    if (result.layout().full_key_words() == 0 && result.entries() == 0) {
        KeyBatch no_key(0, context_.memory());
        no_key.count = 1;
        no_key.hash();
        uint64_t* entry = nullptr;
        result.find_or_add(no_key, &entry, context_);
    }
    const MessageLayout& layout = result.layout();
    context_.for_each(result.entries(), layout.kinds.size(), [&](uint64_t group) {
        const uint64_t* const entry = result.entry(static_cast<uint32_t>(group));
        for (size_t q = 0; q < layout.kinds.size(); q++) {
            if (is_ambiguous(layout.kinds[q], entry + layout.cells[q]))
                refuse("equal extrema that are written differently");
            if (layout.kinds[q] == CellKind::number_sum && entry[layout.cells[q]] == negative_zero &&
                sums_in(plan_.root(), static_cast<int>(q)) > 1)
                refuse("a sum that is a zero of either sign");
        }
    });
}

// Tables with factors in a query, those below included. With one, a sum is -0 where all rows' products are -0; with
// several, also where a negative factor meets rows that cancel out.
int StreamedAggregate::sums_in(int table, int query) const {
    const StreamedTable& of = plan_.tables[table];
    int sums = of.queries[query].factors.empty() ? 0 : 1;
    for (size_t c = 0; c < of.children.size(); c++)
        if (multiplies(of.children[c].join)) sums += sums_in(of.children[c].table, of.queries[query].children[c]);
    return sums;
}

} // namespace btml::relational
