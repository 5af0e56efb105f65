package batch

// Whole is the forecast of all that waits in an engine, in memory of its own.
func Whole(e *Engine, f *Forecaster) *Forecast { return f.forecast(e.c) }
