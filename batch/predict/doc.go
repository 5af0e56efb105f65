// Package predict turns starts foretold into odds one can bet on: quantiles of
// the wait of every job, and the chance that it starts by a time, calibrated on
// line against what came.
//
// An Ensemble foretells each start under several beliefs about run times. A
// Model learns, from these and a few facts of the job, the quantiles of the wait
// (Model.Promise, Started, Left), and corrects the outer ones for every queue,
// size of job and lead time. Where the queue cannot be seen, or is foretold worse
// than past waits would, the waits of the job's class are what it goes by. An
// Evaluation measures it over a trace, beside other predictors.
//
// Times are Unix seconds, waits seconds from the moment of the forecast. Nothing
// here is safe for concurrent use but a Distribution, which does not change.
package predict
