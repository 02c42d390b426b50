// A network of queues: every direction of a link is a station that sends one segment at a time. It knows only
// dates and bytes, neither SimGrid nor messages.
//
// Decisions:
// - Segments. A load travels in segments. Each is at most 2 / `segments` of the load, and at most half of the
//   rest, so the error of the load's end is a small part of its time. The first segment has an arbitrary part
//   of this length, so that loads of one date do not stay in step.
// - Steps. Loads that share a station may differ by a few bytes only (Load::step), and a longer segment would
//   hide the difference. So a segment is no longer than a step. If n loads share a station, a load has at
//   most `most_segments` / n segments of its own size. So all loads together cost as much as two.
// - Alone. A load that shares no station needs no segments: its end is known. When another load comes to one
//   of its stations, the rest of the load goes on in segments; when it is alone again, in one piece.
// - Cut-through. A station may begin with a segment when the station before it has begun, but not so early
//   that it would run dry. A station behind a faster station may begin even earlier. So a lone load takes
//   exactly bytes / (bandwidth of its slowest link).
// - Fair queueing. A station serves the segment with the least virtual date, in O(log n). The virtual date of
//   a load advances by bytes / weight, as in start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996). A
//   segment stands at its load's own place between its start and its finish, the last segment at its finish.
//   Otherwise every load would be early or late by half a segment of each other load.
// - Windows. A load has at most two segments on their way. The next segment goes when one has passed all
//   stations. With windows, fair queueing at every station approximates max-min shares of the whole network
//   (Hahne, "Round-robin scheduling for max-min fairness in data networks", IEEE JSAC 1991), because segments
//   that wait elsewhere do not take a turn here.
// - Packets. A load of one packet slips in between two packets of a segment. The segment ends later by the
//   packet's time.
// - Changes. When a station's bandwidth changes, the ends of its current segment and of announced segments
//   change. The stations behind it check at the planned start and end of a segment whether its bytes are
//   there. If not, the missing part queues again, so that a load that is slow elsewhere does not block
//   others.
#pragma once

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "sim/cluster/carrier.hpp"
#include "sim/cluster/turns.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Room for `size` values. Doubling the memory would leave half of it unused.
template <class T>
void widen(std::vector<T>& values, std::size_t size) {
  if (size <= values.size()) return;
  if (size > values.capacity()) values.reserve(size + size / 4 + 4);
  values.resize(size);
}

// A priority queue; its first element is the greatest by <. It releases memory as it empties: each of
// thousands of stations has a long queue at some date, but few have one at the same date.

// Each node has four children: half as many levels as with two, and the children are neighbours in memory.
template <class T>
class Heap {
 public:
  bool empty() const { return values_.empty(); }
  std::size_t size() const { return values_.size(); }
  std::size_t capacity() const { return values_.capacity(); }
  const T& top() const { return values_.front(); }

  void push(const T& value) {
    widen(values_, values_.size() + 1);
    values_.back() = value;
    rise(values_.size() - 1, value);
  }

  void pop() {
    const T last = values_.back();
    values_.pop_back();
    if (!values_.empty()) sink(last);
    if (values_.capacity() > 8 && values_.size() < values_.capacity() / 4) shrink();
  }

 private:
  static constexpr std::size_t arity = 4;

  // Fills the free first place. The greatest child moves up at every level; then `value` rises from the end.
  // It was the last value, so it stays near the end.
  void sink(const T& value) {
    std::size_t place = 0;
    for (std::size_t child = 1; child < values_.size(); child = arity * place + 1) {
      const std::size_t greatest = greatest_from(child);
      values_[place] = values_[greatest];
      place = greatest;
    }
    rise(place, value);
  }

  void rise(std::size_t place, const T& value) {
    for (; place > 0 && values_[(place - 1) / arity] < value; place = (place - 1) / arity)
      values_[place] = values_[(place - 1) / arity];
    values_[place] = value;
  }

  // The greatest of the children from `child` on. No result is predictable, so there are no branches.
  std::size_t greatest_from(std::size_t child) const {
    const T* values = &values_[child];
    if (values_.size() - child < arity)
      return child +
             static_cast<std::size_t>(std::max_element(values, values_.data() + values_.size()) - values);
    const std::size_t left = values[0] < values[1] ? 1 : 0, right = values[2] < values[3] ? 3 : 2;
    return child + (values[left] < values[right] ? right : left);
  }

  // Halves the memory; the next pushes need no allocation.
  void shrink() {
    std::vector<T> fewer;
    fewer.reserve(2 * values_.size());
    fewer.assign(values_.begin(), values_.end());
    values_ = std::move(fewer);
  }

