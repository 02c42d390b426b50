#include "sim/cluster/agenda.hpp"

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Semaphore.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace psim {
namespace {

double after(double date) { return std::nextafter(date, std::numeric_limits<double>::infinity()); }

// There is one clock in a process: SimGrid's.
struct Clock {
  double time = 0;      // SimGrid's, when psim looked last
  double date = 0;      // psim's at that time
  double planned = -1;  // the next date of the agenda
} the_clock;

}  // namespace

double Agenda::now() {
  const double time = simgrid::s4u::Engine::get_clock();
  if (time == the_clock.time) return the_clock.date;
  the_clock.time = time;
  const bool is_planned = the_clock.planned <= after(time) && time <= after(the_clock.planned);
  return the_clock.date = std::max(the_clock.date, is_planned ? the_clock.planned : time);
}

Agenda::Ticket Agenda::add(double date, std::function<void()> action, bool counts) {
  const Ticket ticket{std::max(date, now()), next_number_++};
  entries_.emplace(ticket, Entry{recorder_.causes().cause(), std::move(action), counts});
  arm();
  return ticket;
}

void Agenda::cancel(const Ticket& ticket) {
  if (entries_.erase(ticket) == 0 || armed_ == nullptr) return;
  if (!entries_.empty() && first_date() <= the_clock.planned) return;
  armed_->remove();
  armed_ = nullptr;
  arm();
}

void Agenda::sleep_until(double date) {
  if (!(date > now())) return;
  const simgrid::s4u::SemaphorePtr over = simgrid::s4u::Semaphore::create(0);
  const Alarm alarm(*this, end_of_work(date, [over] { over->release(); }));
  over->acquire();
}

void Agenda::on_advance(const std::function<void(double)>& look) {
  simgrid::s4u::Engine::on_time_advance_cb([look](double) { look(now()); });
}

void Agenda::clear() {
  entries_.clear();
  if (armed_ != nullptr) armed_->remove();
  armed_ = nullptr;
}

void Agenda::arm() {
  if (firing_ || entries_.empty()) return;
  const double date = first_date();
  if (armed_ != nullptr) {
    if (the_clock.planned <= date) return;
    armed_->remove();
  }
  the_clock.planned = date;
  // SimGrid's clock may be after psim's date, and SimGrid takes no date that is past.
  const double at = std::max(date, simgrid::s4u::Engine::get_clock());
  armed_ = simgrid::kernel::timer::Timer::set(at, [this] {
    armed_ = nullptr;
    fire();
  });
}

void Agenda::fire() {
  firing_ = true;
  const double last = after(now());
  while (!entries_.empty() && first_date() <= last) {
    const auto entry = entries_.extract(entries_.begin());
    the_clock.date = std::max(the_clock.date, entry.key().first);
    fired_ += entry.mapped().counts ? 1 : 0;
    recorder_.outside().goes_on(now(), entry.mapped().cause);
    entry.mapped().action();
  }
  firing_ = false;
  arm();
}

}  // namespace psim
