// Transition states of aggregates: a C++ object in memory, as PostgreSQL's expanded objects are; flat bytes between
// processes. The objects and their buffers live in a memory context below the aggregate's, where a hash aggregate sees
// how much its groups take and spills in time. They go with the context, so no destructor runs.
//
// All states of an aggregate's context share that one: for each new group a hash aggregate walks all contexts below its
// own, and contexts of the groups would make that quadratic. PostgreSQL takes a context for one object's, to delete it
// with the object that a transition replaces, so a transition never replaces a state: it returns the one it was given.
//
// A content holds memory in Buffers only. It has a constructor from a MemoryBudget, append(const Content&),
// flat_size(), flatten(std::byte*) noexcept and a static parse(bytes, MemoryBudget&) that throws corrupt_model; append
// and parse take a RunContext& as well where they take long.
#pragma once

#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/settings.hpp"
#include "pg/values/bytes.hpp"

extern "C" {
#include "utils/expandeddatum.h"
}

namespace btml::pg {

// Buffers counted against it live in a memory context.
class ContextBudget : public MemoryBudget {
  public:
    explicit ContextBudget(MemoryContext context) : MemoryBudget(memory_limit_bytes()), context_(context) {}

    void* resize_block(void* block, size_t bytes) override {
        return pg_call(
            [=, this] { return block ? repalloc_huge(block, bytes) : MemoryContextAllocHuge(context_, bytes); });
    }
    void free_block(void* block) noexcept override { pfree(block); }
    void* zeros(size_t bytes) override {
        void* const block = resize_block(nullptr, bytes);
        return memset(block, 0, bytes);
    }

  private:
    const MemoryContext context_;
};

// The context of the states of an aggregate whose context is `parent`. May ereport.
inline MemoryContext states_context(MemoryContext parent) {
    static constexpr const char* name = "btml aggregate states";
    static constexpr Size max_block = 64 * 1024; // little beside any work_mem
    for (MemoryContext child = parent->firstchild; child; child = child->nextchild)
        if (strcmp(child->name, name) == 0) return child;
    return AllocSetContextCreateInternal(parent, name, ALLOCSET_SMALL_MINSIZE, ALLOCSET_SMALL_INITSIZE, max_block);
}

// What errors call a state: its SQL type, what it holds, as "the rows", and what helps where that is too large.
struct StateNames {
    const char *type, *what, *too_large_hint;
};

template <class Content, const StateNames& names>
class ExpandedState {
  public:
    // The state that argument 0 holds, ready to be changed: a new one for NULL.
    static ExpandedState* writable(FunctionCallInfo fcinfo) {
        MemoryContext context = nullptr;
        if (!AggCheckCallContext(fcinfo, &context))
            throw Error(ErrorCode::invalid_argument, "support functions of aggregates cannot be called directly");
        if (PG_ARGISNULL(0)) return create(context);
        const Datum value = PG_GETARG_DATUM(0);
        if (ExpandedState* const state = of(value); state && VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(value)))
            return state;
        ExpandedState* const state = create(context);
        if (const ExpandedState* const other = of(value))
            state->append(other->owned()->content);
        else
            state->owned()->content = parse(datum_bytes(value), state->owned()->budget);
        return state;
    }

    // Returns what argument 0 holds; `parsed` keeps it where it is flat. It counts against the call's budget, for it is
    // there until the call ends.
    static const Content& read(FunctionCallInfo fcinfo, std::optional<Content>& parsed, MemoryBudget& budget) {
        const Datum value = PG_GETARG_DATUM(0);
        if (const ExpandedState* const state = of(value)) {
            budget.acquire(state->owned()->budget.used(), names.what);
            return state->owned()->content;
        }
        return parsed.emplace(parse(datum_bytes(value), budget));
    }

    // The body of a combine function.
    static Datum combine(FunctionCallInfo fcinfo) {
        if (PG_ARGISNULL(1)) {
            fcinfo->isnull = PG_ARGISNULL(0);
            return PG_ARGISNULL(0) ? static_cast<Datum>(0) : writable(fcinfo)->datum();
        }
        ExpandedState* const state = writable(fcinfo);
        const Datum other = PG_GETARG_DATUM(1);
        if (const ExpandedState* const expanded = of(other))
            state->append(expanded->owned()->content);
        else {
            MemoryBudget budget(memory_limit_bytes());
            state->append(parse(datum_bytes(other), budget));
        }
        return state->datum();
    }

