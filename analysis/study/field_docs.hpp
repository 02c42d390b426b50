// What the names in a study's files mean, beside those of summaries: `psim explain` knows them, and
// docs/results.md has them in their order.
#pragma once

#include <string_view>

namespace psim::analysis {

struct FieldDoc {
  std::string_view name, where, doc;
};

inline constexpr FieldDoc study_field_docs[] = {
    {"schema", "study.json", "What kind of document it is, and of which version: psim.compare/2."},
    {"arm_axis", "study.json", "The axis whose values are compared: `arm`, or the first one of [compare]."},
    {"condition_axes", "study.json", "The other axes; each combination of their values is a condition."},
    {"baseline", "study.json",
     "The arm that the others are compared with (--baseline); the first if none is asked for."},
    {"budget_s", "study.json, runs.csv",
     "Simulated seconds beyond which no time to the target counts: a run that missed it counts with the "
     "budget.\n"
     "Each arm has its own, and so has each comparison: the smaller one of its two arms. In runs.csv: how "
     "long the run itself went on; inf if it got stuck."},
    {"runs", "study.json", "Every run: its summary (docs/results.md) with its arm, condition and seed."},
    {"aggregates", "study.json", "What the seeds of an arm under a condition say together."},
    {"cause", "study.json, aggregates",
     "Why the first run of the arm under the condition took as long as it did (psim why); null: it was not\n"
     "explained."},
    {"sentence", "study.json, cause", "The first sentence of psim why about that run."},
    {"condition", "study.json", "Values of the condition axes, by axis."},
    {"n", "study.json", "Runs, or those of them that have the value beside it."},
    {"mean", "study.json", "Mean over seeds."},
    {"sd", "study.json", "Standard deviation over seeds (n - 1); null for a single one."},
    {"time_to_target", "study.json",
     "Statistics of the time until the target is reached, of which none counts more than budget_s; null "
     "without a\n"
     "target."},
    {"restricted_mean_s", "study.json, time_to_target",
     "Mean of min(time, budget): a run that missed counts with the budget."},
    {"restricted_mean_ci95", "study.json, time_to_target",
     "Its 95 % interval over seeds, by Student's t; within 0 and budget_s. Null where no run reached the "
     "target."},
    {"restricted_sd_s", "study.json, time_to_target", "Standard deviation of min(time, budget)."},
    {"median_s", "study.json, time_to_target",
     "Median of the time to the target, missed runs as the longest; null if fewer than half reached it."},
    {"method", "study.json, time_to_target",
     "restricted mean; or kaplan-meier where the runs' own budgets differ. Of [tune]: grid, random or "
     "halving."},
    {"time_s", "study.json, runs.csv",
     "Simulated seconds of the whole run, without a target. In runs.csv: to the target, if there is one; "
     "empty where\n"
     "it was missed."},
    {"versus_baseline", "study.json", "The arm against the baseline under the same condition, seed by seed."},
    {"ratio", "study.json, versus_baseline",
     "Time of the arm divided by the baseline's: geometric mean over the seeds. Below 1: faster."},
    {"ratio_ci95", "study.json, versus_baseline", "Its 95 % interval; one that holds 1 shows no difference."},
    {"difference_s", "study.json, versus_baseline",
     "Time of the arm less the baseline's: mean over the seeds."},
    {"difference_ci95", "study.json, versus_baseline", "Its 95 % interval."},
    {"p_better", "study.json, versus_baseline",
     "Share of the seeds under which the arm is faster; a tie counts as half."},
    {"p_better_unpaired", "study.json, versus_baseline",
     "The same over all pairs of a run of the arm and one of the baseline."},
    {"p_value", "study.json, versus_baseline",
     "Of the sign-flip test: how often luck alone makes so large a difference."},
    {"p_value_holm", "study.json, versus_baseline",
     "The same, corrected for all tests of the study (Holm); null for untuned rows, and where every "
     "pair of runs was cut: they are no part of them."},
    {"reached", "study.json, versus_baseline",
     "Who reached the target over the seeds of both: `arm`, `baseline`, McNemar's `p_value`, the same after "
     "Holm's\n"
     "correction, and whether it `decides`: by more than chance, or all of one arm and none of the other."},
    {"replicates", "study.json, versus_baseline",
     "Whether seeds change the times. Where they do not (a trace, or no part is drawn) all seeds are one "
     "observation:\n"
     "no interval and no p value."},
    {"cut_arm", "study.json, versus_baseline",
     "Seeds under which the arm alone needs longer than budget_s: the ratio is too small, by an unknown "
     "factor."},
    {"cut_baseline", "study.json, versus_baseline",
     "The same of the baseline alone: the ratio is too large."},
    {"cut_both", "study.json, versus_baseline", "Seeds under which both need longer: they count as a tie."},
    {"holm", "study.json",
     "The family of tests that p_value_holm is for: `tests`, the fewest `seeds` of any of them, and "
     "`seeds_needed`:\n"
     "with fewer no corrected p value can be below 0.05."},
    {"seeds", "study.json",
     "Under versus_baseline: the seeds that both arms have. Under until_ci: those that the pilot decided on. "
     "Of a\n"
     "setting of [tune]: with how many of the tuning seeds its score was found. In a scenario: `[compare] "
     "seeds`."},
    {"trustworthy", "study.json, versus_baseline",
     "Whether the interval may be believed: at least 5 seeds, differences that differ, and both bounds. The "
     "table\n"
     "marks the others with `~`."},
    {"narrow", "study.json, until_ci and versus_baseline",
     "Whether the interval of the ratio (of every ratio) is as narrow as --until-ci asked for: it lies "
     "within\n"
     "[ratio / 1.05, ratio * 1.05] for 5%. A pilot of ten seeds decides how many are run; if they scattered "
     "little\n"
     "by chance, the interval is wider than asked."},
    {"until_ci", "study.json", "What --until-ci was asked for, and what became of it."},
    {"half_width", "study.json, until_ci",
     "The half width that --until-ci asked for, as a share of the ratio: 0.05 for 5%."},
    {"pilot_seeds", "study.json, until_ci", "The seeds that decided how many are needed."},
    {"widest", "study.json, until_ci",
     "The largest half width of all intervals of ratios, as a share of the ratio."},
    {"pareto", "study.json",
     "No other arm of the condition is as good in time (median to the target, or mean), bytes sent and, "
     "without a\n"
     "target, final accuracy, and better in one."},
    {"s_per_update", "study.json, runs.csv", "Simulated seconds of the whole run, divided by its updates."},
    {"target_bracket_s", "study.json, runs.csv",
     "Simulated seconds between the evaluation that first showed the target and the one before it: the time "
     "to "
     "the\ntarget is too long by at most this."},
    {"samples_per_s", "study.json, runs.csv",
     "Samples whose gradients the model has taken in, divided by the simulated seconds of the whole run."},
    {"staleness_max", "study.json", "The largest staleness of any push of the arm's runs, in updates."},
    {"compute_percent", "study.json, runs.csv",
     "Percentage of the workers' time in which a gradient is being computed."},
    {"wait_percent", "study.json, runs.csv",
     "Percentage of the workers' time in which they wait for others."},
    {"network_percent", "study.json, runs.csv",
     "Percentage of the workers' time in which only messages are on their way."},
    {"absent_percent", "study.json, runs.csv", "Percentage of the workers' time in which they take no part."},
    {"memory_bytes", "study.json, runs.csv",
     "Bytes that the fullest worker, device or stage of a pipeline holds at most."},
    {"bytes_sent", "study.json, runs.csv", "Bytes of all messages that were sent."},
    {"final_loss", "study.json, runs.csv", "Loss with the last weights, over the test set if there is one."},
    {"final_accuracy", "study.json, runs.csv",
     "Share of that set that the last weights classify right, from 0 to 1."},
    {"answer_latency_s", "study.json, runs.csv",
     "Mean seconds from an inference request's arrival to its answer."},
    {"served_staleness", "study.json, runs.csv",
     "Mean age of the weights that answered requests, in updates."},
    {"served_accuracy", "study.json, runs.csv", "Share of the inference requests that were answered right."},
    {"copied_bytes", "study.json, runs.csv",
     "Bytes of logs and whole shards that servers sent to replicas and next owners."},
    {"suspicions", "study.json, runs.csv", "Suspicions of the scheduler."},
    {"false_suspicions", "study.json, runs.csv", "Those of nodes that were up."},
    {"recovery_s", "study.json, runs.csv",
     "Mean seconds from a server's crash until its shards are as far as before."},
    {"energy_J", "study.json, runs.csv",
     "Joules of all nodes and the network to the target; without one, or where it was missed, of the whole "
     "run."},
    {"cost_usd", "study.json, runs.csv", "Dollars for the nodes' hours, up to the same date."},
    {"profiles", "study.json",
     "How near each arm is to the best one under every condition; `score` sums it up."},
    {"ratios", "study.json, profiles",
     "The arm's time divided by the best arm's, by condition, in ascending order; null for a miss."},
    {"tuning", "study.json",
     "What [tune] tried and found. As a condition: `untuned`, as the scenario is, or `tuned`."},
    {"tuned", "study.json, runs.csv",
     "As a condition: the runs with the setting that [tune] has found for the arm."},
    {"untuned", "study.json, runs.csv", "As a condition: the runs with the scenario's own settings."},
    {"compare.seeds", "a scenario",
     "The seeds of the study: every combination of the axes runs with each of them. A list of integers."},
    {"compare.arm", "a scenario",
     "An axis whose values set any fields together: a list of tables, each with a name (psim explain arm)."},
    {"tune.method", "a scenario", "How [tune] searches: grid (the default), random or halving."},
    {"tune.measure", "a scenario",
     "What settings are judged by on the validation set: time-to-target, loss or accuracy."},
    {"tune.trials", "a scenario", "How many settings random and halving draw for each arm."},
    {"tune.seeds", "a scenario", "The seeds of the trials, which are none of the study's own."},
    {"measure", "study.json, tuning",
     "What settings are judged by on the validation set: time-to-target, loss or accuracy."},
    {"settings_per_arm", "study.json, tuning", "How many settings each arm tries under each condition."},
    {"trials", "study.json, tuning", "Runs that tuning took; they are no runs of the study."},
    {"simulated_s", "study.json, tuning", "Simulated seconds of all trials together."},
    {"best", "study.json, tuning", "The chosen setting of each arm and condition."},
    {"sets", "study.json, tuning", "A setting, as --set takes it."},
    {"at_edge", "study.json, tuning", "Fields whose best value is the first or the last of those tried."},
    {"settings", "study.json, tuning", "Every setting that was tried, also in trials.csv."},
    {"values", "study.json, tuning", "A setting, by field."},
    {"rung", "study.json, trials.csv",
     "The last round of trials that the setting was in, from 1; halving has several."},
    {"chosen", "study.json, trials.csv", "Whether the setting was the best of its arm and condition."},
};

}  // namespace psim::analysis
