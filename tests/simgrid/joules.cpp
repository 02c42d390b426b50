// What SimGrid's own host energy plug-in says of a machine of one core that works and waits in turn.
//   psim_joules IDLE_WATTS FULL_WATTS FIRST_PAUSE_S STEPS WORK_S PAUSE_S      prints joules
#include <fmt/format.h>
#include <simgrid/plugins/energy.h>
#include <simgrid/s4u.hpp>

#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

int main(int argc, char** argv) {
  sg_host_energy_plugin_init();
  sg4::Engine engine(&argc, argv);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 6) return 2;
  const double speed = 1e6;
  const double first = std::stod(words[2]), work = std::stod(words[4]), pause = std::stod(words[5]);
  const int steps = std::stoi(words[3]);
  sg4::NetZone* zone = sg4::create_full_zone("zone");
  sg4::Host* host = zone->create_host("host", speed);
  host->set_property("wattage_per_state", fmt::format("{}:{}", words[0], words[1]))->seal();
  zone->seal();
  sg4::Actor::create("worker", host, [=] {
    sg4::this_actor::sleep_for(first);
    for (int i = 0; i < steps; ++i) {
      sg4::this_actor::execute(work * speed);
      sg4::this_actor::sleep_for(pause);
    }
  });
  engine.run();
  fmt::print("{:.9g}\n", sg_host_get_consumed_energy(host));
}
