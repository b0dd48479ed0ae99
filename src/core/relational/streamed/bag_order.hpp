// How the bags of a plan are joined: in which order of their attributes, and which of their messages are made in parts
// or have numbers for keys.
#pragma once

#include "core/relational/streamed/plan.hpp"

#include <map>

namespace btml::relational {

class BagOrder {
  public:
    // Keeps a reference to the plan.
    explicit BagOrder(const StreamedPlan& plan);

    // A bag and the table at the other end of an edge of the join tree, whose rows number the edge's message.
    struct NumberedEdge {
        const StreamedBag* bag = nullptr;
        int table = -1;
    };

    // Tables whose attributes a bag has, one or more of them.
    std::vector<int> tables_of(const StreamedBag& bag) const;
    // The attributes of the bag as its join takes them, and those of a table in the same order.
    std::vector<int> attributes(const StreamedBag& bag) const;
    std::vector<int> attributes_in(int table, const std::vector<int>& order) const;
    // Whether the table is a bag whose rows have the first attribute of a parent bag's: what the parent's chunks meet
    // of its message can be made chunk by chunk.
    bool is_nested(int table) const;
    // The edge from this table to its parent if the message has numbers for keys, else one without a bag: it is between
    // a bag and a table that the bag is joined from, all of whose attributes there are the key.
    const NumberedEdge& numbered(int child) const { return numbered_[child]; }

    struct Parent {
        int table; // -1: there is none
        const StreamedChild* edge;
    };
    const Parent& parent(int table) const { return parents_[table]; }
    // The bag that the table is, or null.
    const StreamedBag* bag_of(int table) const;

  private:
    std::vector<int> shared_attributes(const StreamedBag& bag) const;
    int first_attribute(const StreamedBag& bag) const;
    NumberedEdge numbered_edge(int child) const;

    const StreamedPlan& plan_;
    std::vector<Parent> parents_;        // by table
    std::map<int, int> first_;           // by bag's table: the attribute that its join begins with
    std::vector<NumberedEdge> numbered_; // by child
};

} // namespace btml::relational
