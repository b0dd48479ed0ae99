#include "core/relational/streamed/read_ahead.hpp"

#include "core/base/threads.hpp"
#include "core/base/worker_contexts.hpp"

#include <memory>

namespace btml::relational {

namespace {

constexpr uint64_t max_waiting = 16; // batches that were read and are not added
constexpr uint64_t min_wakeful = 8;  // of them, until a thread that waits is woken: that takes as long as some 100 rows

// Holds batches between the thread that reads and the one that adds.
class BatchRing {
  public:
    BatchRing(RowSource& source, const std::vector<StreamedType>& columns, MemoryBudget& memory) : source_(source) {
        for (uint64_t i = 0; i < max_waiting; i++) batches_.push_back(std::make_unique<RowBatch>(columns, memory));
    }

    // Ends when the other thread has ended early, too.
    template <class Read, class Poll>
    void read_all(const Read& read, const Poll& poll) {
        const End end(*this);
        for (uint64_t number = 0; wait_for_room(poll); number++) {
            RowBatch& batch = *batches_[number % max_waiting];
            source_.next(batch);
            if (batch.rows == 0) return;
            read(batch.rows);
            const std::lock_guard lock(mutex_);
            waiting_++;
            if (waiting_ >= min_wakeful) changed_.notify_one();
        }
    }

    template <class Add>
    void add_all(const Add& add) {
        const End end(*this);
        for (uint64_t number = 0; wait_for_batch(); number++) {
            add(*batches_[number % max_waiting]);
            const std::lock_guard lock(mutex_);
            waiting_--;
            if (waiting_ <= max_waiting - min_wakeful) changed_.notify_one();
        }
    }

    // The other thread waits for nothing any more.
    void end() {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        changed_.notify_one();
    }

  private:
    // Ends the ring however a thread ends.
    class End {
      public:
        explicit End(BatchRing& ring) : ring_(ring) {}
        ~End() { ring_.end(); }
        End(const End&) = delete;
        End& operator=(const End&) = delete;

      private:
        BatchRing& ring_;
    };

    template <class Poll>
    bool wait_for_room(const Poll& poll) {
        constexpr std::chrono::milliseconds between_polls{10};
        std::unique_lock lock(mutex_);
        const auto has_room = [this] { return ended_ || waiting_ <= max_waiting - min_wakeful; };
        while (waiting_ == max_waiting && !changed_.wait_for(lock, between_polls, has_room)) {
            lock.unlock();
            poll();
            lock.lock();
        }
        return !ended_;
    }

    bool wait_for_batch() {
        std::unique_lock lock(mutex_);
        if (waiting_ == 0) changed_.wait(lock, [this] { return ended_ || waiting_ >= min_wakeful; });
        return waiting_ > 0;
    }

    RowSource& source_;
    std::vector<std::unique_ptr<RowBatch>> batches_;
    std::mutex mutex_;
    std::condition_variable changed_;
    uint64_t waiting_ = 0;
    bool ended_ = false; // one of the threads has
};

// Whether a ring of batches takes so little of the memory that is left that messages of the size that was planned still
// find theirs: there is twice as much as they need.
bool ring_fits(const std::vector<StreamedType>& columns, const MemoryBudget& memory) {
    constexpr uint64_t min_share = 4;
    return max_waiting * RowBatch::max_rows * RowBatch::row_bytes(columns) <= memory.left() / min_share;
}

} // namespace

void for_each_batch(RowSource& source, const std::vector<StreamedType>& columns, RunContext& context,
                    const std::function<void(RowBatch&, RunContext&)>& add, const std::function<void(uint32_t)>& read) {
    constexpr int max_alone = 8; // batches that are not worth a thread
    RowBatch batch(columns, context.memory());
    const auto next = [&] {
        source.next(batch);
        if (batch.rows == 0) return false;
        read(batch.rows);
        add(batch, context);
        return true;
    };
    for (int i = 0; i < max_alone; i++)
        if (!next()) return;
    const bool pays = !source.is_in_memory() && ring_fits(columns, context.memory());
    ThreadTeam team(context, pays ? 2 : 1);
    if (team.size() == 1) {
        while (next()) continue;
        return;
    }
    BatchRing ring(source, columns, context.memory());
    WorkerContexts contexts(context, team.size(), 0, "the messages of a join");
    const auto poll = [&] { contexts.poll(); };
    bool reads = true;
    const auto work = [&](size_t, int worker) {
        contexts.run(worker, [&](RunContext& of_thread) {
            // The main thread adds what is left where the other has not come to it.
            if (worker == 0 && std::exchange(reads, false))
                ring.read_all(read, poll);
            else
                ring.add_all([&](RowBatch& of_ring) { add(of_ring, of_thread); });
        });
    };
    // The main thread waits when it has read all, or where it was told to stop before it read anything.
    team.for_each(2, work, [&] {
        ring.end();
        poll();
    });
}

} // namespace btml::relational