    // Input and output of the SQL type: base64 of the flat form, or its bytes. Anybody may call them.
    static Datum input(const char* text) {
        BackendContext context;
        return validated(decode_base64(text, names.type, context));
    }
    static Datum receive(StringInfo message) { return validated(message_bytes(message)); }
    static Datum output(Datum value) {
        BackendContext context;
        return encode_base64(datum_bytes(value), context);
    }
    static Datum send(Datum value) { return bytes_datum(datum_bytes(value)); }

    Content& content() { return owned()->content; }
    Datum datum() { return EOHPGetRWDatum(&header_); }

  private:
    // Counted against a budget of its own.
    struct Owned {
        explicit Owned(MemoryContext context) : budget(context) {}
        ContextBudget budget;
        Content content{budget};
    };

    void append(const Content& other) {
        BackendContext context;
        if constexpr (requires { content().append(other, context); })
            content().append(other, context);
        else
            content().append(other);
    }

    Owned* owned() { return std::launder(reinterpret_cast<Owned*>(storage_)); }
    const Owned* owned() const { return std::launder(reinterpret_cast<const Owned*>(storage_)); }

    // Called by PostgreSQL, from C.
    static Size flat_size(ExpandedObjectHeader* header) {
        const uint64_t size = VARHDRSZ + reinterpret_cast<ExpandedState*>(header)->content().flat_size();
        if (size > MaxAllocSize)
            ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                            errmsg("%s of one aggregate state need %" PRIu64 " bytes, a value may have %" PRIu64,
                                   names.what, size, uint64_t{MaxAllocSize}),
                            errhint("%s", names.too_large_hint)));
        return size;
    }
    static void flatten(ExpandedObjectHeader* header, void* result, Size size) {
        SET_VARSIZE(result, size);
        reinterpret_cast<ExpandedState*>(header)->content().flatten(reinterpret_cast<std::byte*>(VARDATA(result)));
    }
    static constexpr ExpandedObjectMethods methods = {flat_size, flatten};

    static ExpandedState* of(Datum value) {
        if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value))) return nullptr;
        ExpandedObjectHeader* const header = DatumGetEOHP(value);
        return header->eoh_methods == &methods ? reinterpret_cast<ExpandedState*>(header) : nullptr;
    }

    static Content parse(std::span<const std::byte> bytes, MemoryBudget& budget) {
        try {
            BackendContext context;
            if constexpr (!requires { Content::parse(bytes, budget, context); })
                return Content::parse(bytes, budget);
            else {
                Content content = Content::parse(bytes, budget, context);
                if constexpr (requires { content.options(); }) check_stored_text(content.options());
                return content;
            }
        } catch (const Error& error) {
            if (error.code() != ErrorCode::corrupt_model) throw;
            throw Error(ErrorCode::corrupt_model, format("invalid %s value", names.type), error.detail());
        }
    }

    static Datum validated(std::span<const std::byte> bytes) {
        MemoryBudget budget(memory_limit_bytes());
        parse(bytes, budget);
        return bytes_datum(bytes);
    }

    // An empty state whose memory goes with `parent`.
    static ExpandedState* create(MemoryContext parent) {
        ExpandedState* const state = pg_call([=] {
            const MemoryContext context = states_context(parent);
            auto* const expanded = static_cast<ExpandedState*>(MemoryContextAllocZero(context, sizeof(ExpandedState)));
            EOH_init_header(&expanded->header_, &methods, context);
            return expanded;
        });
        new (state->storage_) Owned(state->header_.eoh_context);
        return state;
    }

    ExpandedObjectHeader header_; // first: PostgreSQL sees only this
    alignas(Owned) std::byte storage_[sizeof(Owned)];
};

// Defines the functions of an SQL type whose values are such states: btml_TYPE_in(cstring), _out(state),
// _recv(internal), _send(state) and _combine(state, state).
#define BTML_STATE_TYPE(type, State)                                                                                   \
    BTML_FUNCTION(btml_##type##_in) {                                                                                  \
        return State::input(PG_GETARG_CSTRING(0));                                                                     \
    }                                                                                                                  \
    BTML_FUNCTION(btml_##type##_out) {                                                                                 \
        return State::output(PG_GETARG_DATUM(0));                                                                      \
    }                                                                                                                  \
    BTML_FUNCTION(btml_##type##_recv) {                                                                                \
        return State::receive(reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0)));                                     \
    }                                                                                                                  \
    BTML_FUNCTION(btml_##type##_send) {                                                                                \
        return State::send(PG_GETARG_DATUM(0));                                                                        \
    }                                                                                                                  \
    BTML_FUNCTION(btml_##type##_combine) {                                                                             \
        return State::combine(fcinfo);                                                                                 \
    }

} // namespace btml::pg
