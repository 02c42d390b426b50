# Reads this study's runs.csv, with base R alone: Rscript analysis.R
# A run that missed its target counts with the budget: of its arm for the arm's mean, and of the two arms for their
# ratio. Without a target the time is that of the whole run, which is infinite if the run got stuck.
# docs/statistics.md of psim has the formulas.
baseline <- "BASELINE"

# Names stay texts, also "NA" and "01"; an empty text is a number that is not known.
read <- function(name, numbers) {
  table <- read.csv(name, check.names = FALSE, na.strings = character(0), colClasses = "character",
                    encoding = "UTF-8")
  table[numbers] <- lapply(table[numbers], as.numeric)
  table
}

runs <- read("runs.csv", c("time_s", "reached", "budget_s"))
axes <- setdiff(names(runs)[seq_len(which(names(runs) == "seed") - 1)], c("run", "arm"))
condition <- if (length(axes) > 0) do.call(paste, c(runs[axes], sep = ", ")) else rep("all runs", nrow(runs))

runs$time <- runs$time_s
runs$time[is.na(runs$time)] <- Inf
runs$missed <- !is.na(runs$reached) & runs$reached == 0
runs$budget <- runs$budget_s  # infinite for a run that got stuck
runs$budget[is.na(runs$budget)] <- Inf

# The area under the Kaplan-Meier curve up to the arm's own budget, and whether some run needs longer. With one budget
# for all runs it is the mean of the times, none of which counts more than the budget.
mean_time <- function(own) {
  if (all(is.na(own$reached))) return(list(seconds = mean(own$time), more = FALSE))  # no target
  missed <- own$budget[own$missed & is.finite(own$budget)]
  reached <- sort(own$time[is.finite(own$time)])
  latest <- max(reached, 0)
  if (length(reached) == nrow(own)) return(list(seconds = mean(reached), more = FALSE))
  if (length(missed) + length(reached) == 0) return(list(seconds = Inf, more = FALSE))
  tau <- if (length(unique(missed)) > 1 || (length(missed) > 0 && latest > min(missed))) {
    if (all(is.finite(own$budget[own$missed]))) max(reached, missed) else if (latest > 0) latest else min(missed)
  } else if (length(missed) > 0) missed[1] else latest
  watched <- ifelse(is.finite(own$time), own$time, own$budget)
  area <- 0
  begin <- 0
  survival <- 1
  for (end in unique(reached[reached <= tau])) {
    area <- area + survival * (end - begin)
    survival <- survival * (1 - sum(reached == end) / sum(watched >= end))
    begin <- end
  }
  list(seconds = area + survival * (tau - begin), more = TRUE)
}

for (one in unique(condition)) {
  here <- runs[condition == one, ]
  cat(one, "\n", sep = "")
  base <- here[here$arm == baseline, ]
  for (arm in unique(here$arm)) {
    own <- here[here$arm == arm, ]
    took <- mean_time(own)
    line <- sprintf("  %-30s %d runs, %s%.4g s", if (arm == "") "as it is" else arm, nrow(own),
                    if (took$more) ">= " else "", took$seconds)
    if (any(!is.na(own$reached)))
      line <- paste0(line, sprintf(", target reached by %d/%d", sum(own$reached == 1, na.rm = TRUE), nrow(own)))
    both <- merge(own, base, by = "seed")
    if (arm != baseline && nrow(both) > 0) {
      budget <- min(both$budget.x[both$missed.x], both$budget.y[both$missed.y], Inf)
      x <- pmin(both$time.x, budget)
      y <- pmin(both$time.y, budget)
      line <- paste0(line, if (any(is.infinite(c(x, y)))) {
        "; no ratio to the baseline's time: a run got stuck, so that it has no end"
      } else if (any(c(x, y) <= 0)) {
        "; no ratio to the baseline's time: a run took no time"
      } else {
        paste0(sprintf(", %.3f of the baseline's time", exp(mean(log(x / y)))),
               if (is.finite(budget)) sprintf(" up to %.4g s", budget) else "")
      })
    }
    cat(line, "\n", sep = "")
  }
}

curves <- read("curves.csv", c("sim_time_s", "loss"))
if (nrow(curves) > 0 && any(!is.na(curves$loss))) {
  pdf("losses.pdf", width = 7, height = 4)
  plot(curves$sim_time_s, curves$loss, type = "n", xlab = "simulated time [s]", ylab = "loss")
  groups <- split(curves, curves$run, drop = TRUE)
  for (i in seq_along(groups))
    lines(groups[[i]]$sim_time_s, groups[[i]]$loss, col = match(groups[[i]]$arm[1], unique(curves$arm)))
  invisible(dev.off())
}
