#include "analysis/timeline/service.hpp"

#include <vector>

#include "tests/support/catch.hpp"

using namespace psim::analysis;

namespace {

// One server of 1000 operations a second, ten for each value.
Facts facts() {
  Facts facts;
  facts.servers = facts.workers = 1;
  facts.server_flops_per_value = 10;
  facts.server_speeds = {1000};
  facts.fault_factors = {0.5, 0.25};
  return facts;
}

Row fault(double at, std::int64_t table, bool begins) {
  Row row;
  row.at = at;
  row.type = "fault";
  row.kind = "slow";
  row.peer = 1;
  row.has_target = 1;
  row.fault_table = table;
  row.begins = begins ? 1 : 0;
  return row;
}

Row push(double at) {
  Row row;
  row.at = at;
  row.type = "received";
  row.kind = "push";
  row.node = 1;
  row.peer = 2;
  row.values = 100;  // a second of the server's work
  return row;
}

}  // namespace

TEST_CASE("slow faults of one server multiply, whichever began last and whichever ends first", "[timeline]") {
  // 0.5 from 0 s on, 0.25 as well from 1 s to 3 s, in either order of the tables.
  for (const std::int64_t first : {0, 1}) {
    const Facts known = facts();
    const double outer = known.fault_factors[static_cast<std::size_t>(first)],
                 inner = known.fault_factors[static_cast<std::size_t>(1 - first)];
    std::vector<Service::Work> works;
    Service service(known, [&](const Service::Work& work) { works.push_back(work); });
    service.on(fault(0, first, true));
    service.on(push(0));
    service.on(fault(1, 1 - first, true));
    service.on(fault(3, 1 - first, false));
    service.on(fault(100, first, false));
    service.close(200);
    const double done = outer + 2 * outer * inner;  // seconds of work until 3 s
    INFO("table " << first << " first");
    REQUIRE(works.size() == 1);
    CHECK(works.front().begin == 0);
    CHECK(works.front().end ==
          Approx(done >= 1 ? 1 + (1 - outer) / (outer * inner) : 3 + (1 - done) / outer));
  }
}
