#include "pg/planner/join_planner.hpp"

#include <map>

extern "C" {
#include "catalog/pg_class.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
}

namespace btml::pg::planner {

namespace {

bool is_stored_table(const RangeTblEntry* entry) {
    return entry->rtekind == RTE_RELATION && !entry->tablesample &&
           (entry->relkind == RELKIND_RELATION || entry->relkind == RELKIND_MATVIEW ||
            entry->relkind == RELKIND_PARTITIONED_TABLE);
}

// Returns the expression over one relation as it would be over another of the same table.
Expr* moved(Expr* expression, Index from, Index to) {
    auto* const copy = copy_of(reinterpret_cast<Node*>(expression));
    if (from != to) ChangeVarNodes(copy, static_cast<int>(from), static_cast<int>(to), 0);
    return reinterpret_cast<Expr*>(copy);
}

// Conditions on the other relation that are not the same expressions are others, whatever they mean.
bool has_same_conditions(const RelOptInfo* a, const RelOptInfo* b) {
    if (list_length(a->baserestrictinfo) != list_length(b->baserestrictinfo)) return false;
    for (int i = 0; i < list_length(a->baserestrictinfo); i++) {
        Expr* const of_a = items<const RestrictInfo>(a->baserestrictinfo)[i]->clause;
        const Expr* const of_b = items<const RestrictInfo>(b->baserestrictinfo)[i]->clause;
        if (contain_volatile_functions(as_node(of_a)) || !equal(moved(of_a, a->relid, b->relid), of_b)) return false;
    }
    return true;
}

// Whether two relations are one table with one condition, read with one role's rights, so that they have the same rows:
// a foreign partition may give each role others.
bool has_same_rows(PlannerInfo* root, const RelOptInfo* a, const RelOptInfo* b) {
    if (a->reloptkind != RELOPT_BASEREL || b->reloptkind != RELOPT_BASEREL) return false;
    const RangeTblEntry *const of_a = root->simple_rte_array[a->relid], *const of_b = root->simple_rte_array[b->relid];
    return is_stored_table(of_a) && is_stored_table(of_b) && of_a->relid == of_b->relid && of_a->inh == of_b->inh &&
           a->userid == b->userid && has_same_conditions(a, b);
}

// Whether the table's path can give these expressions over its relation. A sequential scan has all columns, other paths
// those that were asked for.
bool can_give(const TableShape& table, const List* expressions) {
    if (table.path->pathtype == T_SeqScan) return true;
    const auto gives = [&](const Var* column) {
        for (const Var* const given : items<const Var>(table.relation->reltarget->exprs))
            if (IsA(given, Var) && given->varattno == column->varattno) return true;
        return false;
    };
    for (const Var* const column : items<const Var>(pull_var_clause(as_node(const_cast<List*>(expressions)), 0)))
        if (!gives(column)) return false;
    return true;
}

List* all_moved(const List* expressions, Index from, Index to) {
    List* list = NIL;
    for (Expr* const expression : items<Expr>(expressions)) list = lappend(list, moved(expression, from, to));
    return list;
}

// A table of a join, which reads a scan.
struct ScanReader {
    size_t join;
    int place;

    friend bool operator==(const ScanReader&, const ScanReader&) = default;
};

class ScanSharing {
  public:
    ScanSharing(const JoinShape& shape, std::vector<PlannedJoin>& joins) : shape_(shape), joins_(joins) {}

    // Tables that have the same rows are read by one scan. Those with the most columns are asked first, since all can
    // read theirs from them. Rows wait in memory for tables that are read later, in a part of it: where they turn out
    // to be too many the scan is repeated, so that nothing fails for it.
    void share() {
        for (size_t join = 0; join < joins_.size(); join++)
            for (size_t place = 0; place < joins_[join].tables.size(); place++)
                if (joins_[join].tables[place] >= 0) readers_.push_back({join, static_cast<int>(place)});
        std::vector<ScanReader> by_width = readers_;
        std::stable_sort(by_width.begin(), by_width.end(), [&](const ScanReader& a, const ScanReader& b) {
            return list_length(columns(a)) > list_length(columns(b));
        });
        for (const ScanReader& reader : by_width) {
            const ScanReader owner = scan_owner(reader);
            owners_.emplace_back(reader, owner);
            if (owner == reader || read_from(owner, reader)) continue;
            owners_.back().second = reader;
        }
        const double waiting = waiting_bytes();
        for (PlannedJoin& join : joins_) {
            join.memory += waiting;
            join.join.scans.assign(join.tables.size(), -1);
        }
        number_scans();
    }

  private:
    List*& columns(const ScanReader& reader) const { return joins_[reader.join].columns[reader.place]; }
    List*& computed(const ScanReader& reader) const { return joins_[reader.join].computed[reader.place]; }
    std::vector<ColumnReading>& readings(const ScanReader& reader) const {
        return joins_[reader.join].join.readings[reader.place];
    }
    bool has_rows_once(const ScanReader& reader) const { return joins_[reader.join].has_rows_once[reader.place]; }
    const TableShape& table(const ScanReader& reader) const {
        return shape_.tables[joins_[reader.join].tables[reader.place]];
    }
    // The owner of the scan that it reads, as far as known.
    const ScanReader* owner_of(const ScanReader& reader) const {
        for (const auto& [of, owner] : owners_)
            if (of == reader) return &owner;
        return nullptr;
    }

