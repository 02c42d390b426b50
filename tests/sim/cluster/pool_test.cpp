// Goal: every task that is waited for has run once, on any number of threads. Method: counts and identities,
// with tasks that wait for each other only where threads are promised.
#include "sim/cluster/pool.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>

#include "tests/support/catch.hpp"

using namespace psim;

TEST_CASE("a pool of one computes in wait, in the order of the waits", "[pool]") {
  Pool pool(1);
  CHECK(pool.threads() == 1);
  std::vector<int> order;
  const auto a = pool.submit([&] { order.push_back(1); });
  const auto b = pool.submit([&] { order.push_back(2); });
  CHECK(order.empty());
  pool.wait(b);
  CHECK(order == std::vector<int>{2});
  pool.wait(a);
  CHECK(order == std::vector<int>{2, 1});
  pool.wait(a);  // done already: nothing runs twice
  CHECK(order.size() == 2);
}

TEST_CASE("every one of many tasks runs once, whatever the number of threads and the order of the waits",
          "[pool]") {
  const unsigned threads = GENERATE(1U, 2U, 3U);
  constexpr std::size_t count = 3000;
  Pool pool(threads);
  CHECK(pool.threads() == threads);
  std::vector<std::atomic<int>> runs(count);
  std::vector<Pool::Handle> tasks;
  for (std::size_t i = 0; i < count; ++i) tasks.push_back(pool.submit([&runs, i] { ++runs[i]; }));
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t task = i * 1009 % count;
    pool.wait(tasks[task]);
    REQUIRE(runs[task] == 1);
  }
  for (const auto& n : runs) REQUIRE(n == 1);
}

TEST_CASE("a pool is an executor that does each part once", "[pool]") {
  const unsigned threads = GENERATE(1U, 2U, 3U);
  Pool pool(threads);
  const LentExecutor lent(&pool);
  for (const std::size_t size : {std::size_t{0}, std::size_t{100'000}, std::size_t{1'000'003}}) {
    std::vector<int> times(size);
    parallel_for(size, 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++times[i];
    });
    CHECK(times == std::vector<int>(size, 1));
  }
}

TEST_CASE("an executor ends all parts before it passes an exception on", "[pool]") {
  Pool pool(3);
  std::atomic<int> done = 0;
  std::vector<std::function<void()>> parts(20, [&done] { ++done; });
  parts[3] = [] { throw std::runtime_error("no"); };
  CHECK_THROWS_WITH(pool.run_all(std::move(parts)), "no");
  CHECK(done == 19);
}

TEST_CASE("a task of an executor works alone", "[pool]") {
  Pool pool(2);
  const LentExecutor lent(&pool);
  std::atomic<int> alone = 0;
  pool.run_all(std::vector<std::function<void()>>(20, [&alone] { alone += executor == nullptr; }));
  CHECK(alone == 20);
  CHECK(executor == &pool);
}

TEST_CASE("what a task wrote is seen by whoever waited for it", "[pool]") {
  Pool pool(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> result;
    const auto task = pool.submit([&] { result.assign(100, round); });
    pool.wait(task);
    REQUIRE(result == std::vector<int>(100, round));
  }
}

TEST_CASE("tasks run on several threads at the same time", "[pool]") {
  Pool pool(3);
  // Each task ends only when all three have begun: two threads and the caller.
  std::atomic<int> begun = 0;
  std::vector<Pool::Handle> tasks;
  for (int i = 0; i < 3; ++i) {
    tasks.push_back(pool.submit([&] {
      ++begun;
      while (begun < 3) std::this_thread::yield();
    }));
  }
  for (const auto& task : tasks) pool.wait(task);
  CHECK(begun == 3);
}

TEST_CASE("an exception is thrown where the task is waited for, and nowhere else", "[pool]") {
  const unsigned threads = GENERATE(1U, 3U);
  Pool pool(threads);
  const auto bad = pool.submit([] { throw std::runtime_error("a broken gradient"); });
  bool ran = false;
  const auto good = pool.submit([&] { ran = true; });
  CHECK_NOTHROW(pool.wait(good));
  CHECK(ran);
  CHECK_THROWS_WITH(pool.wait(bad), "a broken gradient");
  CHECK_THROWS_AS(pool.wait(bad), std::runtime_error);  // and again for whoever else waits
  const auto after = pool.submit([] {});
  CHECK_NOTHROW(pool.wait(after));
}

TEST_CASE("a cancelled task that has not begun never runs", "[pool]") {
  Pool pool(1);
  int runs = 0;
  const auto cancelled = pool.submit([&] { runs += 100; });
  const auto kept = pool.submit([&] { ++runs; });
  pool.cancel(cancelled);
  pool.wait(kept);
  CHECK(runs == 1);
}

TEST_CASE("a thread that becomes free passes over what was cancelled", "[pool]") {
  std::atomic<int> begun = 0, unwanted_runs = 0;
  std::atomic<bool> may_end = false, last_done = false;
  {
    Pool pool(3);
    for (int i = 0; i < 2; ++i) {
      pool.submit([&] {
        ++begun;
        while (!may_end) std::this_thread::yield();
      });
    }
    while (begun < 2) std::this_thread::yield();  // both threads are busy
    const auto unwanted = pool.submit([&] { ++unwanted_runs; });
    pool.submit([&] { last_done = true; });
    pool.cancel(unwanted);
    may_end = true;
    while (!last_done) std::this_thread::yield();  // by then its turn has passed
  }
  CHECK(unwanted_runs == 0);
}

TEST_CASE("cancelling a task that is done or running does no harm", "[pool]") {
  Pool pool(3);
  std::atomic<bool> begun = false, may_end = false;
  const auto running = pool.submit([&] {
    begun = true;
    while (!may_end) std::this_thread::yield();
  });
  while (!begun) std::this_thread::yield();  // on a thread of the pool: nobody waits yet
  pool.cancel(running);
  may_end = true;
  pool.wait(running);
  pool.cancel(running);
  const auto next = pool.submit([] {});
  CHECK_NOTHROW(pool.wait(next));
}

TEST_CASE("a task that is done has let go of what it held", "[pool]") {
  const unsigned threads = GENERATE(1U, 3U);
  Pool pool(threads);
  auto held = std::make_shared<int>(7);
  const auto task = pool.submit([held] { (void)*held; });
  pool.wait(task);
  CHECK(held.use_count() == 1);
}

TEST_CASE("a pool that ends forgets the tasks that nobody waited for", "[pool]") {
  auto held = std::make_shared<int>(7);
  int runs = 0;
  {
    Pool pool(1);
    for (int i = 0; i < 10; ++i) pool.submit([held, &runs] { ++runs; });
  }
  CHECK(runs == 0);
  CHECK(held.use_count() == 1);
}