  std::vector<T> values_;
};

class Stations {
 public:
  using Path = boost::container::small_vector<std::uint32_t, 6>;  // stations, in order of crossing

  struct Load {
    double bytes = 0;
    double weight = 1;     // of its share when it shares a station
    double limit = 0;      // bytes per second at most; 0: no limit
    double last_turn = 0;  // bytes at its end with more weight (turns.hpp)
    double step = 0;       // bytes of its longest segment when it shares a station; 0: from `segments`
    Path path = {};
    Path back = {};  // path of its acknowledgements, if they use bandwidth
  };

  // Bandwidths in bytes per second. `arrived` gets a load's slot and the date when its last byte arrives.
  // Dates never fall.
  using Arrived = std::function<void(std::uint32_t slot, double date)>;
  Stations(const std::vector<double>& bandwidths, unsigned segments, Arrived arrived);

  // Starts a load at `date`. `slot`: a small number that no other current load has.
  void enter(std::uint32_t slot, double date, const Load& load);
  // Cancels a load from `date` on, or from the date of the last advance() if that is later. No more of it is
  // sent, and it does not arrive.
  void cancel(std::uint32_t slot, double date);
  // Takes effect at the same date as cancel() does.
  void set_bandwidth(std::uint32_t station, double bandwidth, double date);

  // The date of the next event; infinite: none.
  double next() const;
  // Handles all events until `until`.
  void advance(double until);

 private:
  enum class Stage : std::uint8_t { ahead, here, through };
  struct Hop {
    std::uint32_t station;
    struct At {
      Stage stage;
      std::uint8_t rest;  // 256ths of the segment that it must still pass; 0: all
    };
    At at[2];             // by index of the segment
    double virtual_date;  // finish of the load's last segment at this station
  };
  // A load on its way.
  struct Open {
    double bytes = 0, left = 0;  // left: not sent yet
    double weight = 1, limit = 0, last_turn = 0;
    double paced = 0;  // date until which the limit forbids more
    double place = 0;  // of its segments, between their start and finish, in [0, 1)
    double step = 0;
    double rate = 0, through = 0;  // alone: its speed and its end
    struct InFlight {
      double bytes = 0;             // 0: no segment
      std::uint16_t announced = 0;  // hops that it has reached, or at which its arrival is planned
      std::uint16_t passed = 0;     // hops
      std::uint8_t number = 0;      // as in Segment
      bool is_last_turn = false;
    };
    InFlight parts[2] = {};  // the segments under way
    std::uint32_t life = 0;  // slots are reused; the life shows which load a segment belongs to
    std::uint32_t sent = 0;  // segments
    std::uint16_t hops = 0;  // of its path
    std::uint16_t back = 0;  // stations that its acknowledgements cross
    std::uint8_t under_way = 0;
    bool present = false;
    bool counts = false;  // among the loads that share its stations
    bool alone = false;   // on its way in one piece
  };
  struct Segment {
    std::uint32_t slot, life;
    std::uint16_t hop;
    std::uint8_t number;  // of the load's segments; wraps around to 0, which is safe
    std::uint8_t index;   // in Open::parts
    bool operator==(const Segment&) const = default;
  };
  struct Waiting {
    double at;  // virtual date
    std::uint32_t number;
    Segment segment;
    // Numbers wrap around to 0; the order of waiting segments is still correct.
    bool is_behind(std::uint32_t other) const { return static_cast<std::int32_t>(number - other) > 0; }
    // Dates are not negative, so their bits have the same order. These are comparisons without branches.
    bool operator<(const Waiting& o) const {
      const auto date = std::bit_cast<std::uint64_t>(at), other = std::bit_cast<std::uint64_t>(o.at);
      return static_cast<bool>(int{date > other} | (int{date == other} & int{is_behind(o.number)}));
    }
  };
  struct Station {
    explicit Station(double bytes_per_second) : bandwidth(bytes_per_second) {}
    double bandwidth;
    double virtual_date = 0;  // of the segment served last
    double end = 0;           // of the current segment
    double packets_until = 0;
    double slipped_in = 0;  // seconds that packets have added to the current segment
    Segment served = {};
    std::uint32_t turn = 0;
    std::uint32_t came = 0;                   // segments that had to wait so far
    std::uint32_t loads = 0;                  // loads that cross it, or whose acknowledgements cross it
    std::optional<std::uint32_t> alone = {};  // slot of the only load that uses it
    bool busy = false;
    Heap<Waiting> waiting;
  };
  enum class Kind : std::uint8_t { enters, comes, ends, arrives, through };
  struct Event {
    double date;
    std::uint64_t number;
    Segment segment;  // for `ends`: slot = the station's number, life = the station's turn
    Kind kind;
    __extension__ using Key = unsigned __int128;
    Key key() const { return Key{std::bit_cast<std::uint64_t>(date)} << 64U | number; }
    bool operator<(const Event& o) const { return key() > o.key(); }
  };

