// The relations of a plan while they are found: by foreign keys, or as somebody names them.
#pragma once

#include "core/features/candidates.hpp"

namespace btml::features {

// Gives out names of which none is there twice.
class Names {
  public:
    // Returns the name, or one that is like it and that nothing has yet.
    std::string take(const std::string& wanted);
    bool has(const std::string& name) const { return used_.contains(name); }

  private:
    std::set<std::string> used_;
};

// Cuts a name to what PostgreSQL keeps of one, at a character's end.
std::string cut(std::string name, size_t bytes);

// What is known of a relation beside what the plan says.
struct FoundRelation {
    int table;
    int depth = 0;                                        // tables with many rows on the way
    int ups = 0;                                          // tables with one row each since then
    int by = -1;                                          // the foreign key it was reached by; −1: it is named
    std::optional<std::vector<std::string>> columns = {}; // those that are wanted; none: all
};

class FoundRelations {
  public:
    FoundRelations(const CandidateRequest& request, Plan& plan, PlanRemarks& remarks);

    const CandidateRequest& request() const { return request_; }
    const Plan& plan() const { return plan_; }
    PlanRemarks& remarks() { return remarks_; }
    int count() const { return static_cast<int>(found_.size()); }
    const FoundRelation& at(int relation) const { return found_[static_cast<size_t>(relation)]; }
    const CatalogueTable& table(int number) const { return request_.tables[static_cast<size_t>(number)]; }
    const CatalogueTable& table_of(int relation) const { return table(at(relation).table); }
    bool has_name(const std::string& name) const { return names_.has(name); }
    // Returns the name, or one that is like it; no other relation gets it.
    std::string take_name(const std::string& wanted) { return names_.take(wanted); }

    // Returns what somebody asks for the relation of this name, or nullptr.
    const RelationRequest* request_for(const std::string& name) const;

    enum class TimeFault { none, many_times, unread, other_zone };
    // Finds the time of a relation's rows, by the relation's name. named: what somebody says of it, "" for none.
    // Errors undefined_column, wrong_type.
    TimeFault set_time(const CatalogueTable& of, const std::optional<std::string>& named, Relation& relation) const;

    // Adds a relation whose name is taken for it.
    void add(Relation relation, FoundRelation found);

  private:
    const CandidateRequest& request_;
    Plan& plan_;
    PlanRemarks& remarks_;
    std::vector<FoundRelation> found_; // by relation
    Names names_;
};

[[noreturn]] void refuse_column(const CatalogueTable& of, const std::string& relation, const std::string& column);

// Refuses columns that there are not, of those that somebody wants of a relation.
void require_columns(const CatalogueTable& of, const std::string& relation,
                     const std::optional<std::vector<std::string>>& columns);

// Says whether no two rows of a table have the same values of a key.
bool is_unique(const CatalogueTable& of, const std::vector<KeyPair>& key);

// Says whether the column is one of the key.
bool has_column(const std::vector<KeyPair>& key, std::string_view column);

// Adds the name unless the list has it.
void add_once(std::vector<std::string>& list, const std::string& name);

// Adds the relations that foreign keys lead to from the source's columns. Errors invalid_argument for requests for
// others.
void follow_foreign_keys(FoundRelations& relations);

// Adds the relations that are named, all of them. Errors invalid_argument, undefined_column, wrong_type.
void add_named_relations(FoundRelations& relations);

} // namespace btml::features
