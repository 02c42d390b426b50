#include "sim/cluster/agenda.hpp"

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u/Engine.hpp>

#include <algorithm>
#include <utility>

namespace psim {

double Agenda::now() { return simgrid::s4u::Engine::get_clock(); }

void Agenda::at(double date, std::function<void()> action) {
  entries_.push({std::max(date, now()), next_number_++, recorder_.causes().cause(), std::move(action)});
  arm();
}

void Agenda::on_advance(const std::function<void(double)>& look) {
  simgrid::s4u::Engine::on_time_advance_cb([look](double) { look(now()); });
}

void Agenda::clear() {
  entries_ = {};
  if (armed_ != nullptr) armed_->remove();
  armed_ = nullptr;
}

void Agenda::arm() {
  if (firing_ || entries_.empty()) return;
  const double date = entries_.top().date;
  if (armed_ != nullptr) {
    if (armed_->get_date() <= date) return;
    armed_->remove();
  }
  armed_ = simgrid::kernel::timer::Timer::set(date, [this] {
    armed_ = nullptr;
    fire();
  });
}

void Agenda::fire() {
  firing_ = true;
  while (!entries_.empty() && entries_.top().date <= now()) {
    const Entry entry = entries_.top();
    entries_.pop();
    ++fired_;
    recorder_.outside().goes_on(now(), entry.cause);
    entry.action();
  }
  firing_ = false;
  arm();
}

}  // namespace psim
