// Processes that compute one thing together, each over rows of its own.
//
// One of them is the coordinator: it has no rows, tells the others what to do next, and adds up what they have. All run
// the same code over what they hold, so that what is the same everywhere (grids, bins, losses) need not be sent, and
// meet where that code needs a sum over all rows. Messages are in the layout of this processor's memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace btml {

using Bytes = std::vector<std::byte>;

template <class T>
concept Flat = std::is_trivially_copyable_v<T>;
template <class T>
concept FlatList = !Flat<T> && Flat<typename T::value_type>; // a vector

// Returns the bytes of a flat value, or of a vector of them.
template <Flat T>
Bytes to_bytes(const T& value) {
    Bytes bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}
template <FlatList T>
Bytes to_bytes(const T& values) {
    Bytes bytes(values.size() * sizeof(typename T::value_type));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

// Throws error internal: the bytes are those of something else.
[[noreturn]] void refuse_message();
template <Flat T>
void from_bytes(const Bytes& bytes, T& value) {
    if (bytes.size() != sizeof(T)) refuse_message();
    std::memcpy(&value, bytes.data(), sizeof(T));
}
template <FlatList T>
void from_bytes(const Bytes& bytes, T& values) {
    if (bytes.size() % sizeof(typename T::value_type) != 0) refuse_message();
    values.resize(bytes.size() / sizeof(typename T::value_type));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
}

class Peers {
  public:
    virtual ~Peers() = default;

    // Makes of a sum over the rows of this process the sum over those of all (an all-reduce): every process must call
    // it. Error internal for what another process did not sum.
    template <class Sum>
    void add_up(Sum& sum) {
        const auto add = [&](const Bytes& part) {
            Sum other{};
            from_bytes(part, other);
            sum += other;
        };
        const auto all = [&] { return to_bytes(sum); };
        if (const Bytes total = meet(all, add); !total.empty()) from_bytes(total, sum);
    }

  private:
    // Returns the total where others have added it up.
    virtual Bytes meet(const std::function<Bytes()>& sum, const std::function<void(const Bytes&)>& add) = 0;
};

// The process that leads the others. Items that are told wait until an answer is needed, and then go to all at once.
class Coordinator : public Peers {
  public:
    explicit Coordinator(size_t others) : answers_(others) {}

    size_t others() const { return answers_.size(); }
    void tell(const Bytes& item);
    // Returns the next answer of one of the others.
    Bytes answer_of(size_t other);
    // Sends what waits, although nothing is needed.
    void flush();

  private:
    // Sends a message to all others, and returns what each of them answers when it can do no more without another one.
    virtual std::vector<Bytes> exchange(const Bytes& message) = 0;
    Bytes meet(const std::function<Bytes()>& sum, const std::function<void(const Bytes&)>& add) override;

    Bytes message_; // items that wait
    std::vector<std::deque<Bytes>> answers_;
};

// A process that holds rows.
class Holder : public Peers {
  public:
    // message: the first of the coordinator.
    explicit Holder(const Bytes& message);

    void answer(const Bytes& item);
    Bytes listen();
    // Returns what is left to be answered when all is done.
    Bytes last_answer() { return std::move(answer_); }

  private:
    // Gives an answer, and returns the next message.
    virtual Bytes exchange(const Bytes& answer) = 0;
    Bytes meet(const std::function<Bytes()>& sum, const std::function<void(const Bytes&)>& add) override;

    Bytes answer_;
    std::deque<Bytes> items_;
};

} // namespace btml
