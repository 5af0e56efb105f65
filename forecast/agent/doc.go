// Package agent is the site's side of the central scheduler: it follows one
// batch system through its reader, keeps the model of its queue up to date,
// publishes the slots that the model foresees as deltas, serves forecasts and
// queue lengths, and reserves at the site what was booked where that is the way
// agreed upon.
package agent