    // The table whose scan may serve this one, too; itself where there is none.
    ScanReader scan_owner(const ScanReader& reader) const {
        const TableShape& own = table(reader);
        for (const auto& [other, owner] : owners_) {
            if (!(other == owner)) continue;
            const TableShape& of = table(owner);
            if (has_rows_once(reader) != has_rows_once(owner)) continue;
            const bool serves =
                own.relation == of.relation || (!has_rows_once(reader) && pg_call([&, this] {
                    return has_same_rows(shape_.root, own.relation, of.relation) &&
                           can_give(of, all_moved(columns(reader), own.relation->relid, of.relation->relid));
                }));
            if (serves) return owner;
        }
        return reader;
    }

    // Has the scan of `owner` give what the reader reads, unless too much would wait.
    bool read_from(const ScanReader& owner, const ScanReader& reader) {
        const auto before = readings(reader);
        List* const own_columns = pg_call([&, this] { return list_copy(columns(owner)); });
        List* const own_computed = pg_call([&, this] { return list_copy(computed(owner)); });
        const Index from = table(reader).relation->relid, to = table(owner).relation->relid;
        const auto position_in_owner = [&](Expr* expression) {
            return add_expression(pg_call([=] { return moved(expression, from, to); }), columns(owner),
                                  computed(owner));
        };
        std::vector<int> of_columns, of_computed;
        for (Expr* const expression : items<Expr>(columns(reader))) of_columns.push_back(position_in_owner(expression));
        for (Expr* const expression : items<Expr>(computed(reader)))
            of_computed.push_back(position_in_owner(expression));
        for (ColumnReading& reading : readings(reader))
            if (reading.position >= computed_from)
                reading.position = of_computed[reading.position - computed_from];
            else if (reading.position >= 0)
                reading.position = of_columns[reading.position];
        if (waiting_bytes() <= waiting_share * message_memory()) return true;
        readings(reader) = before;
        columns(owner) = own_columns;
        computed(owner) = own_computed;
        return false;
    }

    // Returns the bytes in which rows wait for tables that read them later, each column once.
    double waiting_bytes() const {
        std::map<std::pair<size_t, int>, std::vector<StreamedType>> kept; // by owner; its first reader keeps nothing
        std::vector<std::pair<ScanReader, ColumnReading>> known;
        for (const ScanReader& reader : readers_) {
            const ScanReader* const owner = owner_of(reader);
            if (!owner || kept.try_emplace({owner->join, owner->place}).second) continue;
            for (size_t i = 0; i < readings(reader).size(); i++) {
                const std::pair column(*owner, readings(reader)[i]);
                if (column.second.reading == Reading::derived ||
                    std::find(known.begin(), known.end(), column) != known.end())
                    continue;
                known.push_back(column);
                kept[{owner->join, owner->place}].push_back(
                    joins_[reader.join].join.streamed.tables[reader.place].columns[i]);
            }
        }
        double bytes = 0;
        for (const auto& [owner, types] : kept)
            bytes += table({owner.first, owner.second}).relation->rows *
                     static_cast<double>(relational::RowBatch::row_bytes(types));
        return bytes;
    }

    void number_scans() {
        int number = 0;
        for (const ScanReader& reader : readers_)
            if (*owner_of(reader) == reader) {
                joins_[reader.join].join.scans[reader.place] = number++;
                joins_[reader.join].scans.push_back(reader.place);
                describe(reader);
            }
        for (const ScanReader& reader : readers_) {
            const ScanReader& owner = *owner_of(reader);
            joins_[reader.join].join.scans[reader.place] = joins_[owner.join].join.scans[owner.place];
        }
    }

    // A table that several joins read by one scan is not told.
    void describe(const ScanReader& owner) {
        std::string others;
        std::vector<const RelOptInfo*> told = {table(owner).relation};
        for (const ScanReader& reader : readers_) {
            const TableShape& of = table(reader);
            if (!(*owner_of(reader) == owner) || std::find(told.begin(), told.end(), of.relation) != told.end())
                continue;
            told.push_back(of.relation);
            others += (others.empty() ? std::string(table(owner).name) + " for " : ", ") + of.name;
        }
        std::string& all = joins_[owner.join].shared_scans;
        if (!others.empty()) all += (all.empty() ? "" : "; ") + others;
    }

    const JoinShape& shape_;
    std::vector<PlannedJoin>& joins_;
    std::vector<ScanReader> readers_;                       // in the order in which they are read
    std::vector<std::pair<ScanReader, ScanReader>> owners_; // of the readers so far, the owners of their scans
};

} // namespace

void share_scans(const JoinShape& shape, std::vector<PlannedJoin>& joins) {
    ScanSharing(shape, joins).share();
}

} // namespace btml::pg::planner
