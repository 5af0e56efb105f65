// Package forecast asks services when a job would start. The contract is one
// HTTP request per service for all its resources: POST a Question as JSON, get
// an Answer. Site agents serve it; a Slurm cluster forecasts by itself (see
// the Forecast method of plugins/slurm).
package forecast
