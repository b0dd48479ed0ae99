// What tests of errors and cancellation share.
#pragma once

#include "core/base/run_context.hpp"

namespace btml::test {

// A host that counts polls, and gives up after some.
class ImpatientContext : public QuietContext {
  public:
    explicit ImpatientContext(uint64_t patience = UINT64_MAX, int threads = 1)
        : QuietContext(threads), patience_(patience) {}
    bool keep_going() override { return polls++ < patience_; }
    uint64_t polls = 0;

  private:
    const uint64_t patience_;
};

// A host that gives up when so many more units of work are done, fewer than polls are apart.
class ExpiringContext : public ImpatientContext {
  public:
    explicit ExpiringContext(uint64_t units) : ImpatientContext(0) { worked((uint64_t{1} << 18) - 1 - units); }
};

// The Error that body throws, if it does.
struct Caught {
    bool thrown = false;
    ErrorCode code = ErrorCode::internal;
    std::string message, detail, hint;
};

template <class Body>
Caught caught(Body&& body) {
    try {
        body();
    } catch (const Error& error) {
        return {true, error.code(), error.message(), error.detail(), error.hint()};
    }
    return {};
}

} // namespace btml::test
