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

#include <bit>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/cluster/heap.hpp"

namespace psim {

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

}  // namespace psim
