#include "sim/cluster/stations.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "sim/cluster/turns.hpp"
#include "sim/protocol/probe.hpp"

namespace psim {
namespace {

constexpr double packet = 1500;     // bytes: Ethernet's largest payload
constexpr std::uint8_t window = 2;  // segments
constexpr double parts_of_rest = 256;
constexpr double most_segments = 4096;  // of all loads that share a station, each in segments of its own size
constexpr double golden_section = 0.6180339887498949;

}  // namespace

Stations::Stations(const std::vector<double>& bandwidths, unsigned segments, Arrived arrived)
    : part_(2.0 / segments), arrived_(std::move(arrived)) {
  stations_.reserve(bandwidths.size());
  for (const double bandwidth : bandwidths) stations_.emplace_back(bandwidth);
}

void Stations::plan(double date, Kind kind, const Segment& segment) {
  events_.push({date, next_number_++, segment, kind});
}

void Stations::plan_end(std::uint32_t number, double date) {
  Station& station = stations_[number];
  station.end = date;
  plan(date, Kind::ends, {number, ++station.turn, 0, 0, 0});
}

double Stations::next() const {
  return events_.empty() ? std::numeric_limits<double>::infinity() : events_.top().date;
}

void Stations::advance(double until) {
  while (!events_.empty() && events_.top().date <= until) {
    const Event event = events_.top();
    events_.pop();
    clock_ = event.date;
    happen(event);
  }
  clock_ = std::max(clock_, until);
}

void Stations::happen(const Event& event) {
  const Segment& segment = event.segment;
  if (event.kind == Kind::ends) {
    if (stations_[segment.slot].turn == segment.life) end_turn(segment.slot);
    return;
  }
  if (is_gone(segment)) return;
  if (event.kind == Kind::through) {
    if (!open_[segment.slot].alone) return;
    if (const double end = open_[segment.slot].through; end > clock_)
      return plan(end, Kind::through, segment);
    count_out(segment.slot);
    return arrive(segment.slot);
  }
  if (event.kind == Kind::arrives) arrive(segment.slot);
  else if (event.kind == Kind::comes) has_changed_ && !is_due(segment) ? void() : come(segment);
  else if (const Open& open = open_[segment.slot]; open.bytes <= packet || open.hops == 0) slip_in(segment);
  else set_out(segment.slot);
}

// Places follow the golden section, so the places of consecutive loads lie far from each other.
void Stations::enter(std::uint32_t slot, double date, const Load& load) {
  widen(open_, slot + std::size_t{1});
  Open& open = open_[slot];
  const double place = static_cast<double>(++entered_) * golden_section;
  open.bytes = open.left = load.bytes;
  open.weight = load.weight;
  open.limit = load.limit;
  open.last_turn = load.last_turn;
  open.step = load.step;
  open.paced = date = std::max(date, clock_);
  open.place = place - std::floor(place);
  open.sent = 0;
  open.under_way = 0;
  for (Open::InFlight& part : open.parts) part.bytes = 0;
  open.present = true;
  open.counts = open.alone = false;
  lay_out(slot, load);
  plan(date, Kind::enters, {slot, ++open.life, 0, 0, 0});
}

// Stores the load's path. A path longer than all before it enlarges every slot.
void Stations::lay_out(std::uint32_t slot, const Load& load) {
  const std::size_t needed = load.path.size() + load.back.size();
  if (needed > hops_each_) {
    std::vector<Hop> wider(needed * (hops_.size() / hops_each_));
    for (std::size_t i = 0; i < hops_.size(); ++i) wider[i / hops_each_ * needed + i % hops_each_] = hops_[i];
    hops_ = std::move(wider);
    hops_each_ = needed;
  }
  widen(hops_, open_.size() * hops_each_);
  open_[slot].hops = static_cast<std::uint16_t>(load.path.size());
  open_[slot].back = static_cast<std::uint16_t>(load.back.size());
  Hop* hop = hops_of(slot);
  for (const std::uint32_t station : load.path) *hop++ = {station, {}, 0};
  for (const std::uint32_t station : load.back) *hop++ = {station, {}, 0};
}

// Sends a single packet along its path. It waits only for other packets.
void Stations::slip_in(const Segment& whole) {
  const Open& open = open_[whole.slot];
  double head = clock_, tail = clock_;
  if (open.limit > 0) tail += open.bytes / open.limit;
  for (const Hop& hop : std::span(hops_of(whole.slot), open.hops)) {
    Station& station = stations_[hop.station];
    const double time = open.bytes / station.bandwidth;
    const double ready = std::max(head, tail - time);
    if (station.packets_until > ready) head = station.packets_until;
    tail = std::max({tail, ready + time, station.packets_until + time});
    station.packets_until = tail;
    if (station.busy) station.slipped_in += time;
    if (station.alone && !(station.bandwidth > open_[*station.alone].rate))
      open_[*station.alone].through += time;
  }
  plan(tail, Kind::arrives, whole);
}

// From now on the load counts at its stations. A load that was alone there is no longer alone.
void Stations::set_out(std::uint32_t slot) {
  open_[slot].counts = true;
  for (const Hop& hop : std::span(hops_of(slot), open_[slot].hops + open_[slot].back)) {
    Station& station = stations_[hop.station];
    ++station.loads;
    if (station.alone) be_no_more_alone(*station.alone);
  }
  send_segments(slot);
}

void Stations::count_out(std::uint32_t slot) {
  Open& open = open_[slot];
  if (!std::exchange(open.counts, false)) return;
  for (const Hop& hop : std::span(hops_of(slot), open.hops + open.back)) {
    Station& station = stations_[hop.station];
    --station.loads;
    if (station.alone == slot) station.alone.reset();
  }
  open.alone = false;
}

bool Stations::is_alone(std::uint32_t slot) const {
  const Open& open = open_[slot];
  const auto is_own = [this](const Hop& hop) { return stations_[hop.station].loads == 1; };
  return std::ranges::all_of(std::span(hops_of(slot), open.hops + open.back), is_own);
}

// Sends the rest in one piece, at the speed of its slowest station, after the packets there.
void Stations::go_alone(std::uint32_t slot) {
  Open& open = open_[slot];
  open.alone = true;
  double since = open.limit > 0 ? std::max(clock_, open.paced) : clock_;
  open.rate = open.limit > 0 ? open.limit : std::numeric_limits<double>::infinity();
  for (const Hop& hop : std::span(hops_of(slot), open.hops)) {
    Station& station = stations_[hop.station];
    station.alone = slot;
    since = std::max(since, station.packets_until);
    open.rate = std::min(open.rate, station.bandwidth);
  }
  open.through = since + open.left / open.rate;
  plan(open.through, Kind::through, {slot, open.life, 0, 0, 0});
}

// Another load has come, or a bandwidth has changed.
void Stations::be_no_more_alone(std::uint32_t slot) {
  Open& open = open_[slot];
  if (!(open.through > clock_)) return;  // it ends at this date
  open.left = std::min(open.left, (open.through - clock_) * open.rate);
  open.paced = clock_;
  open.alone = false;
  for (const Hop& hop : std::span(hops_of(slot), open.hops)) stations_[hop.station].alone.reset();
  send_segments(slot);
}

double Stations::next_segment(std::uint32_t slot) const {
  const Open& open = open_[slot];
  std::uint32_t loads = 1;
  for (const Hop& hop : std::span(hops_of(slot), open.hops))
    loads = std::max(loads, stations_[hop.station].loads);
  const double step = open.step > 0 ? std::max(open.step, loads * open.bytes / most_segments) : open.bytes;
  const double most = std::min(part_ * open.bytes, step), least = std::max(most / 16, packet);
  const double first = open.sent == 0 ? std::max(least, open.place * most) : most;
  const double bytes = std::min(first, std::max(open.left / 2, least));
  return open.left - bytes < least / 2 ? open.left : bytes;
}

void Stations::send_segments(std::uint32_t slot) {
  Open& open = open_[slot];
  if (open.left > 0 && is_alone(slot)) return open.under_way == 0 ? go_alone(slot) : void();
  while (open.under_way < window && open.left > 0) {
    const std::uint8_t index = open.parts[0].bytes > 0 ? 1 : 0;  // segments may overtake each other
    const Segment segment{slot, open.life, 0, static_cast<std::uint8_t>(open.sent), index};
    const double rest = open.left - open.last_turn;
    const double bytes = rest > 0 ? std::min(next_segment(slot), rest) : next_segment(slot);
    open.parts[segment.index] = {
        .bytes = bytes, .announced = 1, .number = segment.number, .is_last_turn = !(rest > 0)};
    for (Hop& hop : std::span(hops_of(slot), open.hops)) hop.at[segment.index] = {};
    open.left -= bytes;
    ++open.sent;
    ++open.under_way;
    double ready = clock_;
    if (open.limit > 0) {
      const double head = std::max(clock_, open.paced);
      open.paced = head + bytes / open.limit;
      ready = std::max(head, open.paced - bytes / stations_[hops_of(slot)->station].bandwidth);
    }
    ready > clock_ ? plan(ready, Kind::comes, segment) : come(segment);
  }
}

// The bytes of the segment that its next or current station still has to pass.
double Stations::bytes_of(const Segment& segment) const {
  const double bytes = open_[segment.slot].parts[segment.index].bytes;
  const std::uint8_t rest = hops_of(segment.slot)[segment.hop].at[segment.index].rest;
  return rest == 0 ? bytes : bytes * rest / parts_of_rest;
}

double Stations::time_of(const Segment& segment) const {
  return bytes_of(segment) / stations_[hops_of(segment.slot)[segment.hop].station].bandwidth;
}

// Puts the segment into the queue of its next station.
void Stations::come(const Segment& segment) {
  Open& open = open_[segment.slot];
  const Open::InFlight& part = open.parts[segment.index];
  Hop& hop = hops_of(segment.slot)[segment.hop];
  Station& station = stations_[hop.station];
  hop.at[segment.index].stage = Stage::here;
  const double start = std::max(hop.virtual_date, station.virtual_date);
  const double length = bytes_of(segment) / (part.is_last_turn ? last_turn_gain * open.weight : open.weight);
  hop.virtual_date = start + length;
  if (!station.busy) {
    station.virtual_date = start;
    return serve(hop.station, segment);
  }
  const bool last = !(open.left > 0) && segment.number == static_cast<std::uint8_t>(open.sent - 1);
  const double at = last ? hop.virtual_date : start + open.place * length;
  station.waiting.push({at, station.came++, segment});
}

void Stations::serve_next(std::uint32_t number) {
  Station& station = stations_[number];
  while (!station.busy && !station.waiting.empty()) {
    const Waiting next = station.waiting.top();
    station.waiting.pop();
    if (is_gone(next.segment)) continue;
    station.virtual_date = next.at;
    serve(number, next.segment);
  }
}

void Stations::serve(std::uint32_t number, const Segment& segment) {
  Station& station = stations_[number];
  const Open& open = open_[segment.slot];
  const double bytes = bytes_of(segment);
  const double start = std::max(clock_, station.packets_until);
  station.busy = true;
  station.served = segment;
  station.slipped_in = 0;
  plan_end(number, start + bytes / station.bandwidth);
  if (segment.hop == 0) {
    for (const Hop& back : std::span(hops_of(segment.slot) + open.hops, open.back)) {
      Station& other = stations_[back.station];
      if (other.busy) other.slipped_in += share_of_acknowledgements * bytes / other.bandwidth;
    }
  }
  announce(segment, start, station.end);
}

// A station serves the segment from `begin` to `end`. Announces it to the next stations, up to the first one
// that may begin at once. That station announces it to the others when it serves the segment.
void Stations::announce(const Segment& segment, double begin, double end) {
  Open& open = open_[segment.slot];
  Open::InFlight& part = open.parts[segment.index];
  while (part.announced < open.hops) {
    Segment ahead = segment;
    ahead.hop = part.announced++;
    const double ready = std::max(begin, end - time_of(ahead));
    if (!(ready > clock_)) return come(ahead);
    plan(ready, Kind::comes, ahead);
  }
}

// The station that serves the segment has become faster and ends at `end`. Plans the segment's arrival at the
// next stations for an earlier date. The old plan also fires; is_due() ignores it if the segment has arrived.
void Stations::announce_again(const Segment& segment, double end) {
  Segment ahead = segment;
  while (++ahead.hop < open_[segment.slot].parts[segment.index].announced) {
    if (at(ahead).stage == Stage::ahead) plan(std::max(clock_, end - time_of(ahead)), Kind::comes, ahead);
  }
}

// The last earlier station that serves the segment now; null if the segment has passed all of them.
const Stations::Station* Stations::source_of(const Segment& segment) const {
  Segment before = segment;
  while (before.hop-- > 0) {
    const Hop& hop = hops_of(segment.slot)[before.hop];
    if (hop.at[segment.index].stage == Stage::through) return nullptr;
    const Station& station = stations_[hop.station];
    if (station.busy && station.served == before) return &station;
  }
  return nullptr;
}

// Whether the segment comes at the planned date. It comes later if the station before has become slower.
bool Stations::is_due(const Segment& segment) {
  const bool is_under_way = open_[segment.slot].parts[segment.index].number == segment.number;
  if (!is_under_way || at(segment).stage != Stage::ahead) return false;
  const Station* source = source_of(segment);
  const double ready = source == nullptr ? clock_ : source->end - time_of(segment);
  if (ready > clock_) plan(ready, Kind::comes, segment);
  return !(ready > clock_);
}

// Whether the station at its planned end has not received the whole segment, because an earlier station has
// become slower. The rest, rounded up, comes later.
bool Stations::lacks_rest(const Segment& segment) {
  const Station* source = source_of(segment);
  if (source == nullptr) return false;
  const double rest = (source->end - clock_) * source->bandwidth;
  if (!(rest > packet)) return false;
  PSIM_PROBE(true, "a station lacks the rest of a segment, because a link became slower");
  const double parts = std::ceil(parts_of_rest * rest / open_[segment.slot].parts[segment.index].bytes);
  at(segment) = {.stage = Stage::ahead,
                 .rest = parts < parts_of_rest ? static_cast<std::uint8_t>(parts) : std::uint8_t{0}};
  plan(std::max(clock_, source->end - time_of(segment)), Kind::comes, segment);
  return true;
}

void Stations::end_turn(std::uint32_t number) {
  Station& station = stations_[number];
  if (station.slipped_in > 0) return plan_end(number, clock_ + std::exchange(station.slipped_in, 0));
  const Segment segment = station.served;
  const bool stays = is_gone(segment) || (has_changed_ && lacks_rest(segment));
  if (!stays) leave(segment);  // while busy: the load's next segment goes behind waiting segments
  station.busy = false;
  serve_next(number);
}

void Stations::leave(const Segment& segment) {
  at(segment).stage = Stage::through;
  Open& open = open_[segment.slot];
  if (++open.parts[segment.index].passed < open.hops) return;
  open.parts[segment.index].bytes = 0;
  --open.under_way;
  if (open.left > 0) send_segments(segment.slot);
  else if (open.under_way == 0) {
    count_out(segment.slot);
    arrive(segment.slot);
  }
}

void Stations::arrive(std::uint32_t slot) {
  open_[slot].present = false;
  arrived_(slot, clock_);
}

void Stations::cancel(std::uint32_t slot, double date) {
  advance(date);
  if (slot >= open_.size() || !open_[slot].present) return;
  const Open& open = open_[slot];
  open_[slot].present = false;
  count_out(slot);
  for (const Hop& hop : std::span(hops_of(slot), open.hops)) {
    Station& station = stations_[hop.station];
    if (!station.busy || station.served.slot != slot || station.served.life != open.life) continue;
    station.busy = false;
    ++station.turn;
    serve_next(hop.station);
  }
}

// The station's remaining work takes longer, or less time.
void Stations::set_bandwidth(std::uint32_t number, double bandwidth, double date) {
  advance(date);
  Station& station = stations_[number];
  const double before = std::exchange(station.bandwidth, bandwidth);
  if (before == bandwidth) return;
  has_changed_ = true;
  const double times = before / bandwidth;
  station.slipped_in *= times;
  station.packets_until = clock_ + std::max(0.0, station.packets_until - clock_) * times;
  if (station.alone) be_no_more_alone(*station.alone);
  if (!station.busy) return;
  plan_end(number, clock_ + (station.end - clock_) * times);
  if (bandwidth > before) announce_again(station.served, station.end);
}

namespace {

constexpr double most_of_message = 128 << 10U, most_of_port = 8 * most_of_message;  // bytes

}  // namespace

PortQueues::Port& PortQueues::port(std::uint32_t host) {
  if (host >= ports_.size()) ports_.resize(host + std::size_t{1});
  return ports_[host];
}

void PortQueues::add(const Cargo& cargo, double now) {
  const std::uint32_t from = host_of(cluster_, cargo.from), to = host_of(cluster_, cargo.to);
  port(to).arriving.push_back(cargo.slot);
  ++port(from).leaving;
  widen(on_way_, cargo.slot + std::size_t{1});
  on_way_[cargo.slot] = {.from = from, .to = to, .bytes = static_cast<double>(cargo.bytes), .begun = now};
}

// What the sender's share of its own link exceeds the message's share of the port by, since the message
// began.
double PortQueues::waiting(const Arriving& message, double now, double bandwidth) const {
  const auto leaving = static_cast<double>(ports_[message.from].leaving),
             arriving = static_cast<double>(ports_[message.to].arriving.size());
  const double excess = bandwidth * (1 / leaving - 1 / arriving) * (now - message.begun);
  return std::clamp(excess, 0.0, std::min(most_of_message, part_ * message.bytes));
}

double PortQueues::wait(std::uint32_t to, double now, double bandwidth) {
  if (bandwidth == 0) return 0;
  double queue = 0;
  for (const std::uint32_t slot : port(to).arriving) {
    queue += waiting(on_way_[slot], now, bandwidth);
    if (queue >= most_of_port) break;
  }
  return std::min(queue, most_of_port) / bandwidth;
}

void PortQueues::end(std::uint32_t slot) {
  if (slot >= on_way_.size() || on_way_[slot].bytes == 0) return;
  const Arriving message = std::exchange(on_way_[slot], {});
  std::erase(ports_[message.to].arriving, slot);
  --ports_[message.from].leaving;
}

}  // namespace psim
