# Reads this study's runs.csv, with base R alone: Rscript analysis.R
# A run that missed its target counts with the condition's budget, the smallest one of the runs that missed it.
# Without a target the time is that of the whole run, which is infinite if the run got stuck.
# docs/statistics.md of psim has the formulas.
baseline <- "BASELINE"

runs <- read.csv("runs.csv", check.names = FALSE, na.strings = "", colClasses = c(arm = "character"))
runs$arm[is.na(runs$arm)] <- ""
axes <- setdiff(names(runs)[seq_len(which(names(runs) == "seed") - 1)], c("run", "arm"))
condition <- if (length(axes) > 0) do.call(paste, c(runs[axes], sep = ", ")) else rep("all runs", nrow(runs))

for (one in unique(condition)) {
  here <- runs[condition == one, ]
  missed <- !is.na(here$reached) & here$reached == 0
  budget <- if (any(missed)) min(as.numeric(here$budget_s[missed])) else Inf
  time <- as.numeric(here$time_s)
  time[is.na(time)] <- Inf
  here$time <- pmin(time, budget)
  cat(one, "\n", sep = "")
  base <- here[here$arm == baseline, ]
  for (arm in unique(here$arm)) {
    own <- here[here$arm == arm, ]
    line <- sprintf("  %-30s %d runs, %.4g s", if (arm == "") "as it is" else arm, nrow(own), mean(own$time))
    both <- merge(own, base, by = "seed")
    if (arm != baseline && nrow(both) > 0) {
      times <- c(both$time.x, both$time.y)
      line <- paste0(line, if (any(is.infinite(times))) {
        "; no ratio to the baseline's time: a run got stuck, so that it has no end"
      } else if (any(times <= 0)) {
        "; no ratio to the baseline's time: a run took no time"
      } else {
        sprintf(", %.3f of the baseline's time", exp(mean(log(both$time.x / both$time.y))))
      })
    }
    cat(line, "\n", sep = "")
  }
}

curves <- read.csv("curves.csv", check.names = FALSE, na.strings = "")
if (nrow(curves) > 0 && any(!is.na(curves$loss))) {
  pdf("losses.pdf", width = 7, height = 4)
  plot(curves$sim_time_s, curves$loss, type = "n", xlab = "simulated time [s]", ylab = "loss")
  groups <- split(curves, curves$run, drop = TRUE)
  for (i in seq_along(groups))
    lines(groups[[i]]$sim_time_s, groups[[i]]$loss, col = match(groups[[i]]$arm[1], unique(curves$arm)))
  invisible(dev.off())
}
