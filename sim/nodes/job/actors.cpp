#include "sim/nodes/job/actors.hpp"

#include <simgrid/Exception.hpp>
#include <simgrid/s4u/Actor.hpp>

#include <utility>

#include "sim/cluster/simgrid_version.hpp"
#include "sim/protocol/probe.hpp"

namespace sg4 = simgrid::s4u;

namespace psim {

CauseChain* running_chain() {
  const sg4::Actor* self = sg4::Actor::self();
  return self == nullptr ? nullptr : self->get_data<CauseChain>();
}

void follow(CauseChain& chain) { sg4::Actor::self()->set_data(&chain); }

// An exception that leaves an actor would abort the process. So spawn() keeps it, and rethrow() throws it
// after the engine has returned. An actor that is killed at its first date still runs until its first wait in
// SimGrid. A node that is down must not even begin, nor must any node when the run has ended.
sg4::ActorPtr Actors::spawn(const std::string& name, NodeId node, bool daemon, std::function<void()> body) {
  const std::uint32_t incarnation = network_.incarnation(node);
  auto guarded = [this, node, incarnation, body = std::move(body)] {
    if (PSIM_PROBE(network_.is_closed(), "a node starts at the date of the run's end")) return;
    if (!network_.is_up(node) || network_.incarnation(node) != incarnation) return;
    try {
      cpus_.of(node).wait_while_frozen();  // a node may come up frozen
      body();
    } catch (const simgrid::ForcefulKillException&) {
      throw;
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
      kill_all();
    }
  };
  const sg4::ActorPtr actor =
      add_actor(name, platform_.hosts[node], on_own_chain(recorder_, std::move(guarded)));
  if (daemon) actor->daemonize();
  return actor;
}

void Actors::kill_all() { sg4::Actor::kill_all(); }

void Actors::rethrow() const {
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace psim
