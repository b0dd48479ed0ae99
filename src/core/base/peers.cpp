#include "core/base/peers.hpp"

#include "core/base/error.hpp"

#include <utility>

namespace btml {

void refuse_message() {
    throw Error(ErrorCode::internal, "a message of another process is not what was expected");
}

// A message is a list of items, each behind its length.
static void append(Bytes& message, const Bytes& item) {
    const Bytes length = to_bytes(item.size());
    message.insert(message.end(), length.begin(), length.end());
    message.insert(message.end(), item.begin(), item.end());
}

static void take_apart(const Bytes& message, std::deque<Bytes>& items) {
    size_t length;
    for (size_t place = 0; place < message.size(); place += length) {
        if (message.size() - place < sizeof(length)) refuse_message();
        std::memcpy(&length, &message[place], sizeof(length));
        place += sizeof(length);
        if (message.size() - place < length) refuse_message();
        const auto begin = message.begin() + static_cast<std::ptrdiff_t>(place);
        items.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(length));
    }
}

void Coordinator::tell(const Bytes& item) {
    append(message_, item);
}

void Coordinator::flush() {
    const std::vector<Bytes> answers = exchange(std::exchange(message_, {}));
    if (answers.size() != answers_.size()) refuse_message();
    for (size_t other = 0; other < answers.size(); other++) take_apart(answers[other], answers_[other]);
}

Bytes Coordinator::answer_of(size_t other) {
    std::deque<Bytes>& answers = answers_[other];
    if (answers.empty()) flush();
    if (answers.empty()) refuse_message();
    Bytes answer = std::move(answers.front());
    answers.pop_front();
    return answer;
}

Bytes Coordinator::meet(const std::function<Bytes()>& sum, const std::function<void(const Bytes&)>& add) {
    for (size_t other = 0; other < others(); other++) add(answer_of(other));
    tell(sum());
    return {};
}

Holder::Holder(const Bytes& message) {
    take_apart(message, items_);
}

void Holder::answer(const Bytes& item) {
    append(answer_, item);
}

Bytes Holder::listen() {
    if (items_.empty()) take_apart(exchange(std::exchange(answer_, {})), items_);
    if (items_.empty()) refuse_message();
    Bytes item = std::move(items_.front());
    items_.pop_front();
    return item;
}

Bytes Holder::meet(const std::function<Bytes()>& sum, const std::function<void(const Bytes&)>&) {
    answer(sum());
    return listen();
}

} // namespace btml
