// PostgreSQL's lists and parse trees with types. Nothing here has a destructor, so all of it may stand in a pg_call.
#pragma once

#include "pg/bridge/postgres.hpp"

namespace btml::pg {

template <class T>
struct ItemsOf {
    struct Iterator {
        const List* list;
        int at;

        T* operator*() const { return ItemsOf{list}[at]; }
        void operator++() { at++; }
        bool operator!=(const Iterator& other) const { return at != other.at; }
    };

    const List* list;

    Iterator begin() const { return {list, 0}; }
    Iterator end() const { return {list, size()}; }
    int size() const { return list_length(list); }
    T* operator[](int i) const { return static_cast<T*>(list_nth(list, i)); }
};

// Gives the items of a list of T*, which nobody changes meanwhile.
template <class T>
ItemsOf<T> items(const List* list) {
    return {list};
}

// Allocates an object in the current memory context, with all members 0.
template <class T>
T* allocate() {
    return static_cast<T*>(palloc0(sizeof(T)));
}

template <class T>
T* copy_of(const T* node) {
    return static_cast<T*>(copyObjectImpl(node));
}

template <class T>
Node* as_node(T* node) {
    return reinterpret_cast<Node*>(node);
}

// Takes a node or a plan for what its tag says that it is.
template <class T, class Of>
const T* as(const Of* node) {
    return reinterpret_cast<const T*>(node);
}

} // namespace btml::pg