  void plan(double date, Kind kind, const Segment& segment);
  void plan_end(std::uint32_t station, double date);
  void happen(const Event& event);
  bool is_gone(const Segment& s) const { return open_[s.slot].life != s.life || !open_[s.slot].present; }
  void slip_in(const Segment& whole);
  double next_segment(std::uint32_t slot) const;
  void set_out(std::uint32_t slot);
  void count_out(std::uint32_t slot);
  bool is_alone(std::uint32_t slot) const;
  void go_alone(std::uint32_t slot);
  void be_no_more_alone(std::uint32_t slot);
  void send_segments(std::uint32_t slot);
  void come(const Segment& segment);
  void serve_next(std::uint32_t station);
  void serve(std::uint32_t station, const Segment& segment);
  void end_turn(std::uint32_t station);
  void announce(const Segment& segment, double begin, double end);
  void announce_again(const Segment& segment, double end);
  const Station* source_of(const Segment& segment) const;
  bool is_due(const Segment& segment);
  bool lacks_rest(const Segment& segment);
  double time_of(const Segment& segment) const;
  void leave(const Segment& segment);
  void arrive(std::uint32_t slot);
  void lay_out(std::uint32_t slot, const Load& load);
  Hop* hops_of(std::uint32_t slot) { return &hops_[slot * hops_each_]; }
  const Hop* hops_of(std::uint32_t slot) const { return &hops_[slot * hops_each_]; }
  Hop::At& at(const Segment& s) { return hops_of(s.slot)[s.hop].at[s.index]; }
  double bytes_of(const Segment& segment) const;

  std::vector<Station> stations_;
  std::vector<Open> open_;  // by slot
  // Each slot has room for the longest load: its path, then its path back.
  std::vector<Hop> hops_;
  std::size_t hops_each_ = 2;
  Heap<Event> events_;
  double part_;  // the share of a load in its largest segments
  Arrived arrived_;
  double clock_ = 0;
  bool has_changed_ = false;  // whether any bandwidth has changed
  std::uint64_t next_number_ = 0, entered_ = 0;
};

// Packets wait at their receiver's port, behind messages that arrive faster than the port sends.
//
// A sender with a free link puts more bytes on the way than the receiver's port can pass on. The rest waits
// in the port's queue: a part of each message that grows with its length, up to 128 KiB of a connection
// (docs/sharing.md has the measurements). The fluid model of a link has no such queue, because a message that
// waits in it is not slower. But a request is: a worker that is ahead of the others waits with its request
// behind their pushes, and the others catch up. A port's queue holds 1 MiB at most: eight connections. It
// empties with the full bandwidth of the port, so that no wait outlives a fault of the link.
class PortQueues {
 public:
  explicit PortQueues(const ClusterSpec& cluster)
      : cluster_(cluster), part_(cluster.network.share_spread > 0 ? cluster.network.share_queue : 0) {}

  // A cargo begins at `now`. Returns the seconds that a packet waits in the queue; 0 for longer messages,
  // which become part of it. `bandwidth`: a function that returns the bytes per second of the last shared
  // link on the packet's way, without faults; 0: none, and so no queue.
  template <class Bandwidth>
  double begin(const Cargo& cargo, double now, const Bandwidth& bandwidth) {
    if (part_ == 0) return 0;
    if (cargo.bytes <= undivided) return wait(host_of(cluster_, cargo.to), now, bandwidth());
    add(cargo, now);
    return 0;
  }
  // The cargo in the slot has arrived, or is cancelled.
  void end(std::uint32_t slot);

 private:
  // A message of more than a packet that is on its way.
  struct Arriving {
    std::uint32_t from = 0, to = 0;  // hosts
    double bytes = 0;                // 0: no such message
    double begun = 0;
  };
  struct Port {
    std::vector<std::uint32_t> arriving = {};  // slots
    std::uint32_t leaving = 0;                 // messages
  };
  void add(const Cargo& cargo, double now);
  double wait(std::uint32_t to, double now, double bandwidth);
  double waiting(const Arriving& message, double now, double bandwidth) const;
  Port& port(std::uint32_t host);

  const ClusterSpec& cluster_;
  double part_;                   // of a message, in the queue; 0: no queues
  std::vector<Arriving> on_way_;  // by slot
  std::vector<Port> ports_;       // by host
};

}  // namespace psim
